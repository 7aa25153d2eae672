#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# Zones with less capacity than size, and gap zones between them: 96 MiB of usable zone that a stock
# kernel takes, because the zones start at multiples of a power of two.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/lib-zones.sh
source tests/e2e/lib-zones.sh

ZONES=16

kernel_knows_a_host_managed_disk() {
	local sectors=$((ZONE * BLOCK / 512)) page
	expect_eq "zoned" host-managed "$(queue zoned)"
	expect_eq "chunk_sectors" $sectors "$(queue chunk_sectors)"
	expect_eq "nr_zones" $ZONES "$(queue nr_zones)"
	expect_match "kernel log" "$ZONES zones of $ZONE logical blocks" "$(dmesg | tail)"
	expect_eq "capacity of $DISK" $((ZONES * ZONE * BLOCK)) "$(blockdev --getsize64 "$DISK")"
	# Constant zone starting offsets (8), every ZONE blocks.
	sg_vpd -p zbdch --raw "$SG" >"$GOT"
	page=$(od -An -v -tx1 -w64 "$GOT" | tr -d ' ')
	expect_eq "ZONE ALIGNMENT METHOD" 8 "${page:47:1}"
	expect_eq "ZONE STARTING LBA GRANULARITY" "$(printf %016x $ZONE)" "${page:48:16}"
}

kernel_tools_show_the_capacity() {
	local lines i at len=$((ZONE * BLOCK)) cap=$((CAP * BLOCK))
	mapfile -t lines < <(zbd_zones 0)
	expect_eq "zones in zbd's report" $ZONES "${#lines[@]}"
	for ((i = 0; i < ZONES; i++)); do
		at=$((i * len))
		if ((i < CONVENTIONAL)); then
			expect_match "zbd, zone $i" "^$i 1 $at $len $len [0-9]+ 0x0 " "${lines[i]}"
		else
			expect_match "zbd, zone $i" "^$i 2 $at $len $cap $at 0x1 " "${lines[i]}"
		fi
	done
	expect_eq "capacity by blkzone, sectors" \
		$(((CONVENTIONAL * len + (ZONES - CONVENTIONAL) * cap) / 512)) \
		$(($(blkzone capacity "$DISK")))
}

gap_zones_lie_between() {
	local i lines gap wanted=()
	mapfile -t lines < <(zone_list 0)
	for ((i = 0; i < ZONES * ZONE; i += ZONE)); do
		if ((i < CONVENTIONAL * ZONE)); then
			wanted+=("$(printf '0x%x conventional not-write-pointer 0x%x -1' $i $ZONE)")
			continue
		fi
		gap=$((i + CAP))
		wanted+=("$(printf '0x%x swr empty 0x%x 0x%x' $i $CAP $i)"
			"$(printf '0x%x gap not-write-pointer 0x%x -1' $gap $((ZONE - CAP)))")
	done
	expect_eq "zones" "${wanted[*]}" "${lines[*]}"
}

# Options 3Eh (no gap zones) and 3Fh (no write pointer), and the granularity in the header.
options_tell_gap_zones_apart() {
	local header
	expect_zones "zones that are no gap" $ZONES 0x3e
	expect_match "no gap among them" '^0$' "$(zone_list 0 --report=0x3e | grep -c gap || true)"
	expect_zones "zones without a write pointer" $ZONES 0x3f
	expect_eq "gap zones among them" $((ZONES - CONVENTIONAL)) \
		"$(zone_list 0 --report=0x3f | grep -c gap)"
	sg_rep_zones -m 64 --raw --report=0x3e "$SG" >"$GOT"
	header=$(od -An -v -tx1 -w64 "$GOT" | tr -d ' ')
	expect_eq "zone list length" "$(printf %08x $((ZONES * 64)))" "${header:0:8}"
	expect_eq "maximum LBA" "$(printf %016x $((ZONES * ZONE - 1)))" "${header:16:16}"
	expect_eq "granularity of starting LBAs" "$(printf %016x $ZONE)" "${header:32:16}"
}

gap_zones_hold_nothing() {
	local gap=$((CONVENTIONAL * ZONE + CAP))
	write_refused 5/21/09 $gap 8
	expect_information $gap
	write_refused 5/21/09 $((gap + 8)) 8
	expect_sense 5/21/09 sg_zone --open --zone=$gap "$SG"
	expect_sense 5/21/09 sg_reset_wp --zone=$gap "$SG"
	expect_zeros $gap 8
	read_refused 5/21/07 $((gap - 8)) 16
}

zones_end_at_their_capacity() {
	local z=$((CONVENTIONAL * ZONE)) offset
	fill_zone $z $((CAP - 8))
	write_refused 5/21/05 $((z + CAP - 8)) 16
	expect_information $((z + CAP))
	expect_zone $z SWR "Implicitly opened" $((z + CAP - 8))
	offset=$(((z + CAP - 8) * BLOCK))
	dd if="$PATTERN" of="$DISK" bs=$((8 * BLOCK)) count=1 seek=$offset oflag=direct,seek_bytes \
		conv=notrunc status=none
	expect_zone $z SWR Full
	expect_pattern $((z + CAP - 8)) 8
	expect_match "zbd, the first sequential zone" " 0xe " \
		"$(zbd_zones $((z * BLOCK)) -len $((ZONE * BLOCK)))"
	expect_status 0 zbd reset "$DISK"
	expect_zones "empty zones" $((ZONES - CONVENTIONAL)) 1
}

test_geometry() {
	note "blocks of $BLOCK bytes, zones of $ZONE blocks, $CAP usable"
	kernel_knows_a_host_managed_disk
	kernel_tools_show_the_capacity
	gap_zones_lie_between
	options_tell_gap_zones_apart
	gap_zones_hold_nothing
	zones_end_at_their_capacity
}

make_pattern
start_daemon

lun_create z512 2G zone_size=128M/zone_cap=96M/conv=4
BLOCK=512 ZONE=$((0x40000)) CAP=$((0x30000)) CONVENTIONAL=4
test_geometry
lun_delete z512

lun_create z4096 2G zone_size=128M/zone_cap=108M/conv=2/lba=4096
BLOCK=4096 ZONE=$((0x8000)) CAP=$((0x6c00)) CONVENTIONAL=2
test_geometry

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# Zones of 96 MiB, which is no power of two: all of the LUN works through /dev/sgN, and the kernel
# refuses /dev/sdX. With 4096-byte blocks, and with 512-byte blocks on 4096-byte physical ones.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/lib-zones.sh
source tests/e2e/lib-zones.sh

ZONES=64
CONVENTIONAL=4

# The 64 zones of an unused LUN, as the tool shows them.
all_zones_are_reported() {
	local i at lines line wanted
	OUTPUT=$(sg_rep_zones -m $((1 << 20)) "$SG")
	printf -v wanted 'Maximum LBA: 0x%x\n' $((ZONES * ZONE - 1))
	expect_match "maximum LBA" "$wanted" "$OUTPUT"
	expect_match "SAME" "Same=0:" "$OUTPUT"
	mapfile -t lines < <(zone_list 0)
	expect_eq "number of zones" "$ZONES" "${#lines[@]}"
	for ((i = 0; i < ZONES; i++)); do
		read -r -a line <<<"${lines[i]}"
		at=$((i * ZONE))
		if ((i < CONVENTIONAL)); then
			printf -v wanted '0x%x conventional not-write-pointer 0x%x -1' $at "$ZONE"
		else
			printf -v wanted '0x%x swr empty 0x%x 0x%x' $at "$ZONE" $at
		fi
		expect_eq "zone $i" "$wanted" "${line[*]}"
	done
}

# The header says that zone lengths are what is constant: no granularity of starting LBAs.
report_has_no_granularity() {
	OUTPUT=$(sg_rep_zones -m 64 -H "$SG")
	expect_match "REPORT ZONES bytes 16 to 23" ' 10 +00 00 00 00 00 00 00 00 ' "$OUTPUT"
	expect_zones "zones that are no gap" "$ZONES" 0x3e
	expect_zones "zones without a write pointer" "$CONVENTIONAL" 0x3f
	expect_zones "empty zones" $((ZONES - CONVENTIONAL)) 1
	expect_sense 5/21/00 sg_rep_zones --start=$((ZONES * ZONE)) "$SG"
	expect_sense 5/24/00 sg_rep_zones --report=0x20 "$SG"
	expect_field 14 5
}

kernel_refuses_the_disk() {
	expect_match "kernel log" \
		"\[${DISK#/dev/}\] Zone size $ZONE is not a power of two" "$(dmesg | tail -n 20)"
	expect_eq "capacity of $DISK" 0 "$(blockdev --getsize64 "$DISK")"
	# Not even the first block of the conventional zones can be read.
	expect_status 0 dd if="$DISK" of="$GOT" bs="$BLOCK" count=1 status=none
	[[ ! -s $GOT ]] || fail "there are data on $DISK"
}

writes_go_where_the_pointer_is() {
	local z=$((5 * ZONE)) n=$((65536 / BLOCK))
	write_blocks $z $n 0
	expect_zone $z SWR "Implicitly opened" $((z + n))
	expect_pattern $z $n 0

	write_refused 5/21/04 $((z + 2 * n)) $n 3
	expect_information $((z + n))
	write_refused 5/21/04 $z $n 3
	expect_information $((z + n))
	expect_zone $z SWR "Implicitly opened" $((z + n))
	expect_pattern $z $n 0

	expect_status 0 sg_dd if="$PATTERN" of="$SG" bs="$BLOCK" bpt=64 skip=$n seek=$((z + n)) \
		count=$((3 * n))
	expect_zone $z SWR "Implicitly opened" $((z + 4 * n))
	expect_status 0 sg_dd if="$SG" of="$GOT" bs="$BLOCK" bpt=64 skip=$z count=$((4 * n))
	cmp -n $((4 * n * BLOCK)) "$GOT" "$PATTERN" || fail "sg_dd read back other data"
}

# A zone is filled to its last 8 blocks; the write that does not fit leaves no trace.
writes_stop_at_the_end_of_the_zone() {
	local z=$((6 * ZONE)) end=$((7 * ZONE))
	fill_zone $z $((ZONE - 8))
	write_refused 5/21/05 $((end - 8)) 16
	expect_information $end
	write_refused 5/21/05 $((end - 16)) 24 # the pointer is not looked at
	expect_information $end
	expect_zone $z SWR "Implicitly opened" $((end - 8))
	expect_zone $end SWR Empty $end
	expect_zeros $((end - 8)) 16

	write_blocks $((end - 8)) 8 5
	expect_zone $z SWR Full
	expect_pattern $((end - 8)) 8 5
	write_refused 5/24/00 $z 8
	expect_field 2

	expect_status 0 sg_reset_wp --zone=$z "$SG"
	expect_zone $z SWR Empty $z
	expect_zeros $((end - 8)) 8
}

conventional_zones_are_written_anywhere() {
	local border=$((2 * ZONE)) swr=$((CONVENTIONAL * ZONE))
	write_blocks $((border - 8)) 16 7
	expect_pattern $((border - 8)) 16 7
	write_blocks $((border - 8)) 8 1
	expect_pattern $((border - 8)) 8 1
	expect_pattern $border 8 15
	expect_zone $ZONE Conventional "Not write pointer" -1

	write_blocks $((swr - 8)) 8 9
	write_refused 5/21/05 $((swr - 8)) 16 11
	expect_information $swr
	expect_pattern $((swr - 8)) 8 9
	expect_zone $swr SWR Empty $swr
	read_refused 5/21/07 $((swr - 8)) 16
}

conditions_follow_the_commands() {
	local z=$((8 * ZONE))
	expect_status 0 sg_zone --open --zone=$z "$SG"
	expect_zone $z SWR "Explicitly opened" $z
	expect_status 0 sg_zone --close --zone=$z "$SG"
	expect_zone $z SWR Empty $z
	write_blocks $z 8
	expect_status 0 sg_zone --close --zone=$z "$SG"
	expect_zone $z SWR Closed $((z + 8))
	expect_status 0 sg_zone --open --zone=$z "$SG"
	expect_zone $z SWR "Explicitly opened" $((z + 8))
	write_blocks $((z + 8)) 8 8
	expect_zone $z SWR "Explicitly opened" $((z + 16))
	expect_status 0 sg_zone --finish --zone=$z "$SG"
	expect_zone $z SWR Full
	expect_status 0 sg_zone --open --zone=$z "$SG" # nothing to do, no error
	expect_zone $z SWR Full
	expect_pattern $z 16
	expect_zeros $((z + 16)) 8
	expect_status 0 sg_reset_wp --zone=$z "$SG"
	expect_zone $z SWR Empty $z
	expect_zeros $z 16
}

commands_go_to_several_zones_and_to_all() {
	local z=$((10 * ZONE))
	expect_status 0 sg_zone --open --zone=$z --count=3 "$SG"
	expect_zones "explicitly open zones" 3 3
	write_blocks $((11 * ZONE)) 8
	expect_status 0 sg_zone --close --all "$SG"
	expect_zones "explicitly open zones" 0 3
	expect_zone $z SWR Empty $z
	expect_zone $((11 * ZONE)) SWR Closed $((11 * ZONE + 8))
	expect_status 0 sg_zone --open --all "$SG"
	expect_zone $((11 * ZONE)) SWR "Explicitly opened" $((11 * ZONE + 8))
	expect_status 0 sg_zone --finish --all "$SG"
	expect_zones "implicitly open zones" 0 2
	expect_zones "explicitly open zones" 0 3
	expect_zones "closed zones" 0 4
	expect_zone $((11 * ZONE)) SWR Full
	expect_status 0 sg_reset_wp --all "$SG"
	expect_zones "empty zones" $((ZONES - CONVENTIONAL)) 1
}

commands_name_the_start_of_a_sequential_zone() {
	expect_sense 5/24/00 sg_zone --open --zone=$((5 * ZONE + 1)) "$SG"
	expect_field 2
	expect_sense 5/24/00 sg_zone --finish --zone=$ZONE "$SG" # conventional
	expect_sense 5/24/00 sg_reset_wp --zone=0 "$SG"
	expect_sense 5/21/00 sg_zone --close --zone=$((ZONES * ZONE)) "$SG"
}

# 512-byte blocks: sequential zones take whole physical blocks only, conventional ones any block.
physical_blocks_are_written_whole() {
	local z=$((12 * ZONE))
	expect_match "physical block exponent" "per physical block exponent=3 " \
		"$(sg_readcap --16 "$SG" | tr '\n' ' ')"
	write_refused 5/21/04 $z 1
	write_refused 5/21/04 $z 7
	expect_information $z
	expect_zone $z SWR Empty $z
	write_blocks $z 8
	write_refused 5/21/04 $((z + 8)) 9
	expect_zone $z SWR "Implicitly opened" $((z + 8))
	read_blocks $((z + 3)) 2
	write_blocks 5 1 4
	expect_pattern 5 1 4
	expect_zeros 6 1
}

test_geometry() {
	note "blocks of $BLOCK bytes, zones of $ZONE blocks"
	kernel_refuses_the_disk
	all_zones_are_reported
	report_has_no_granularity
	writes_go_where_the_pointer_is
	writes_stop_at_the_end_of_the_zone
	conventional_zones_are_written_anywhere
	conditions_follow_the_commands
	commands_go_to_several_zones_and_to_all
	commands_name_the_start_of_a_sequential_zone
}

make_pattern
start_daemon

lun_create z4096 6G zone_size=96M/conv=4/lba=4096
BLOCK=4096 ZONE=$((0x6000))
test_geometry
lun_delete z4096

lun_create z512 6G zone_size=96M/conv=4/lba=512/pblk=4096
BLOCK=512 ZONE=$((0x30000))
test_geometry
physical_blocks_are_written_whole

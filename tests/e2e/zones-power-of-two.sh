#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# Zones whose size is a power of two: /dev/sdX is a host-managed disk of the kernel, and its zone
# tools work. The last zone is smaller, which the kernel takes.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/lib-zones.sh
source tests/e2e/lib-zones.sh

ZONE_BYTES=$((64 << 20))
MAX_OPEN=8

BLOCK=512 ZONE=$((ZONE_BYTES / 512))
RUNT=$((64 * ZONE)) RUNT_BYTES=$((32 << 20)) # the last zone

# zbd_zone NUMBER: what the kernel says of a zone.
zbd_zone() {
	zbd_zones $(($1 * ZONE_BYTES)) -len $ZONE_BYTES
}

# on_zone COMMAND NUMBER: a zbd command for one zone.
on_zone() {
	expect_status 0 zbd "$1" -ofst $(($2 * ZONE_BYTES)) -len $ZONE_BYTES "$DISK"
}

# write_disk NUMBER BLOCKS [OFFSET]: write physical blocks of a zone through the kernel.
write_disk() {
	dd if="$PATTERN" of="$DISK" bs=4096 count="$2" seek=$(($1 * ZONE_BYTES / 4096 + ${3:-0})) \
		oflag=direct conv=notrunc status=none
}

kernel_knows_a_host_managed_disk() {
	expect_match "kernel log" "64 zones of $ZONE logical blocks \+ 1 runt zone" \
		"$(dmesg | tail)"
	expect_eq "capacity" $((64 * ZONE_BYTES + RUNT_BYTES)) "$(blockdev --getsize64 "$DISK")"
	expect_eq "zoned" host-managed "$(queue zoned)"
	expect_eq "chunk_sectors" $ZONE "$(queue chunk_sectors)"
	expect_eq "nr_zones" 65 "$(queue nr_zones)"
	expect_eq "max_open_zones" $MAX_OPEN "$(queue max_open_zones)"
	expect_eq "zone_write_granularity" 4096 "$(queue zone_write_granularity)"
	expect_eq "logical_block_size" 512 "$(queue logical_block_size)"
	expect_eq "physical_block_size" 4096 "$(queue physical_block_size)"
	expect_match "scheduler" '\[mq-deadline\]' "$(queue scheduler)"
}

reports_agree() {
	local at
	at=$((3 * ZONE_BYTES))
	expect_match "zbd, zone 3" "^3 1 $at $ZONE_BYTES $ZONE_BYTES [0-9]+ 0x0 " "$(zbd_zone 3)"
	at=$((4 * ZONE_BYTES))
	expect_match "zbd, zone 4" "^4 2 $at $ZONE_BYTES $ZONE_BYTES $at 0x1 " "$(zbd_zone 4)"
	at=$((64 * ZONE_BYTES))
	expect_match "zbd, last zone" "^64 2 $at $RUNT_BYTES $RUNT_BYTES $at 0x1 " "$(zbd_zone 64)"
	OUTPUT=$(blkzone report "$DISK")
	expect_eq "zones in blkzone's report" 65 "$(wc -l <<<"$OUTPUT")"
	expect_eq "conventional zones" 4 "$(grep -c 'zcond: 0(nw) \[type: 1(' <<<"$OUTPUT")"
	expect_eq "empty zones" 61 "$(grep -c 'zcond: 1(em) \[type: 2(' <<<"$OUTPUT")"
	expect_eq "sg_rep_zones, last zone" \
		"$(printf '0x%x swr empty 0x%x 0x%x' $RUNT $((65536)) $RUNT)" \
		"$(zone_list $RUNT)"
}

zbd_changes_conditions() {
	on_zone open 5
	expect_zone $((5 * ZONE)) SWR "Explicitly opened" $((5 * ZONE))
	write_disk 5 2
	expect_zone $((5 * ZONE)) SWR "Explicitly opened" $((5 * ZONE + 16))
	expect_match "zbd, zone 5" " $((5 * ZONE_BYTES + 8192)) 0x3 " "$(zbd_zone 5)"
	on_zone close 5
	expect_zone $((5 * ZONE)) SWR Closed $((5 * ZONE + 16))
	on_zone finish 5
	expect_zone $((5 * ZONE)) SWR Full
	expect_match "zbd, zone 5" " 0xe " "$(zbd_zone 5)"
	on_zone reset 5
	expect_zone $((5 * ZONE)) SWR Empty $((5 * ZONE))
}

last_zone_fills_up() {
	fill_zone $RUNT $((65536 - 16))
	expect_zone $RUNT SWR "Implicitly opened" $((RUNT + 65536 - 16))
	write_disk 64 2 $((65536 / 8 - 2))
	expect_zone $RUNT SWR Full
	expect_pattern $((RUNT + 65536 - 16)) 16
	expect_status 0 blkzone reset -o $RUNT "$DISK" # zbd takes no smaller zone
	expect_zone $RUNT SWR Empty $RUNT
}

# The block layer does not look at the pointer: the LUN's answer reaches the program.
kernel_passes_the_refusal_on() {
	expect_status 1 write_disk 6 1 1
	expect_match "error of a write above the pointer" "Remote I/O error" "$OUTPUT"
	expect_status 1 dd if="$PATTERN" of="$DISK" bs=512 count=1 seek=$((6 * ZONE)) oflag=direct \
		status=none
	expect_match "error of a write of a part of a physical block" "Remote I/O error" "$OUTPUT"
	expect_zone $((6 * ZONE)) SWR Empty $((6 * ZONE))
	expect_match "kernel log" "Unaligned write command" "$(dmesg | tail -n 20)"
	write_disk 6 1
	expect_zone $((6 * ZONE)) SWR "Implicitly opened" $((6 * ZONE + 8))
	on_zone reset 6
}

open_zones_are_limited() {
	local i
	expect_match "VPD page B6h" "sequential write required zones: $MAX_OPEN"$'\n' \
		"$(sg_vpd -p zbdch "$SG")"$'\n'
	expect_status 0 zbd open -ofst $((10 * ZONE_BYTES)) -len $((MAX_OPEN * ZONE_BYTES)) "$DISK"
	expect_zones "explicitly open zones" $MAX_OPEN 3
	expect_sense 7/55/0e sg_zone --open --zone=$((30 * ZONE)) "$SG"
	write_refused 7/55/0e $((30 * ZONE)) 8
	expect_status 1 write_disk 30 1
	expect_match "error of a write without resources" "Too many references" "$OUTPUT"
	expect_zone $((30 * ZONE)) SWR Empty $((30 * ZONE))
	on_zone reset 10
	write_disk 30 1
	expect_zone $((30 * ZONE)) SWR "Implicitly opened" $((30 * ZONE + 8))

	# More zones than the limit, one after another: the least recently written one is closed.
	expect_status 0 sg_reset_wp --all "$SG"
	for ((i = 0; i <= MAX_OPEN; i++)); do
		write_disk $((20 + i)) 1
	done
	expect_zones "implicitly open zones" $MAX_OPEN 2
	expect_zone $((20 * ZONE)) SWR Closed $((20 * ZONE + 8))

	# All nine closed: opening them all is too much, and opens none.
	expect_status 0 sg_zone --close --all "$SG"
	expect_zones "closed zones" $((MAX_OPEN + 1)) 4
	expect_sense 7/55/0e sg_zone --open --all "$SG"
	expect_zones "closed zones" $((MAX_OPEN + 1)) 4
}

whole_disk_is_reset() {
	expect_status 0 blkzone reset -o $((4 * ZONE)) "$DISK"
	expect_zones "empty zones" 61 1
}

make_pattern
start_daemon
lun_create z $((64 * ZONE_BYTES + RUNT_BYTES)) \
	zone_size=64M/conv=4/max_open=$MAX_OPEN/lba=512/pblk=4096
kernel_knows_a_host_managed_disk
reports_agree
zbd_changes_conditions
last_zone_fills_up
kernel_passes_the_refusal_on
open_zones_are_limited
whole_disk_is_reset
lun_delete z

note "512-byte physical blocks"
lun_create z512 1G zone_size=64M/conv=4/lba=512/pblk=512/max_open=0
expect_eq "zoned" host-managed "$(queue zoned)"
expect_eq "zone_write_granularity" 512 "$(queue zone_write_granularity)"
expect_eq "max_open_zones" 0 "$(queue max_open_zones)"
expect_match "VPD page B6h" "sequential write required zones: no limit" "$(sg_vpd -p zbdch "$SG")"
write_blocks $((4 * ZONE)) 1
expect_zone $((4 * ZONE)) SWR "Implicitly opened" $((4 * ZONE + 1))
expect_status 0 sg_zone --open --zone=$((4 * ZONE)) --count=12 "$SG"
expect_zones "explicitly open zones" 12 3

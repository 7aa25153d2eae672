#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# Every LBA belongs to its zone, whatever the size of the zones: 96 MiB, and an odd number of blocks
# with a last zone of a single one.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/lib-zones.sh
source tests/e2e/lib-zones.sh

BLOCK=4096

# expect_zone_of LBA START: a report from LBA on begins with the zone that begins at START.
expect_zone_of() {
	OUTPUT=$(sg_rep_zones --start="$1" -m 128 "$SG")
	expect_match "zone of LBA $1" "Zone start LBA: $(printf 0x%x "$2")"$'\n' "$OUTPUT"
}

# probe_borders: the first and the last LBA of each zone.
probe_borders() {
	local start end
	for ((start = 0; start < CAPACITY; start = end)); do
		end=$((start + ZONE < CAPACITY ? start + ZONE : CAPACITY))
		expect_zone_of $start $start
		expect_zone_of $((end - 1)) $start
	done
	expect_sense 5/21/00 sg_rep_zones --start=$CAPACITY "$SG"
}

# write_starts: write the first block of each zone; each has its own data and pointer.
write_starts() {
	local start n=0 lines
	for ((start = FIRST; start < CAPACITY; start += ZONE)); do
		write_blocks $start 1 $((n++ % 256))
	done
	mapfile -t lines < <(zone_list $FIRST)
	expect_eq "number of zones" $n "${#lines[@]}"
	n=0
	for ((start = FIRST; start + 1 < CAPACITY; start += ZONE)); do
		expect_match "zone at $start" "^$(printf 0x%x $start) swr implicitly-opened .* $(
			printf 0x%x $((start + 1)))$" "${lines[n]}"
		((++n % 8)) || expect_pattern $start 1 $(((n - 1) % 256))
	done
}

# fill_to_the_last_block START: of a zone with one block written.
fill_to_the_last_block() {
	local last=$(($1 + ZONE - 1)) step
	expect_zone "$1" SWR "Implicitly opened" $(($1 + 1))
	for ((step = 1; step < ZONE - 1; step += 4096)); do
		expect_status 0 sg_write_same --16 --ndob --lba=$(($1 + step)) \
			--num=$((step + 4096 < ZONE - 1 ? 4096 : ZONE - 1 - step)) "$SG"
	done
	write_refused 5/21/05 $last 2
	expect_information $((last + 1))
	write_blocks $last 1 200
	expect_zone "$1" SWR Full
	expect_pattern $last 1 200
}

make_pattern
start_daemon

note "zones of 96 MiB"
lun_create even 6G zone_size=96M/conv=4/lba=4096/max_open=0
ZONE=$((0x6000)) CAPACITY=$((0x180000)) FIRST=$((0x18000))
probe_borders
write_starts
fill_to_the_last_block $((5 * ZONE))
fill_to_the_last_block $((62 * ZONE))
lun_delete even

note "zones of 4097 blocks"
ZONE=4097 FIRST=4097 CAPACITY=$((12 * 4097 + 1))
lun_create odd $((CAPACITY * BLOCK)) zone_size=$((ZONE * BLOCK))/conv=1/lba=4096/max_open=0
probe_borders
write_starts
expect_zone $((CAPACITY - 1)) SWR Full
fill_to_the_last_block $((7 * ZONE))
write_blocks 4094 3 10
expect_pattern 4094 3 10
write_refused 5/21/05 4096 2
expect_sense 5/21/00 sg_reset_wp --zone=$CAPACITY "$SG"
expect_status 0 sg_reset_wp --all "$SG"
expect_zones "empty zones" 12 1
expect_zone $((CAPACITY - 1)) SWR Empty $((CAPACITY - 1))
expect_match "kernel log" "Zone size $ZONE is not a power of two" "$(dmesg | tail -n 20)"
expect_eq "what went wrong in the kernel" "" "$(dmesg | grep -E 'Oops|BUG:|WARNING' || true)"

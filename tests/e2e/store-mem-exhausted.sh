#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# A LUN whose budget of memory is used up refuses writes with SPACE ALLOCATION FAILED WRITE PROTECT
# and does everything else as before; so do all LUNs when there is no memory in /dev/shm at all.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/lib-zones.sh
source tests/e2e/lib-zones.sh

BLOCK=4096
ZONE=4096 # 16 MiB
MIB=$((1048576 / BLOCK))
FILLER=/dev/shm/filler

# shm_used: MiB in /dev/shm.
shm_used() {
	df --output=used -BM /dev/shm | tail -n 1 | tr -dc 0-9
}

# write_mib LBA MIB: write PATTERN, as often as it takes; what the tool says is in OUTPUT.
write_mib() {
	local i
	for ((i = 0; i < $2; i++)); do
		expect_status 0 sg_dd if="$PATTERN" of="$SG" bs=$BLOCK bpt=256 \
			seek=$(($1 + i * MIB))
	done
}

# 32 MiB are taken by zones 2 and 3; there is no more for zone 4, which stays as it was.
budget_is_used_up() {
	local used
	used=$(shm_used)
	write_mib $((2 * ZONE)) 32
	used=$(($(shm_used) - used))
	((used >= 32 && used <= 33)) || fail "32 MiB written, $used MiB taken"
	write_refused 7/27/07 $((4 * ZONE)) 8
	expect_zone $((4 * ZONE)) SWR Empty $((4 * ZONE))
	write_refused 7/27/07 0 1
	expect_status 1 dd if="$PATTERN" of="$DISK" bs=4096 count=1 seek=$((4 * ZONE)) \
		oflag=direct conv=notrunc status=none
	expect_match "error of the write" "No space left on device" "$OUTPUT"
	expect_status 1 fio --name=job --filename="$DISK" --direct=1 --zonemode=zbd --rw=write \
		--bs=64k --offset=4z --size=1z
	expect_match "fio's error" "No space left on device" "$OUTPUT"
	expect_zone $((4 * ZONE)) SWR Empty $((4 * ZONE))
}

everything_else_goes_on() {
	expect_pattern $((2 * ZONE)) $MIB
	expect_pattern $((4 * ZONE - MIB)) $MIB
	expect_zeros $((4 * ZONE)) 8
	expect_status 0 sg_turs "$SG"
	expect_status 0 sg_zone --open --zone=$((5 * ZONE)) "$SG"
	expect_status 0 sg_zone --finish --zone=$((5 * ZONE)) "$SG"
	# Zeros take no memory.
	expect_status 0 sg_write_same --16 --ndob --lba=$((4 * ZONE)) --num=256 "$SG"
	expect_zone $((4 * ZONE)) SWR "Implicitly opened" $((4 * ZONE + 256))
	expect_status 0 sg_reset_wp --zone=$((4 * ZONE)) "$SG"
}

other_lun_is_not_concerned() {
	lun_find other
	write_mib $((2 * ZONE)) 4
	expect_pattern $((2 * ZONE + MIB)) $MIB
	lun_find small
}

reset_gives_the_memory_back() {
	local used
	used=$(shm_used)
	expect_status 0 sg_reset_wp --zone=$((2 * ZONE)) "$SG"
	used=$((used - $(shm_used)))
	((used >= 15 && used <= 17)) || fail "the reset of a zone of 16 MiB gave $used MiB back"
	write_mib $((4 * ZONE)) 16
	expect_zone $((4 * ZONE)) SWR Full
	expect_pattern $((5 * ZONE - MIB)) $MIB
	write_refused 7/27/07 $((2 * ZONE)) 8
	expect_status 0 sg_reset_wp --all "$SG"
	write_mib 0 1
}

# Nothing is left in /dev/shm: no SIGBUS, no data lost, no LUN more.
no_memory_at_all() {
	local free=$(($(df --output=avail -B1 /dev/shm | tail -n 1)))
	fallocate -l "$free" "$FILLER"
	write_refused 7/27/07 $((2 * ZONE)) 8
	write_refused 7/27/07 $((ZONE)) 1
	expect_zone $((2 * ZONE)) SWR Empty $((2 * ZONE))
	write_blocks 0 8 8 # has its memory
	expect_pattern 0 8 8
	lun_find other
	expect_pattern $((2 * ZONE)) $MIB
	write_refused 7/27/07 $((3 * ZONE)) 8
	! backstore_create third "dev_config=memzbc/zone_size=16M,dev_size=268435456" 2>/dev/null ||
		fail "a LUN was made without memory for its zone table"
	expect_match "tcmu-runner's log" "no memory for the zone table" "$(<"$RUNNER_LOG")"
	kill -0 "$RUNNER" || fail "the daemon has died"

	rm "$FILLER"
	write_blocks $((3 * ZONE)) 8 3
	expect_pattern $((3 * ZONE)) 8 3
	lun_find small
	write_mib $((2 * ZONE)) 16
	expect_zone $((2 * ZONE)) SWR Full
	lun_create third 256M zone_size=16M/lba=4096
	write_blocks $((2 * ZONE)) 8
}

make_pattern
start_daemon
lun_create other 256M zone_size=16M/conv=2/lba=4096/mem=64M
lun_create small 256M zone_size=16M/conv=2/lba=4096/mem=32M
budget_is_used_up
everything_else_goes_on
other_lun_is_not_concerned
reset_gives_the_memory_back
no_memory_at_all

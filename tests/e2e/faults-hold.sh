#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# hold: a stock kernel writes zones at depth 64 without a scheduler and without an error, because
# the LUN keeps early writes until the write pointer arrives. Without it the same job fails. Several
# CPUs swap writes by themselves, but not in every run: reorder makes sure that some are swapped.
source tests/e2e/lib.sh
source tests/e2e/faults-lib.sh

start_daemon
lun_create h 1G zone_size=64M/conv=1/lba=4096/reorder=16/seed=1
scheduler "$DISK" none

deep_writes() {
	fio --name=w --filename="$DISK" --zonemode=zbd --rw=write --bs=4k --ioengine=libaio \
		--direct=1 --iodepth=64 --offset=64M --size=256M --io_size=12M --verify=crc32c "$@"
}

note "hold=0: writes that arrive out of order fail with UNALIGNED WRITE, EREMOTEIO"
expect_status 1 deep_writes
expect_match "fio's error" "error=Remote I/O error" "$OUTPUT"
(($(stat_of h "$UNALIGNED") > 0)) || fail "the LUN saw no unaligned write"

note "hold=64: not one error, and the LUN says why"
sg_reset_wp --all "$SG"
faults h hold=64
memzbc reset-stats h >/dev/null
expect_status 0 deep_writes
expect_eq "unaligned writes" 0 "$(stat_of h "$UNALIGNED")"
(($(stat_of h "$HELD") > 0)) || fail "no write was held: this run shows nothing"
expect_eq "writes held, by how it ended" "$(stat_of h "$HELD")" "$(stat_of h "$ARRIVED")"

write_is_held() {
	[[ $(stat_of h 's["held"]["now"]') == 1 ]]
}

note "a hole blocks neither the LUN nor other zones"
faults h hold_time=12s reorder=0
sg_reset_wp --all "$SG"
started=${EPOCHREALTIME/./}
write_blocks "$SG" $((4 * 0x4000 + 8)) 8 >/tmp/early 2>&1 &
wait_until 10 write_is_held
for zone in 5 6 7; do
	write_blocks "$SG" $((zone * 0x4000)) 8 >/dev/null 2>&1
	cdb16 88 $((zone * 0x4000)) 8
	sg_raw -r 32768 "$SG" "${CDB[@]}" >/dev/null 2>&1
done
others=$((${EPOCHREALTIME/./} - started))
early=0
wait $! || early=$?
hole=$((${EPOCHREALTIME/./} - started))
expect_eq "exit status of the write above the hole" 5 "$early"
expect_match "its sense" "Unaligned write command" "$(</tmp/early)"
((hole >= 12000000)) || fail "the early write was kept for $hole us, not for 12 s"
((others < hole)) || fail "other zones waited for the hole: $others us"

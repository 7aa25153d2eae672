#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# What the other tests of faults leave out, each key by what an initiator sees of it: delay_write,
# delay_zone, delay_sync, rate, seek, reorder_time, hold_attempts, and errors of FINISH ZONE,
# SYNCHRONIZE CACHE and commands of other classes. Times have lower bounds as the initiator sees
# them, and upper bounds as the trace does: that is not slower on a busy machine.
source tests/e2e/lib.sh
source tests/e2e/faults-lib.sh

ZONE=$((0x4000)) # blocks of 4096 bytes in 64 MiB
FOURTH=$((4 * ZONE))
LAST=$((16 * ZONE - 8))

read_blocks() { # SG LBA BLOCKS
	cdb16 88 "$2" "$3"
	sg_raw -r $(($3 * 4096)) -o /dev/null "$1" "${CDB[@]}"
}

# takes_ms LEAST COMMAND...: it succeeds, but not before so many milliseconds.
takes_ms() {
	local began=${EPOCHREALTIME/./} took
	expect_status 0 "${@:2}"
	took=$(((${EPOCHREALTIME/./} - began) / 1000))
	((took >= $1)) || fail "'${*:2}' took $took ms, not at least $1"
}

# traced_us LBA...: print how long the LUN took for the last READ or WRITE(16) at each LBA, in
# microseconds.
traced_us() {
	memzbc trace k --json | /usr/bin/python3 -c '
import json, sys
last = {c["lba"]: c["latency"] // 1000 for c in json.load(sys.stdin)["commands"]
        if c["opcode"] in (0x88, 0x8A)}
print(*(last[int(lba)] for lba in sys.argv[1:]))' "$@"
}

# expect_at_most_ms MOST LBA...
expect_at_most_ms() {
	local us
	for us in $(traced_us "${@:2}"); do
		((us <= $1 * 1000)) || fail "the LUN took $us us, not at most $1 ms"
	done
}

start_daemon
lun_create k 1G zone_size=64M/conv=4/lba=4096
scheduler "$DISK" none

note "delays of one class each, of others nothing"
faults k delay_write=2s
takes_ms 2000 write_blocks "$SG" "$FOURTH" 8
expect_status 0 read_blocks "$SG" 64 8
expect_at_most_ms 1000 64
faults k delay_write=0 delay_zone=2s
takes_ms 2000 sg_zone --open --zone=$((5 * ZONE)) "$SG"
takes_ms 2000 sg_reset_wp --zone=$((5 * ZONE)) "$SG"
expect_status 0 write_blocks "$SG" $((FOURTH + 8)) 8
expect_at_most_ms 1000 $((FOURTH + 8))
faults k delay_zone=0 delay_sync=2s
takes_ms 2000 sg_sync "$SG"
takes_ms 2000 dd if=/dev/zero of="$DISK" bs=4096 count=1 oflag=direct conv=notrunc,fsync
expect_at_most_ms 1000 0
faults k delay_sync=0

note "rate=256K: 512 KiB take two seconds, 4 KiB the 128th part of that"
faults k rate=256K
takes_ms 2000 read_blocks "$SG" 0 128
expect_status 0 read_blocks "$SG" 16 1
expect_at_most_ms 1000 16
(($(traced_us 16) >= 15625)) || fail "4 KiB took just $(traced_us 16) us"
faults k rate=0

note "seek=4s: the way over a quarter of the LUN takes half as long; going on takes nothing"
expect_status 0 read_blocks "$SG" 0 8
faults k seek=4s
takes_ms 3990 read_blocks "$SG" "$LAST" 8
takes_ms 1990 read_blocks "$SG" $((12 * ZONE)) 8
expect_status 0 read_blocks "$SG" $((12 * ZONE + 8)) 8
expect_at_most_ms 500 $((12 * ZONE + 8))
(($(traced_us $((12 * ZONE))) < 3000000)) || fail "a quarter took as long as the whole"
faults k seek=0

note "reorder_time: a write that nobody overtakes goes on after that time"
faults k reorder=1 reorder_time=2s
takes_ms 2000 write_blocks "$SG" $((FOURTH + 16)) 8
expect_eq "how it ended" "{'time': 1}" "$(stat_of k 's["reordered"]["ended"]')"
faults k reorder=0

note "hold_attempts: a write that is kept fails when so many others were executed"
faults k hold=4 hold_time=20s hold_attempts=2
write_blocks "$SG" $((FOURTH + 64)) 8 >/tmp/early 2>&1 &
write_is_held() {
	[[ $(stat_of k 's["held"]["now"]') == 1 ]]
}
wait_until 10 write_is_held
expect_status 0 write_blocks "$SG" $((FOURTH + 24)) 8
write_is_held || fail "one write was enough"
expect_status 0 write_blocks "$SG" $((FOURTH + 32)) 8
early=0
wait $! || early=$?
expect_eq "exit status of the write that was kept" 5 "$early"
expect_match "its sense" "Unaligned write command" "$(</tmp/early)"
expect_eq "how it ended" "{'attempts': 1}" "$(stat_of k 's["held"]["ended"]')"
faults k hold=0

note "FINISH ZONE that fails changes nothing, and the next one works"
zone_line() {
	memzbc zones k --json | /usr/bin/python3 -c '
import json, sys
z = next(z for z in json.load(sys.stdin)["zones"] if z["zone"] == 4)
print(z["condition"], z["write_pointer"] - z["start"] if z["write_pointer"] else "-")'
}
before=$(zone_line)
expect_eq "zone 4" "implicitly opened 40" "$before"
faults k error=hardware@finish@n1
expect_sense 4/44/00 sg_zone --finish --zone="$FOURTH" "$SG"
expect_eq "zone 4" "$before" "$(zone_line)"
expect_status 0 sg_zone --finish --zone="$FOURTH" "$SG"
expect_match "zone 4" "^full" "$(zone_line)"

note "SYNCHRONIZE CACHE that fails: fsync tells"
sync_disk() {
	dd if=/dev/zero of="$DISK" bs=4096 count=1 oflag=direct conv=notrunc,fsync status=none
}
faults k error=hardware@sync@n1
expect_sense 4/44/00 sg_sync "$SG"
faults k error=hardware@sync
expect_eq "errno of fsync" "Remote I/O error" "$(errno_of sync_disk)"
faults k error=off
sync_disk

note "commands of other classes: TEST UNIT READY becoming ready, then ready"
faults k error=notready@other@n1
expect_sense 2/04/01 sg_raw "$SG" 00 00 00 00 00 00
expect_status 0 sg_turs "$SG"

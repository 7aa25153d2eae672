#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# memzbc trace, stats and zones show what initiators did to a LUN: as tables, as data, as pictures,
# while it happens, and after the daemon was killed.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/memzbc-lib.sh
source tests/e2e/memzbc-lib.sh

# traced FIELD: print the field of each WRITE(16) or READ(16) in the trace, in one line.
traced() {
	memzbc trace z0 --json | /usr/bin/python3 -c 'import json, sys
print(*(c[sys.argv[1]] for c in json.load(sys.stdin)["commands"] if "(16)" in c["command"]
and c["opcode"] in (0x88, 0x8a)))' "$1"
}

# Zone 4 starts at LBA 100000h.
start=$((0x100000))
make_lun z0 zone_size=128M conv=4 --size 2G
memzbc set z0 trace=100 >/dev/null

note "two writes, the second of them not at the write pointer, and a read"
sg_dd if=/dev/zero of="$SG" bs=512 seek=$start count=8 bpt=8 cdbsz=16 2>/dev/null
expect_sense 5/21/04 sg_raw -s 4096 -i /dev/zero "$SG" \
	8a 00 00 00 00 00 00 10 00 10 00 00 00 08 00 00
sg_dd if="$SG" of=/dev/null bs=512 skip=$start count=16 bpt=16 cdbsz=16 2>/dev/null
expect_eq "LBAs" "$start $((start + 16)) $start" "$(traced lba)"
expect_eq "lengths" "8 8 16" "$(traced blocks)"
expect_eq "zones" "4 4 4" "$(traced zone)"
expect_eq "write pointers" "$start $((start + 8)) $((start + 8))" "$(traced write_pointer)"
expect_eq "outcomes" "good unaligned write good" "$(traced outcome)"
expect_match "table" "WRITE\(16\) +0x100010 +8 +4 +0x100008 +5/21/04 unaligned write" \
	"$(memzbc trace z0)"

note "the counters say the same"
expect_status 0 memzbc stats z0
expect_match "stats" "unaligned writes +1" "$OUTPUT"
expect_match "stats" "5/21/04 unaligned write +1" "$OUTPUT"
expect_match "stats" "writes out of order +1" "$OUTPUT"

note "as they come"
memzbc trace z0 --follow --last 1 --csv >followed &
follower=$!
wait_until 30 grep -q ",$start,16,4," followed
sg_dd if="$SG" of=/dev/null bs=512 skip=12345 count=1 bpt=1 cdbsz=16 2>/dev/null
wait_until 20 grep -q ,12345,1,0, followed
kill $follower # bash has background commands ignore SIGINT
wait $follower || fail "exit status $? of memzbc trace --follow"

note "a map, and pictures"
expect_status 0 memzbc zones z0 --map
expect_match "map" " 4  implicitly opened  [^ ]+  0.00305%" "$OUTPUT"
expect_match "map" "15  empty" "$OUTPUT"
for picture in trace.png zones.png trace.svg zones.svg; do
	memzbc "${picture%.*}" z0 --plot "$picture"
done
expect_match "SVG" "LUN z0: 16 zones" "$(<zones.svg)"
expect_match "SVG" "unaligned write: 1" "$(<trace.svg)"
expect_eq "PNGs" "89504e47 89504e47" "$(head -qc4 trace.png zones.png | od -An -tx4 --endian=big |
	xargs)"

note "the trace goes on where it was when the daemon is killed"
before=$(memzbc trace z0 --csv --last 1 | tail -n1 | cut -d, -f1)
end_program KILL tcmu-runner
expect_eq "outcomes without the daemon" "good unaligned write good good" "$(traced outcome)"
tcmu-runner >/dev/null 2>&1 &
wait_until 60 daemon_owns_name
sg_dd if="$SG" of=/dev/null bs=512 skip=777 count=1 bpt=1 cdbsz=16 2>/dev/null
expect_eq "LBAs" "$start $((start + 16)) $start 12345 777" "$(traced lba)"
(($(memzbc trace z0 --csv --last 1 | tail -n1 | cut -d, -f1) > before)) || fail "numbered anew"

note "no trace, no memory for it"
memzbc set z0 trace=0 >/dev/null
expect_status 1 memzbc trace z0
expect_match "reason" "no trace of a LUN 'z0'.*memzbc set z0 trace=65536" "$OUTPUT"
expect_eq "trace files" "" "$(find /dev/shm/memzbc -name 'trace*')"
memzbc delete z0

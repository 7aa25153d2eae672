#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# reorder: the trace shows exactly the swaps. On conventional zones every write succeeds, and each
# that was held back was overtaken by as many later ones as wanted; the same seed picks the same
# writes. On a sequential zone those that overtake get UNALIGNED WRITE.
source tests/e2e/lib.sh
source tests/e2e/faults-lib.sh

DEPTH=3
start_daemon
lun_create r 1G zone_size=64M/conv=4/lba=4096
scheduler "$DISK" none

# write_in_order OFFSET SIZE: on one CPU, so that nobody else swaps writes.
write_in_order() {
	taskset -c 0 fio --name=w --filename="$DISK" --rw=write --bs=4k --ioengine=libaio \
		--direct=1 --iodepth=16 --offset="$1" --size="$2" "${@:3}"
}

# swaps: check the swaps in the trace; print the LBAs of the writes that were held back.
swaps() {
	memzbc trace r --json | /usr/bin/python3 -c '
import json, sys
depth = int(sys.argv[1])
writes = [c for c in json.load(sys.stdin)["commands"] if c["opcode"] == 0x8A]
for w in writes:
    later = [c for c in writes if c["number"] > w["number"] and c["zone"] == w["zone"]]
    before = sum(c["execution"] < w["execution"] for c in later)
    if w["reordered"] and w["reordered_until"] == "depth":
        assert before >= depth, (w, before)
        assert sum(not c["reordered"] for c in later if c["execution"] < w["execution"]) <= depth, w
    elif not w["reordered"]:
        assert before == 0, (w, before)
print(*(w["lba"] for w in writes if w["reordered"]))' "$DEPTH"
}

# held_back SEED
held_back() {
	faults r reorder=0 trace=0
	faults r reorder=8 reorder_conv=1 reorder_depth=$DEPTH reorder_time=1s seed="$1" trace=4096
	write_in_order 0 2M >/tmp/fio.log || fail "a conventional write failed: $(</tmp/fio.log)"
	swaps
}

note "conventional zones: swaps, and no error"
first=$(held_back 1)
expect_eq "writes held back with seed 1" "$first" "$(held_back 1)"
count=$(wc -w <<<"$first")
note "of 512 writes $count were held back"
((count > 30 && count < 110)) || fail "about one in 8 of 512 writes should be held back: $count"
[[ $first != "$(held_back 2)" ]] || fail "seed 2 holds the same writes back as seed 1"

note "a sequential zone: whoever overtakes is refused"
faults r reorder_conv=0 reorder_depth=1 reorder=4 seed=3
memzbc reset-stats r >/dev/null
expect_status 1 write_in_order 256M 64M --io_size=1M --zonemode=zbd
expect_match "fio's error" "error=Remote I/O error" "$OUTPUT"
(($(stat_of r "$UNALIGNED") > 0)) || fail "the LUN saw no unaligned write"

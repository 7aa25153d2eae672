#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# writer-check.sh ZONED-WRITER: what the judge relies on: zoned-writer sends what it is told to, in
# this order, and says the truth about what became of it.
source tests/e2e/lib.sh
source tests/e2e/faults-lib.sh

writer=$1
start_daemon
lun_create w 128M zone_size=4M/conv=1/lba=4096
scheduler "$DISK" none
ZONE=1024

# zoned_writer STATUS ARG...: run it on the disk; what it says is in OUTPUT.
zoned_writer() {
	expect_status "$1" "$writer" "$DISK" "${@:2}"
}

# said KIND FIELD: the values of FIELD in the lines about KIND, by request.
said() {
	/usr/bin/python3 -c '
import json, sys
lines = map(json.loads, sys.stdin)
lines = sorted((line for line in lines if sys.argv[1] in line), key=lambda l: l.get("request", 0))
print(*(line[sys.argv[2]] for line in lines))' "$@" <<<"$OUTPUT"
}

# arrived: the LBAs of the writes that the LUN has seen, in this order.
arrived() {
	memzbc trace w --json | /usr/bin/python3 -c '
import json, sys
print(*(c["lba"] for c in json.load(sys.stdin)["commands"] if c["opcode"] == 0x8A))'
}

# fresh: the trace begins anew.
fresh() {
	faults w trace=0
	faults w trace=4096
}

note "in order: all is good, and the data are as sg tools read them"
zoned_writer 0 --start $ZONE --count 8 --blocks 2 --verify
expect_eq "errors" "0 0 0 0 0 0 0 0" "$(said request errno)"
expect_eq "data" "True True True True True True True True" "$(said verify good)"
expect_eq "write pointer" $((ZONE + 16)) "$(said zone wp)"
expect_eq "ends" True "$(said end end)"
zones=$(sg_rep_zones --start=$ZONE --num=1 "$SG")
expect_match "write pointer by REPORT ZONES" "Write pointer LBA: 0x410" "$zones"
dd if="$DISK" of=/tmp/data bs=4096 skip=$ZONE count=16 iflag=direct status=none
expect_eq "blocks that differ from each other" 16 "$(split -b 4096 --filter=sha256sum /tmp/data |
	sort -u | wc -l)"

note "wrong data are found: other data, one bit, a block in another's place"
zoned_writer 0 --start $ZONE --count 8 --blocks 2 --op verify
zoned_writer 1 --start $ZONE --count 8 --blocks 2 --op verify --salt 1
expect_eq "data" "False False False False False False False False" "$(said verify good)"
zoned_writer 0 --start 0 --count 4 --verify
dd if="$DISK" of=/tmp/block bs=4096 skip=1 count=1 iflag=direct status=none
byte=$(od -An -tu1 -j100 -N1 /tmp/block)
printf '%b' "\\x$(printf %x $((byte ^ 1)))" |
	dd of=/tmp/block bs=1 seek=100 conv=notrunc status=none
dd if=/tmp/block of="$DISK" bs=4096 seek=1 oflag=direct conv=notrunc status=none
zoned_writer 1 --start 0 --count 4 --op verify
expect_eq "data with a wrong bit" "True False True True" "$(said verify good)"
dd if="$DISK" of="$DISK" bs=4096 skip=2 seek=3 count=1 iflag=direct oflag=direct \
	conv=notrunc status=none
zoned_writer 1 --start 0 --count 4 --op verify
expect_eq "data with a block twice" "True False True False" "$(said verify good)"

note "the order is the one that was asked for, and failures are reported as they are"
fresh
zoned_writer 1 --start $((2 * ZONE)) --count 4 --order list:0,2,1,3 --verify
expect_eq "order at the LUN" "2048 2050 2049 2051" "$(arrived)"
expect_eq "errors" "0 0 121 121" "$(said request errno)"
expect_eq "what was verified" "0 1" "$(said verify verify)"
expect_eq "write pointer" 2050 "$(said zone wp)"
fresh
zoned_writer 1 --start $((3 * ZONE)) --count 4 --order reversed
expect_eq "order at the LUN" "3075 3074 3073 3072" "$(arrived)"
declare -A shuffled=()
all=$(seq -s' ' $((4 * ZONE)) $((4 * ZONE + 31)))
for seed in 1 2 1; do
	fresh
	zoned_writer 1 --start $((4 * ZONE)) --count 32 --order "shuffle:$seed"
	order=$(arrived)
	expect_eq "all of them" "$all" "$(said request lba)"
	expect_eq "order of seed $seed, again" "${shuffled[$seed]:-$order}" "$order"
	shuffled[$seed]=$order
done
[[ ${shuffled[1]} != "${shuffled[2]}" ]] || fail "seeds 1 and 2 shuffle alike"

note "two zones in turn, a hole, and a request that comes late"
zoned_writer 0 --start $((6 * ZONE)) --count 6 --zones 2 --stride $ZONE --batch 1 --verify
expect_eq "LBAs" "6144 7168 6145 7169 6146 7170" "$(said request lba)"
expect_eq "write pointers" "6147 7171" "$(said zone wp)"
zoned_writer 1 --start $((8 * ZONE)) --count 4 --holes 1
expect_eq "requests with a hole" "0 2 3" "$(said request request)"
expect_eq "errors behind it" "0 121 121" "$(said request errno)"
counter=/sys/block/${DISK#/dev/}/device/ioerr_cnt
zoned_writer 1 --start $((9 * ZONE)) --count 4 --holes 0 --late "$counter:100" --verify
expect_eq "why it was sent" end "$(said late late)"
expect_eq "errors" "0 121 121 121" "$(said request errno)"

note "threads send each request once"
faults w hold=64
zoned_writer 0 --start $((10 * ZONE)) --count 64 --threads 2 --verify
expect_eq "requests" "$(seq -s' ' 0 63)" "$(said request request)"
expect_eq "write pointer" $((10 * ZONE + 64)) "$(said zone wp)"
faults w hold=0

note "SG_IO: the sense data"
zoned_writer 1 --op sg-write --sg "$SG" --start $((11 * ZONE + 1))
expect_eq "sense" 5/21/04 "$(said sense sense)"
zoned_writer 0 --op sg-write --sg "$SG" --start $((11 * ZONE)) --verify
expect_eq "data" True "$(said verify good)"

note "what it does not take"
for wrong in --count=0 --count=x --order=random --order=list:0,0 --holes=9 --op=trim \
	--late=file --op=sg-write --threads=0; do
	expect_status 2 "$writer" "$DISK" --count 2 "$wrong"
done
expect_status 2 "$writer"
expect_status 2 "$writer" /dev/null

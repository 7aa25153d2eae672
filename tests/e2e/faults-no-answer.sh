#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# error=drop: the command is executed, and answered after somebody has given it up. Whether that is
# the initiator, which aborts and sends it again, or LIO, the late answer does no harm, and a
# daemon can be stopped while one is outstanding.
source tests/e2e/lib.sh
source tests/e2e/faults-lib.sh

ZONE=$((0x4000)) # blocks of 4096 bytes in 64 MiB
BLOCKS=8
PATTERN=/tmp/pattern
GOT=/tmp/got

write_disk() { # LBA
	dd if=$PATTERN of="$DISK" bs=$((BLOCKS * 4096)) seek=$(($1 / BLOCKS)) count=1 oflag=direct \
		conv=notrunc status=none
}

expect_written() { # LBA
	dd if="$DISK" of=$GOT bs=$((BLOCKS * 4096)) skip=$(($1 / BLOCKS)) count=1 iflag=direct \
		status=none
	cmp $PATTERN $GOT || fail "not what was written at block $1"
}

# writes_at NAME LBA: what the trace says of each write there.
writes_at() {
	memzbc trace "$1" --json | /usr/bin/python3 -c '
import json, sys
for c in json.load(sys.stdin)["commands"]:
    if c["opcode"] == 0x8A and c["lba"] == int(sys.argv[1]):
        answer = "no answer" if c["completed"] is None else "late" if c["dropped"] else "at once"
        print(c["sense"] or "good", answer, sep=", ")' "$2" | paste -sd';'
}

# in_log REGEX: how often the kernel has said so.
in_log() {
	dmesg | grep -cE "$1" || true
}

start_daemon
head -c $((BLOCKS * 4096)) /dev/urandom >$PATTERN
lun_create d 1G zone_size=64M/conv=4/lba=4096
scheduler "$DISK" none
echo 5 >"/sys/bus/scsi/devices/$ADDRESS/timeout"

note "the initiator gives up after 5 s, aborts, and sends a write to blocks again"
faults d error=drop@write@n1@t12s
write_disk 8
expect_eq "writes" "good, late;good, at once" "$(writes_at d 8)"
expect_written 8
aborts=$(in_log 'ABORT_TASK: Found referenced')
((aborts > 0)) || fail "no abort in the kernel log"

note "a write to a zone is sent again, too, and fails: the zone has it, and just once"
first=$((4 * ZONE))
faults d error=drop@write@n1@t12s
expect_eq "errno" "Remote I/O error" "$(errno_of write_disk "$first")"
expect_eq "writes" "good, late;5/21/04, at once" "$(writes_at d "$first")"
expect_match "write pointer" "Write pointer LBA: $(printf '0x%x' $((first + BLOCKS)))" \
	"$(sg_rep_zones --start="$first" --num=1 "$SG")"
expect_written "$first"
(($(in_log 'ABORT_TASK: Found referenced') > aborts)) || fail "no second abort in the kernel log"
expect_eq "answers dropped" 2 "$(stat_of d 's["injected"]["drop"]')"

note "one of 16 writes under way to a zone gets no answer: the zone has each of them, and just once"
# zone_writes OPTION...: fio's 16 writes of 4 KiB to zone 6
zone_writes() {
	fio --name=w --filename="$DISK" --zonemode=zbd --bs=4k --ioengine=libaio --direct=1 \
		--iodepth=16 --offset=$((6 * ZONE * 4096)) --size=64M --io_size=64k \
		--verify=crc32c "$@"
}
aborts=$(in_log 'ABORT_TASK: Found referenced')
faults d hold=16 error=drop@write@lba$((6 * ZONE + 2))@n1@t8s
expect_status 1 zone_writes --rw=write --do_verify=0
expect_match "fio's error" "error=Remote I/O error" "$OUTPUT"
(($(in_log 'ABORT_TASK: Found referenced') > aborts)) || fail "no abort in the kernel log"
expect_match "write pointer" "Write pointer LBA: $(printf '0x%x' $((6 * ZONE + 16)))" \
	"$(sg_rep_zones --start=$((6 * ZONE)) --num=1 "$SG")"
for ((lba = 6 * ZONE; lba < 6 * ZONE + 16; lba++)); do
	answers="good, at once"
	((lba != 6 * ZONE + 2)) || answers="good, late;5/21/04, at once"
	expect_eq "writes of block $lba" "$answers" "$(writes_at d "$lba")"
done
expect_status 0 zone_writes --rw=read
faults d hold=0

note "LIO gives up after 5 s; the answer comes when nobody waits for it, and all goes on"
control=dev_config=memzbc/zone_size=64M/conv=4/lba=4096,hw_block_size=4096
backstore_create l "$control,dev_size=$((1 << 30))"
echo 5 >"$TARGET/core/user_0/l/attrib/cmd_time_out"
lun_export l
lun_find l
faults l error=drop@write@n1@t15s
cdb16 8a 8 $BLOCKS
expect_sense 2/08/00 sg_raw -t 60 -s $((BLOCKS * 4096)) -i $PATTERN "$SG" "${CDB[@]}"
expect_eq "writes" "good, no answer" "$(writes_at l 8)"
is_answered() {
	[[ $(writes_at l 8) == "good, late" ]]
}
wait_until 60 is_answered
write_disk 16
expect_written 8
expect_written 16
expect_eq "complaints about the ring" 0 "$(in_log 'ring is broken|cmd_id')"

note "a daemon that is stopped waits for the answer and no longer, though LIO has given up"
lun_find d
faults d error=drop@write@n1@t45s
sg_raw -t 90 -s $((BLOCKS * 4096)) -i $PATTERN "$SG" "${CDB[@]}" &>/dev/null &
is_dropped() {
	[[ $(stat_of d 's["injected"]["drop"]') == 4 ]]
}
wait_until 20 is_dropped
began=$SECONDS
kill_daemon TERM
took=$((SECONDS - began))
note "after $took s"
((took <= 60)) || fail "that is too long"
expect_match "the log" "Exiting" "$(<"$RUNNER_LOG")"
wait || true
start_daemon
wait_until 30 memzbc get d seed
faults d error=off
write_disk 24
expect_written 24

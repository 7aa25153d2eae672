#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The module refuses LUNs that it cannot handle, each with a reason in the log and its errno.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/kernel/module-lib.sh
source tests/kernel/module-lib.sh

AGAIN="Resource temporarily unavailable"
NO_DEVICE="No such device"
INVALID="Invalid argument"

# ramdisk NAME: a backstore of a disk without zones.
ramdisk() {
	local place=$TARGET/core/rd_mcp_0/$1
	mkdir -p "$place"
	echo rd_pages=1024 >"$place/control"
	echo 1 >"$place/enable"
}

# iscsi_lun: log in to a zoned LUN over iSCSI. Sets ADDRESS.
iscsi_lun() {
	mkdir -p /etc/iscsi /run/lock/iscsi
	echo InitiatorName=iqn.2000-01.org.example:initiator >/etc/iscsi/initiatorname.iscsi
	iscsid
	expect_status 0 memzbc create far --size 64M zone_size=4M --iscsi
	eval "$(sed -n 's/^ *login *//p' <<<"$OUTPUT")" >/dev/null
	wait_until 30 has_iscsi_disk
	ADDRESS=$(lsscsi --transport | sed -n 's/^\[\([0-9:]*\)\] .*iqn.*/\1/p')
}

# has_iscsi_disk: the disk over iSCSI has its node.
has_iscsi_disk() {
	lsscsi --transport | grep -q "iqn.*/dev/sd"
}

start_daemon
note "a parameter out of range"
expect_status 1 insmod "$MODULE" max_rounds=100001
expect_match "error" "Invalid parameters" "$OUTPUT"
load

note "an I/O scheduler"
lun_create zoned 64M "$ZONED_CONFIG"
zoned=$ADDRESS
node "$zoned"
echo mq-deadline >"/sys/block/$NODE/queue/scheduler"
expect_refused "$zoned" "$AGAIN" "write none to queue/scheduler first"

note "more than one hardware queue"
echo 2 >/sys/module/tcm_loop/parameters/nr_hw_queues
lun_create queues 64M "$ZONED_CONFIG"
echo 1 >/sys/module/tcm_loop/parameters/nr_hw_queues
set_queue "$ADDRESS"
expect_refused "$ADDRESS" "$NO_DEVICE" "more than one hardware queue"

note "no zones"
ramdisk plain
lun_share rd_mcp_0/plain zoned
set_queue "$ADDRESS"
expect_refused "$ADDRESS" "$NO_DEVICE" "no host-managed zoned disk"

if modprobe -q iscsi_tcp; then
	note "a host with a transport class"
	iscsi_lun
	set_queue "$ADDRESS"
	expect_refused "$ADDRESS" "$NO_DEVICE" "transport class"
fi

if modprobe -q scsi_dh_hp_sw; then
	note "another handler, which the SCSI core sees to"
	lun_create claimed 64M "$ZONED_CONFIG"
	set_queue "$ADDRESS"
	echo hp_sw >"$(place "$ADDRESS")/dh_state"
	expect_refused "$ADDRESS" "$INVALID" "" hp_sw
fi

note "what it does not refuse"
set_queue "$zoned"
attach "$zoned"

note "a second time, detaching, and unloading while it is attached"
for word in "$HANDLER_NAME" detach; do
	OUTPUT=$( (echo "$word" >"$(place "$zoned")/dh_state") 2>&1) && fail "'$word' was taken"
	expect_match "error" ": $INVALID\$" "$OUTPUT"
done
expect_status 1 rmmod "$HANDLER_NAME"
expect_match "error" "in use" "$OUTPUT"

note "max_rounds out of range"
rounds=$(place "$zoned")/$HANDLER_NAME/max_rounds
for word in 100001 -1 many; do
	OUTPUT=$( (echo "$word" >"$rounds") 2>&1) && fail "max_rounds '$word' was taken"
	expect_match "error" ": $INVALID\$" "$OUTPUT"
done
echo 100000 >"$rounds"
expect_eq "max_rounds" 100000 "$(<"$rounds")"

note "a scheduler that comes later: no retry, no hang"
node "$zoned"
echo mq-deadline >"/sys/block/$NODE/queue/scheduler"
expect_status 1 writes "$zoned" 2 --count 1 --start $((2 * ZONE_BLOCKS + 1))
expect_match "result" '"errno": 121' "$OUTPUT"
expect_eq "declined" 1 "$(counter "$zoned" declined)"
expect_eq "retried" 0 "$(counter "$zoned" retried)"

expect_clean_log

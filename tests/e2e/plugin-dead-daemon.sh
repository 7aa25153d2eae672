#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# The daemon dies under load and does not come back: what waits for it ends with an error when LIO
# gives up, nothing hangs, and the LUN can be deleted. With a new daemon, a new LUN of that name
# works.

# shellcheck source=tests/e2e/plugin-lib.sh
source tests/e2e/plugin-lib.sh

TIME_OUT=10

# hanging: print the tasks that nothing can interrupt.
hanging() {
	ps -eo stat=,comm= | awk '$1 ~ /^D/ { print $2 }' | grep -vE '^kworker' || true
}

none_hangs() {
	[[ ! $(hanging) ]]
}

start_daemon
backstore_create z0 "dev_config=$HANDLER/zone_size=16M/conv=4,dev_size=$((256 << 20))"
echo $TIME_OUT >"$TARGET/core/user_0/z0/attrib/cmd_time_out"
lun_export z0
lun_find z0

note "fio writes blocks at depth 16, and the daemon is killed for good"
fio --name=w --filename="$DISK" --direct=1 --ioengine=libaio --rw=randwrite --bs=64k \
	--iodepth=16 --size=32M --time_based --runtime=600 &>/dev/shm/fio.out &
load=$!
has_written() {
	local -a counters
	read -r -a counters <"/sys/block/${DISK#/dev/}/stat"
	((counters[4] >= 20))
}
wait_until 60 has_written
kill_daemon KILL
began=$SECONDS
wait_until $((TIME_OUT * 6)) not_running "$load"
status=0
wait "$load" || status=$?
note "fio ended after $((SECONDS - began)) s"
((status != 0)) || fail "fio wrote without a daemon"
expect_match "fio's error" "Input/output error" "$(</dev/shm/fio.out)"

note "the LUN goes"
began=$SECONDS
lun_delete z0
note "after $((SECONDS - began)) s"
((SECONDS - began < 60)) || fail "the deletion took $((SECONDS - began)) s"
wait_until 30 none_hangs

note "a new daemon, and a new LUN of the name"
start_daemon
wait_until 20 states_are 0
lun_create z0 256M zone_size=16M/conv=4
blocks_io "$DISK"
kill -0 "$RUNNER" || fail "the daemon is gone"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Load the module, attach it to two LUNs of a host, delete them and unload it, many times, with
# writes in flight: some in order, some that need retries, some that wait for one that never comes.
# CYCLES says how often.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/kernel/module-lib.sh
source tests/kernel/module-lib.sh

CYCLES=${CYCLES:-100}

# wait_all PID...: whatever became of their writes, they end.
wait_all() {
	local pid
	for pid; do
		wait "$pid" || true
	done
}

# has_rounds ADDRESS NUMBER: so many rounds are behind the LUN.
has_rounds() {
	(($(counter "$1" rounds) >= $2))
}

# cycle NUMBER: zones 2 * NUMBER and the next are new.
cycle() {
	local zone=$((2 * $1))
	local -a writers=()

	load
	set_queue "$a"
	set_queue "$b"
	writes "$a" "$zone" --count 400 --threads 2 >/dev/null 2>&1 &
	writers+=($!)
	attach "$a"
	attach "$b"
	expect_status 0 writes "$b" "$zone" --count 12 --order "shuffle:$1" --verify
	writes "$b" $((zone + 1)) --count 12 --holes 0 >/dev/null 2>&1 &
	writers+=($!)
	# Every other time, the writes behind the hole have rounds behind them.
	(($1 % 2)) || wait_until 20 has_rounds "$b" 4
	# One goes as its user wants it, the other as its target does.
	echo 1 >"/sys/bus/scsi/devices/$b/delete"
	lun_unlink a "$a" a
	wait_all "${writers[@]}"
	unload
	lun_unlink b "$b" a
	lun_link user_0/a "$a" a
	lun_link user_0/b "$b" a
}

start_daemon
lun_create a 1G "$ZONED_CONFIG"
a=$ADDRESS
backstore b 1G
lun_share user_0/b a
b=$ADDRESS

note "$CYCLES times"
for ((number = 1; number <= CYCLES; number++)); do
	cycle "$number"
done
[[ ! -e /sys/module/$HANDLER_NAME ]] || fail "the module is still there"

note "the target goes while its LUN has the handler and is written"
lun_create c 64M "$ZONED_CONFIG"
load
set_queue "$ADDRESS"
attach "$ADDRESS"
writes "$ADDRESS" 1 --count 12 --holes 0 >/dev/null 2>&1 &
writer=$!
lun_delete c
wait_all "$writer"
unload
expect_clean_log

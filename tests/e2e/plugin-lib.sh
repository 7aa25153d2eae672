# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
#
# What the tests of the plugin share: I/O that goes on while something happens to the daemon, and a
# look at the states of the LUNs. To be sourced first.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh

STATES=/dev/shm/memzbc

# states: print how many LUNs have a state.
states() {
	find "$STATES" -mindepth 1 -maxdepth 1 | wc -l
}

# states_are COUNT
states_are() {
	(($(states) == $1))
}

# fio_on DISK NAME OPTION...: direct I/O whose every block carries a checksum and tells of which run
# it is; writes are read back and checked at the end. Fails when fio reports an error.
fio_on() {
	local disk=$1 name=$2
	shift 2
	fio --name="$name" --filename="$disk" --direct=1 --ioengine=libaio --randrepeat=0 \
		--verify=crc32c --verify_fatal=1 --group_reporting \
		--output="/dev/shm/$name.out" "$@"
}

# zones_io DISK: sequential writes to four zones at once, from 64 MiB on; zones that are full are
# reset first.
zones_io() {
	fio_on "$1" zones --zonemode=zbd --rw=write --bs=64k --iodepth=8 --offset=64M \
		--size=16M --numjobs=4 --offset_increment=16M
}

# blocks_io DISK: random writes at depth 32 to the conventional zones in the first 32 MiB.
blocks_io() {
	fio_on "$1" blocks --rw=randwrite --bs=4k --iodepth=32 --size=16M
}

# in_background COMMAND...: run it beside the test, again and again until finish is called.
in_background() {
	rm -f "$STOP"
	repeat "$@" &
	JOBS[$!]="$*"
}

STOP=/dev/shm/stop
declare -A JOBS=()

repeat() {
	local passes=0
	until [[ -e $STOP ]]; do
		"$@" || return
		passes=$((passes + 1))
	done
	note "$passes passes of $*"
}

# still_running: all that in_background started goes on without error.
still_running() {
	local pid
	for pid in "${!JOBS[@]}"; do
		kill -0 "$pid" 2>/dev/null || fail "${JOBS[$pid]}: $(cat /dev/shm/*.out)"
	done
}

# finish: let the passes that in_background started end; all have succeeded.
finish() {
	local pid
	touch "$STOP"
	for pid in "${!JOBS[@]}"; do
		wait "$pid" || fail "${JOBS[$pid]}: $(cat /dev/shm/*.out)"
	done
	JOBS=()
}

# kill_daemon_again_and_again TIMES: SIGKILL, and a restart, at random moments.
kill_daemon_again_and_again() {
	local i
	for ((i = 1; i <= $1; i++)); do
		sleep "$((RANDOM % 2)).$((RANDOM % 10))"
		still_running
		note "kill $i"
		kill_daemon KILL
		start_daemon
	done
}

# kernel_is_well: the kernel has seen nothing it complains about, no I/O error either.
kernel_is_well() {
	if dmesg | grep -E 'BUG:|WARNING:|Oops|hung_task|blocked for more than|I/O error'; then
		fail "the kernel complains"
	fi
}

# stop_daemon: a clean stop, as systemd does it; the daemon exits with 0.
stop_daemon() {
	local status=0
	kill -s TERM "$RUNNER"
	wait_until 60 not_running "$RUNNER"
	wait "$RUNNER" || status=$?
	expect_eq "exit status of tcmu-runner" 0 "$status"
}

# not_running PID
not_running() {
	! kill -0 "$1" 2>/dev/null
}

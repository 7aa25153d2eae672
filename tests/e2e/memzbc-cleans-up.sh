#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# memzbc that is stopped in the middle leaves nothing; what a killed one left can be deleted, and so
# can a LUN whose daemon is dead; a LUN's memory is given back.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/memzbc-lib.sh
source tests/e2e/memzbc-lib.sh

# has_states NUMBER: the data of so many LUNs are in memory.
has_states() {
	(($(find /dev/shm -mindepth 2 -maxdepth 2 | wc -l) == $1))
}

start_daemon
for fabric in "" --iscsi; do
	memzbc create first --size 1G ${fabric:+"$fabric"} >/dev/null
	memzbc delete first >/dev/null
done
before=$(listing)
loopback=$TARGET/loopback/naa.5001405$(printf z0 | sha256sum | cut -c1-9)

note "stopped after each step, by an error, Ctrl-C and SIGKILL"
/usr/bin/python3 tests/e2e/memzbc-undo.py
expect_eq "target configuration" "$before" "$(listing)"

note "a real SIGTERM: undone or wholly made"
memzbc create z0 --size 1G >/dev/null 2>&1 &
wait_until 60 test -e "$TARGET/core/user_0/z0"
kill -s TERM $! || true
status=0
wait $! || status=$?
case $status in
130) expect_eq "target configuration" "$before" "$(listing)" ;;
0) expect_status 0 memzbc delete z0 ;;
*) fail "exit status $status" ;;
esac

note "a target without a LUN is in the way, says so, and can be deleted"
mkdir -p "$loopback/tpgt_1"
expect_status 1 memzbc create z0 --size 1G
expect_match "reason" "loopback target ${loopback##*/} exists already" "$OUTPUT"
expect_status 0 memzbc delete z0
expect_eq "target configuration" "$before" "$(listing)"

note "a backstore without a config"
mkdir -p "$TARGET/core/user_3/z0"
expect_status 0 memzbc delete z0
expect_eq "target configuration" "$before" "$(listing)"

note "the daemon is dead: it is started, and the LUN's memory given back"
expect_status 0 memzbc create z0 --size 1G
has_states 1 || fail "no memory is taken"
kill_daemon KILL
expect_status 0 memzbc delete z0
expect_match "note" "tcmu-runner is not running: starting it" "$OUTPUT"
expect_eq "target configuration" "$before" "$(listing)"
wait_until 20 has_states 0

note "the daemon is dead and cannot be started: the LUN goes all the same"
expect_status 0 memzbc create z0 --size 1G
end_program KILL tcmu-runner
mount --bind /bin/false /usr/bin/tcmu-runner
expect_status 0 memzbc delete z0
expect_match "note" "Deleting without tcmu-runner" "$OUTPUT"
expect_eq "target configuration" "$before" "$(listing)"
umount /usr/bin/tcmu-runner
expect_status 0 memzbc create z0 --size 1G
wait_until 20 has_states 1

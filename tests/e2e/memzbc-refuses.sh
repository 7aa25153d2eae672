#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# What memzbc create refuses, it refuses with a reason and before anything is made.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/memzbc-lib.sh
source tests/e2e/memzbc-lib.sh

# refused STATUS REASON ARG...: "memzbc create ARG..." ends so, and leaves the configuration alone.
refused() {
	local status=$1 reason=$2 before
	shift 2
	before=$(listing)
	expect_status "$status" memzbc create "$@"
	expect_match "reason of 'create $*'" "$reason" "$OUTPUT"
	expect_eq "target configuration after 'create $*'" "$before" "$(listing)"
}

start_daemon
# Bring up what a first LUN brings up for good.
memzbc create first --size 1G --iscsi >/dev/null
memzbc delete first >/dev/null

refused 2 "name 'a/b': expected 1 to 64 letters" a/b --size 1G
refused 2 "size '1X': expected a number of bytes, or a number and one of K, M, G, T" z0 --size 1X
refused 1 "size of 4097 bytes: no multiple of the physical block, pblk=4096" z0 --size 4097
refused 1 "unknown key 'colour'; accepted: model, zone_size" z0 --size 1G colour=red
refused 1 "conv=-1: no whole number; accepted: 0 to 4194304 zones" z0 --size 1G conv=-1
refused 1 "zone_size=1000: no multiple of the physical block" z0 --size 1G zone_size=1000
refused 1 "conv=4 .*no sequential zone" z0 --size 1G conv=4
refused 1 "conv: given twice" z0 --size 1G conv=1 conv=2
refused 1 "mem: value '1,2' has a ','" z0 --size 1G mem=1,2
refused 1 "at most 255" z0 --size 1G "mem=$(printf '%0250d' 1)"
refused 1 "portal 192.0.2.1:3260: Cannot assign requested address" \
	z0 --size 1G --iscsi --portal 192.0.2.1

note "a name that a backstore of another handler has"
mkdir -p "$TARGET/core/user_7/z0"
echo "dev_config=zbc/model-HM/zsize-64@/tmp/other,dev_size=268435456" \
	>"$TARGET/core/user_7/z0/control"
refused 1 "name 'z0': taken by a backstore of handler 'zbc'" z0 --size 1G
expect_status 1 memzbc delete z0
expect_match "reason not to delete" "taken by a backstore of handler 'zbc'" "$OUTPUT"
rmdir "$TARGET/core/user_7/z0" "$TARGET/core/user_7"

note "a portal that is taken by another program"
/usr/bin/python3 -c 'import signal, socket
taken = socket.create_server(("127.0.0.1", 3261))
signal.pause()' &
wait_until 20 bash -c 'ss -ltn | grep -q 127.0.0.1:3261'
refused 1 "portal 127.0.0.1:3261: Address already in use" \
	z0 --size 1G --iscsi --portal 127.0.0.1:3261

note "what the daemon refuses late is undone, and its reason shown"
# A fake memory file system as small as this cannot hold the LUN's zone table.
before=$(listing)
mount -o remount,size=64K /dev/shm
expect_status 1 memzbc create z0 --size 20T
expect_match "reason" "LUN 'z0' cannot be made: .*tcmu-runner.log" "${OUTPUT//$'\n'/ }"
expect_eq "target configuration" "$before" "$(listing)"
mount -o remount,size=60% /dev/shm
memzbc create z0 --size 20T >/dev/null

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# The memory of a LUN is given back soon after it is deleted, or, when it was deleted while the
# daemon was down, at the next start; that of a LUN that exists is kept.

# shellcheck source=tests/e2e/plugin-lib.sh
source tests/e2e/plugin-lib.sh

# used: print the MiB in use in the tmpfs of the states.
used() {
	df --output=used --block-size=1M "$STATES" | tail -n 1
}

# used_below MIB
used_below() {
	(($(used) < $1))
}

start_daemon
lun_create kept 256M zone_size=16M/conv=4
kept=$DISK
head -c 1M /dev/urandom >/dev/shm/data
dd if=/dev/shm/data of="$kept" bs=64k oflag=direct status=none
before=$(used)

note "a deleted LUN gives back its memory"
lun_create big 256M zone_size=16M/conv=12
dd if=/dev/zero of="$DISK" bs=1M count=192 oflag=direct status=none
used_below $((before + 192)) && fail "192 MiB written, and only $(used) MiB in use"
lun_delete big
wait_until 20 used_below $((before + 16))
expect_match "the log" "freed $STATES/uio[0-9]+-[0-9]+" "$(<"$RUNNER_LOG")"

note "a LUN of the same name starts empty"
lun_create big 256M zone_size=16M/conv=12
expect_eq "first bytes" "" "$(dd if="$DISK" bs=64k count=1 iflag=direct status=none | tr -d '\0')"
lun_delete big
wait_until 20 states_are 1

# Not exported: the kernel would wait for an answer to SYNCHRONIZE CACHE.
note "what is deleted while the daemon is down is freed when it comes back, and no stranger"
backstore_create down "dev_config=$HANDLER/zone_size=16M,dev_size=$((256 << 20))"
states_are 2 || fail "$(states) states of two LUNs"
mkdir "$STATES/mine"
kill_daemon KILL
rmdir "$TARGET/core/user_0/down"
states_are 3 || fail "$(states) directories: who freed one without a daemon?"
start_daemon
wait_until 20 states_are 2
[[ -d $STATES/mine ]] || fail "$STATES/mine was removed"
cmp /dev/shm/data <(dd if="$kept" bs=64k count=16 iflag=direct status=none)
kernel_is_well

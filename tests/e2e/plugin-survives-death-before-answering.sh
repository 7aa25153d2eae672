#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# The daemon dies ten times with commands executed whose answers the kernel has not seen, while fio
# writes four sequential zones at once: LIO has all of them sent again, and no write is refused.

# shellcheck source=tests/e2e/plugin-lib.sh
source tests/e2e/plugin-lib.sh

cc -shared -fPIC -D_GNU_SOURCE -o /dev/shm/dies.so tests/e2e/plugin-dies.c

# dying_daemon IN AT: run a daemon until it dies there, see plugin-dies.c.
dying_daemon() {
	local pid
	LD_PRELOAD=/dev/shm/dies.so DIES_IN=$1 DIES_AT=$2 \
		tcmu-runner --handler-path "$HANDLERS" &>/dev/null &
	pid=$!
	wait_until 120 not_running "$pid"
	wait "$pid" 2>/dev/null || true
	still_running
}

start_daemon
lun_create z0 256M zone_size=16M/conv=4
in_background zones_io "$DISK"
kill_daemon KILL
for i in 1 2 3 4 5; do
	for place in complete announce; do
		at=$((10 + RANDOM % 50))
		note "$i: dies at moment $at in $place"
		dying_daemon "$place" "$at"
	done
done
start_daemon
finish
kernel_is_well

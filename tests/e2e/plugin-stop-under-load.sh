#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# The daemon is stopped with SIGTERM and started again while fio keeps a LUN busy: it exits with
# status 0, and fio notices the pause only.

# shellcheck source=tests/e2e/plugin-lib.sh
source tests/e2e/plugin-lib.sh

start_daemon
lun_create z0 256M zone_size=16M/conv=4
in_background zones_io "$DISK"
in_background blocks_io "$DISK"

for i in 1 2 3; do
	sleep "1.$((RANDOM % 10))"
	still_running
	note "stop $i"
	stop_daemon
	states_are 1 || fail "$(states) states while the daemon is down"
	start_daemon
done

finish
kernel_is_well
stop_daemon

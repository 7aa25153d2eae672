#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# SIGKILL of tcmu-runner ten times while fio writes four sequential zones at once and reads them
# back: no error, and nothing acknowledged is lost.

# shellcheck source=tests/e2e/plugin-lib.sh
source tests/e2e/plugin-lib.sh

start_daemon
lun_create z0 256M zone_size=16M/conv=4
expect_match "scheduler of $DISK" '\[mq-deadline\]' \
	"$(<"/sys/block/${DISK#/dev/}/queue/scheduler")"

in_background zones_io "$DISK"
kill_daemon_again_and_again 10
finish
kernel_is_well

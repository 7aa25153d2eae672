#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# The machine has what LIO needs, and its own tcmu-runner finds the plugin of this tree.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh

for place in /sys/kernel/config /sys/kernel/debug /sys/kernel/tracing /dev/shm /dev/pts /run; do
	mountpoint -q "$place" || fail "nothing is mounted on $place"
done
expect_match "state of lo" "UP" "$(ip -brief link show lo; ip -o link show lo)"

total=$(awk '/^MemTotal/ { print $2 }' /proc/meminfo)
share=$(($(df --output=size /dev/shm | tail -n 1) * 100 / total))
((share >= 50 && share <= 65)) || fail "/dev/shm has $share% of memory"

expect_eq "where memzbc is" "$PWD/scripts/memzbc" "$(readlink -f "$(command -v memzbc)")"

# Here the daemon runs as it does by itself, with every handler that is installed.
modprobe -a target_core_user tcm_loop
: >"$RUNNER_LOG"
tcmu-runner >/dev/null 2>&1 &
wait_until 30 daemon_owns_name
expect_match "tcmu-runner's log" "Handler memzbc is registered" "$(<"$RUNNER_LOG")"

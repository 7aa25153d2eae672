#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# A thousand changes of settings, through the control socket and through dev_config, while zones and
# blocks are written and verified; then clients that misuse the socket. No I/O fails, and the daemon
# does not grow.

# shellcheck source=tests/e2e/plugin-lib.sh
source tests/e2e/plugin-lib.sh

CHANGES=900
CONFIGS=100
MISUSE_SECONDS=20

# client MODE NAME NUMBER
client() {
	/usr/bin/python3 tests/e2e/control-client.py "$@"
}

# change_configs: write LIO's attribute, every time with something else.
change_configs() {
	local i faults
	for ((i = 1; i <= CONFIGS; i++)); do
		faults=hold=$i/delay=$((i % 3 * 100))us/cache=$((i % 2))M
		echo "memzbc/zone_size=4M/conv=8/$faults" \
			>"$TARGET/core/user_0/z0/attrib/dev_config"
	done
}

# files_of_daemon: print how many files it has open.
files_of_daemon() {
	find "/proc/$RUNNER/fd" -mindepth 1 | wc -l
}

start_daemon
lun_create z0 256M zone_size=4M/conv=8
in_background zones_io "$DISK"
in_background blocks_io "$DISK"
sleep 1

note "$CHANGES changes through the socket"
client change z0 "$CHANGES"
still_running
note "$CONFIGS changes through dev_config"
change_configs
still_running
expect_eq "hold" "$CONFIGS" "$(memzbc get z0 hold)"
memzbc set z0 delay=0 cache=0 stats=1 trace=65536 hold=0 reorder=0 rate=0 seek=0
files=$(files_of_daemon)
memory=$(memory_of_daemon)

note "clients that misuse the socket"
client misuse z0 "$MISUSE_SECONDS" &
misuser=$!
while kill -0 "$misuser" 2>/dev/null; do
	still_running
	sleep 1
done
wait "$misuser" || fail "the clients ended with an error"
expect_match "what get says" '^[0-9]+$' "$(memzbc get z0 hold)"
wait_until 90 test "$(files_of_daemon)" -le "$files"
(($(memory_of_daemon) < memory + 8192)) ||
	fail "the daemon grew from $memory to $(memory_of_daemon) KiB"

finish
kernel_is_well

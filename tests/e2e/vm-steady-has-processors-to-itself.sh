#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# --steady: each processor of the machine is on one of the host's, and stays there.

# shellcheck source=tests/e2e/vm-lib.sh
source tests/e2e/vm-lib.sh

# processors: of each processor of the machine the host's that it may run on, such as "0: 0".
processors() {
	local qemu task name
	qemu=$(pgrep -P "$machine" -f qemu-system)
	for task in "/proc/$qemu/task/"*; do
		name=$(<"$task/comm")
		[[ $name =~ ^CPU\ ([0-9]+)/ ]] || continue
		echo "${BASH_REMATCH[1]}: $(awk '/^Cpus_allowed_list/ { print $2 }' "$task/status")"
	done
}

mkdir "$WORK/share"
"$VM" --steady --timeout 150 --share "$WORK/share" -- bash -c "touch $WORK/share/up
	until [[ -e $WORK/share/end ]]; do sleep 0.1; done; exit 3" &
machine=$!
wait_for 100 test -e "$WORK/share/up"
mapfile -t hosts < <(/usr/bin/python3 -c 'import os
for processor in sorted(os.sched_getaffinity(0)): print(processor)')
expect_eq "where the machine's processors are" \
	"0: ${hosts[0]}"$'\n'"1: ${hosts[1 % ${#hosts[@]}]}" "$(processors | sort)"
touch "$WORK/share/end"
status=0
wait "$machine" || status=$?
expect_eq "exit status" 3 "$status"

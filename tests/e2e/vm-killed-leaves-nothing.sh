#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# Whoever ends scripts/vm ends its machine, and no file is left.

# shellcheck source=tests/e2e/vm-lib.sh
source tests/e2e/vm-lib.sh

# gone PROCESS: it does not run any more.
gone() {
	[[ ! -e /proc/$1 || $(cut -d' ' -f3 "/proc/$1/stat") == Z ]]
}

# end_by SIGNAL STATUS: a running machine is ended by a signal to scripts/vm.
end_by() {
	local vm qemu status=0
	: >"$WORK/out"
	TMPDIR=$WORK/tmp "$VM" --timeout 150 -- bash -c 'echo up; sleep 1000' >"$WORK/out" &
	vm=$!
	wait_for 120 grep -q up "$WORK/out"
	qemu=$(pgrep -P "$vm" -f qemu-system)
	kill -s "$1" "$vm"
	wait "$vm" 2>/dev/null || status=$?
	expect_eq "status after SIG$1" "$2" "$status"
	wait_for 10 gone "$qemu"
}

mkdir "$WORK/tmp"
end_by TERM 143
end_by KILL 137
expect_eq "files left" "" "$(ls -A "$WORK/tmp")"

# A reader that has enough ends it as it would end any command.
status=0
"$VM" --timeout 150 -- yes 2>"$WORK/err" | head -n 1 >"$WORK/out" || status=$?
expect_eq "status after the reader went away" 141 "$status"
expect_eq output y "$(<"$WORK/out")"

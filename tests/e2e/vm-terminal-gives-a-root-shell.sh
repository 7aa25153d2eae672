#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# Without a command but with a terminal, scripts/vm is a root shell with job control.

# shellcheck source=tests/e2e/vm-lib.sh
source tests/e2e/vm-lib.sh

# script(1) makes the terminal.
mkfifo "$WORK/keys"
script -qefc "stty rows 33 cols 101; '$VM' --timeout 150" /dev/null <"$WORK/keys" >"$WORK/screen" &
script=$!
exec 3>"$WORK/keys"

# type TEXT, then see REGEX on the screen.
type_and_see() {
	printf '%s' "$1" >&3
	wait_for 120 grep -qE "$2" "$WORK/screen"
}
type_and_see "" "memzbc-vm.*# "
# The answers differ from what was typed, which the terminal echoes.
type_and_see $'echo uid=$((EUID+7)) $(tty) $(stty size)\r' "uid=7 /dev/hvc0 33 101"
type_and_see $'sleep 1000\r' "sleep 1000"
sleep 1
type_and_see $'\003' '\^C'
type_and_see $'sleep 999 & jobs\r' "Running +sleep 999"
printf 'exit 5\r' >&3
status=0
wait "$script" || status=$?
expect_eq "the shell's exit status" 5 "$status"

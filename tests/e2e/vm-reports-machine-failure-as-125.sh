#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# A kernel panic, a machine that cannot start and a wrong option are told from a command's failure.

# shellcheck source=tests/e2e/vm-lib.sh
source tests/e2e/vm-lib.sh

run_vm --log "$WORK/console" -- bash -c 'echo began; echo c >/proc/sysrq-trigger; sleep 1000'
expect_eq "status after a kernel panic" 125 "$STATUS"
expect_eq "output before the panic" began "$(<"$WORK/out")"
for file in err console; do
	grep -q "Kernel panic" "$WORK/$file" || fail "no kernel panic in $file: $(<"$WORK/$file")"
done

head -c 100000 /dev/zero >"$WORK/no-kernel"
run_vm --kernel "$WORK/no-kernel" -- true
expect_eq "status with a kernel that is none" 125 "$STATUS"
[[ -s $WORK/err ]] || fail "nothing is said of a kernel that is none"

# refuse WORD OPTION...: these options are wrong, which the message says with WORD.
refuse() {
	run_vm "${@:2}"
	expect_eq "status of scripts/vm ${*:2}" 125 "$STATUS"
	grep -q -e "$1" "$WORK/err" || fail "scripts/vm ${*:2} does not name $1: $(<"$WORK/err")"
}
refuse --frob --frob 1 -- true
refuse --cpus --cpus many -- true
refuse --memory --memory 4X -- true
refuse "not a number of seconds" --timeout 0 -- true
refuse "no such directory" --share "$WORK/nowhere" -- true
refuse "cannot be written" --log "$WORK/nowhere/console" -- true
refuse "needs a value" --kernel
refuse "comes after --" true
refuse Usage

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# A command that does not end is ended, and the status says so; its output until then is there.

# shellcheck source=tests/e2e/vm-lib.sh
source tests/e2e/vm-lib.sh

begin=$SECONDS
run_vm --timeout 30 -- bash -c 'trap "" TERM INT; echo began; while :; do sleep 1000; done'
expect_eq status 124 "$STATUS"
expect_eq output began "$(<"$WORK/out")"
grep -q "time-out" "$WORK/err" || fail "standard error does not say time-out: $(<"$WORK/err")"
((SECONDS - begin < 60)) || fail "the time-out of 30 s took $((SECONDS - begin)) s"

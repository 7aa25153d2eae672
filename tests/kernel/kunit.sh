#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The patched kernel runs its KUnit suite of the error handler when it boots: all of it passes.
# The number is that of the suite's cases and table rows, so that none gets lost.

set -euo pipefail

SUITE=scsi_error
CASES=19

kernel=$(scripts/kernel-build --directory patched)
log=$(scripts/vm --timeout 200 --append kunit.enable=1 --kernel "$kernel/vmlinuz" \
	--modules "$kernel" -- dmesg)
result=$(sed -n "/# Subtest: $SUITE\$/,/ok [0-9]* $SUITE\$/p" <<<"$log")
printf '%s\n' "$result"
grep -q "# Totals: pass:$CASES fail:0 skip:0 total:$CASES" <<<"$result"
grep -Eq "\] ok [0-9]+ $SUITE\$" <<<"$result"

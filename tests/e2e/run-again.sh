#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# A second scripts/run on a machine that has the LUN says that it is there, and leaves it as it is.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh

start_daemon
expect_status 0 scripts/run --here
expect_match "first run" "Unaligned write command" "$OUTPUT"
expect_status 0 scripts/run --here
expect_match "second run" "LUN z0 is already there" "$OUTPUT"
[[ $OUTPUT != *Unaligned* && $OUTPUT != *"memzbc create z0"* ]] ||
	fail "the second run does not leave it alone: $OUTPUT"
expect_match "what is told next" "memzbc delete z0, then scripts/run" "$OUTPUT"

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# The command starts in the caller's directory, even in one that the machine's own /dev/shm hides.
# What it writes stays in the machine, but for a shared directory.

# shellcheck source=tests/e2e/vm-lib.sh
source tests/e2e/vm-lib.sh

odd="$WORK/with blank, comma: and 'quote'"
hidden=$(mktemp -d /dev/shm/memzbc-test.XXXXXX)
trap 'rm -rf "$hidden"; clean_up' EXIT
mkdir -p "$odd/share"
echo "from the host" | tee "$odd/file" >"$hidden/file"

cd "$odd"
run_vm --share share -- bash -c 'pwd; cat file; echo changed >file; echo given >share/new; sync'
expect_eq status 0 "$STATUS"
expect_eq output "$odd"$'\nfrom the host' "$(<"$WORK/out")"
expect_eq "the host's file" "from the host" "$(<file)"
expect_eq "the shared file" given "$(<share/new)"

cd "$hidden"
run_vm -- bash -c 'pwd; cat file; echo changed >file; cat file'
expect_eq "output from /dev/shm" "$hidden"$'\nfrom the host\nchanged' "$(<"$WORK/out")"
expect_eq "the host's file in /dev/shm" "from the host" "$(<file)"

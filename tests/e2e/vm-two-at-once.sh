#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# Two machines run side by side, meet through a shared directory, and do not see each other's files.

# shellcheck source=tests/e2e/vm-lib.sh
source tests/e2e/vm-lib.sh

mkdir "$WORK/share"
# meet MINE OTHER: write one's own file, wait for the other's, count what lies in the private place.
# shellcheck disable=SC2016
meet='touch "/var/private-$1" "$0/$1"
	until [[ -e $0/$2 ]]; do sleep 0.1; done
	echo "I am $1"; ls /var | grep -c private; exit "$3"'
"$VM" --timeout 150 --share "$WORK/share" -- bash -c "$meet" "$WORK/share" a b 3 >"$WORK/a" &
first=$!
"$VM" --timeout 150 --share "$WORK/share" -- bash -c "$meet" "$WORK/share" b a 4 >"$WORK/b" &
second=$!
status=0
wait "$first" || status=$?
expect_eq "status of the first" 3 "$status"
status=0
wait "$second" || status=$?
expect_eq "status of the second" 4 "$status"
expect_eq "output of the first" $'I am a\n1' "$(<"$WORK/a")"
expect_eq "output of the second" $'I am b\n1' "$(<"$WORK/b")"

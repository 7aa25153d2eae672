#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# Output of scripts/vm is the command's, byte for byte, while it runs; so is the exit status.

# shellcheck source=tests/e2e/vm-lib.sh
source tests/e2e/vm-lib.sh

# All byte values, more of them than any buffer on the way holds, from a command that leaves a
# process behind which keeps its output open.
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck disable=SC2016
run_vm --env GIVEN=yes -- bash -c '
	sleep 1000 &
	for byte in {0..255}; do printf "\\x$(printf %x "$byte")"; done >/dev/shm/bytes
	for i in {1..4000}; do echo /dev/shm/bytes; done | xargs cat
	printf "%s|" "$0" "$@" "$GIVEN" "$MEMZBC_VM" "$(id -u)" "$(cat | wc -c)" >/dev/stderr
	printf "%s" "$PATH" >&2
	exit 42' "a  b" "" 'c"d$e' "f'g"
expect_eq status 42 "$STATUS"
expect_eq "standard error" \
	"a  b||c\"d\$e|f'g|yes|1|0|0|$path" "$(<"$WORK/err")"
for byte in {0..255}; do
	# shellcheck disable=SC2059
	printf "\\x$(printf %x "$byte")"
done >"$WORK/bytes"
for _ in {1..4000}; do
	echo "$WORK/bytes"
done | xargs cat | cmp - "$WORK/out" || fail "standard output differs"

# The second line comes only once the first has been seen here.
mkdir "$WORK/share"
# shellcheck disable=SC2016
"$VM" --timeout 150 --share "$WORK/share" -- bash -c '
	echo first
	until [[ -e $0/seen ]]; do sleep 0.1; done
	echo second; kill -TERM $$' "$WORK/share" >"$WORK/live" &
vm=$!
wait_for 120 grep -q first "$WORK/live"
touch "$WORK/share/seen"
STATUS=0
wait "$vm" || STATUS=$?
expect_eq "status after SIGTERM of the command" 143 "$STATUS"
expect_eq "live output" $'first\nsecond' "$(<"$WORK/live")"

# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash disable=SC2034  # used by those that source this
#
# What the tests of scripts/vm itself share. They run on the host, in a directory of their own that
# goes away at the end.

set -euo pipefail

VM=$PWD/scripts/vm
WORK=$(mktemp -d)

# clean_up: end what still runs, after a failure, and take the files away.
clean_up() {
	mapfile -t running < <(jobs -p)
	((${#running[@]} == 0)) || kill "${running[@]}" 2>/dev/null || true
	rm -rf "$WORK"
}
trap clean_up EXIT

# fail TEXT...: the test has failed.
fail() {
	printf 'FAILED: %s\n' "$*" >&2
	exit 1
}

# expect_eq WHAT WANTED GOT
expect_eq() {
	[[ $2 == "$3" ]] || fail "$1: wanted '$2', got '$3'"
}

# run_vm OPTION-OR-COMMAND...: run scripts/vm; leaves STATUS, and the outputs in $WORK/out and err.
run_vm() {
	STATUS=0
	"$VM" --timeout 150 "$@" >"$WORK/out" 2>"$WORK/err" </dev/null || STATUS=$?
}

# wait_for SECONDS COMMAND...: poll until COMMAND succeeds.
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" &>/dev/null; do
		((SECONDS <= end)) || fail "still not so after waiting: $*"
		sleep 0.1
	done
}

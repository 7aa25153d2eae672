#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# expect.sh STATUS REASON [--build VARIANT] EH-TEST-ARG...: scripts/eh-test ends with STATUS, and
# REASON is the first that it gives, "none" if it is to give none. With --build, the kernel is the
# one that scripts/kernel-build makes.
set -euo pipefail

status=$1 reason=$2
shift 2
kernel=()
if [[ ${1:-} == --build ]]; then
	directory=$(scripts/kernel-build --directory "$2")
	kernel=(--kernel "$directory/vmlinuz" --modules "$directory")
	shift 2
fi
got=0
output=$(scripts/eh-test "${kernel[@]}" "$@" 2>&1) || got=$?
printf '%s\n' "$output"
if ((got != status)); then
	printf 'FAILED: exit status: wanted %d, got %d\n' "$status" "$got"
	exit 1
fi
verdict=$(grep '^verdict: ' <<<"$output")
reasons=${verdict#verdict: }
[[ $reasons == *:* ]] || reasons=": none"
if [[ $reasons != *": $reason"* ]]; then
	printf "FAILED: the first reason should be '%s'\n" "$reason"
	exit 1
fi

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# completion.sh REPO: what bash offers while a command line of memzbc is typed.
set -euo pipefail

# shellcheck source=scripts/memzbc.bash-completion
source "$1/scripts/memzbc.bash-completion"
memzbc=$1/scripts/memzbc
_memzbc_sockets=$(mktemp -d)
trap 'rm -rf "$_memzbc_sockets"' EXIT

# offered WORD...: what is offered after these words, the last of which is being typed.
offered() {
	COMP_WORDS=("$memzbc" "$@")
	COMP_CWORD=$#
	_memzbc
	printf '%s\n' "${COMPREPLY[@]}" | sort | xargs
}

# expect WANTED WORD...: all that is offered.
expect() {
	local got
	got=$(offered "${@:2}")
	[[ $got == "$1" ]] || { echo "after '${*:2}': wanted '$1', got '$got'" && exit 1; }
}

# expect_some WANTED WORD...: one of what is offered.
expect_some() {
	local got
	got=$(offered "${@:2}")
	[[ " $got " == *" $1 "* ]] || { echo "after '${*:2}': no '$1' in '$got'" && exit 1; }
}

for name in z0 z1 'a%20b'; do
	/usr/bin/python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' \
		"$_memzbc_sockets/$name.sock"
done
touch "$_memzbc_sockets/file.sock"

# Every command that there is.
commands=$("$memzbc" --help | sed -n 's/^    \([a-z-]*\) .*/\1/p; s/^    \([a-z-]*\)$/\1/p')
[[ $(wc -w <<<"$commands") -ge 8 ]]
for command in $commands; do
	expect_some "$command" "${command:0:2}"
done
expect "zone zones" zon

expect "a b z0 z1" set ""
expect "z0 z1" delete z
expect "z1" zone z1
expect "reorder= reorder_conv= reorder_depth= reorder_time=" set z0 reorder
expect "reorder_conv=" set z0 hold=1 seed=2 reorder_c
# As bash cuts the words.
expect "reorder_conv=" set z0 hold = 1 reorder_c
expect "" set z0 hold = 1
expect "" set z0 hold=1
# What is set at creation cannot be set.
expect "" set z0 zone_s
expect "zone_size=" create z0 --size 4G zone_s
expect "zone_size" help zone_s
expect "hold hold_attempts hold_time" get z0 hold
expect "" get z0 zone_s
expect "" zone z0 ""
expect "closed empty full notwp offline readonly wp=" zone z0 4-6 ""
expect "offline" zone z0 4 of
expect "wp=" zone z0 4 closed ""
expect "--iscsi" create z0 --i
expect "" create z0 --size ""
expect_some "--json" zones z0 --j
expect_some "$1/scripts/memzbc" trace z0 --plot "$1/scripts/memzb"

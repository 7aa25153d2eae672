#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# plugin-symbols.sh PLUGIN: what the plugin leaves undefined is exported by the C library, by
# tcmu-runner or by libtcmu; anything else would only show when the daemon loads it. And it exports
# handler_init alone.
set -euo pipefail

runner=$(command -v tcmu-runner /usr/bin/tcmu-runner /usr/sbin/tcmu-runner | head -n1)
libtcmu=$(ldconfig -p | awk '/libtcmu\.so/ { print $NF; exit }')

symbols() { # symbols NM-OPTION FILE...: names without versions
	nm -D "$@" | awk '{ print $NF }' | cut -d@ -f1 | sort -u
}

missing=$(comm -23 <(nm -D --undefined-only "$1" | awk '$1 == "U" && $2 !~ /@/ { print $2 }' |
	sort -u) <(symbols --defined-only "$runner" "$libtcmu"))
[[ -z $missing ]] || { echo "nobody defines: $missing"; exit 1; }

exported=$(symbols --defined-only "$1")
[[ $exported == handler_init ]] || { echo "exported: $exported"; exit 1; }

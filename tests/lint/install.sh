#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# install.sh CMAKE BUILD HANDLER_DIR: "cmake --install" puts each file where it is looked for, and
# the installed memzbc runs from there.
set -euo pipefail

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
DESTDIR=$root "$1" --install "$2" >/dev/null
[[ -f $root$3/handler_memzbc.so ]] || { echo "no handler_memzbc.so in $3"; exit 1; }
[[ -f $root/usr/share/bash-completion/completions/memzbc ]] || { echo "no completion"; exit 1; }
libexec=$(dirname "$(find "$root" -name memzbc-config -type f)")
memzbc=$(find "$root" -path '*/sbin/memzbc')
MEMZBC_LIBEXEC=$libexec "$memzbc" help zone_size | grep zone_size

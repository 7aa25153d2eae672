#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# package.sh BUILD HANDLER_DIR: cpack makes a Debian package with the plugin and the command.
set -euo pipefail

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cpack --config "$1/CPackConfig.cmake" -G DEB -B "$out" >/dev/null
contents=$(dpkg-deb --contents "$out"/memzbc*.deb)
grep -q "$2/handler_memzbc.so" <<<"$contents"
grep -q '/sbin/memzbc$' <<<"$contents"
dpkg-deb --field "$out"/memzbc*.deb Depends | grep -q tcmu-runner

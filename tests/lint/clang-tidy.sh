#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# clang-tidy.sh BUILD: no finding of .clang-tidy's checks in the handler's sources. A file takes
# seconds, so there are as many processes as processors.
set -euo pipefail

git ls-files 'handler/*.c' |
	xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p "$1" \
		2> >(sed '/warnings\? generated\.$/d' >&2)

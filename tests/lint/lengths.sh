#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# Source files stay below 700 lines, and their lines below 101 columns with tabs of eight.
set -euo pipefail

status=0
while read -r file; do
	if (($(wc -l <"$file") > 700)); then
		echo "$file: more than 700 lines"
		status=1
	fi
	long=$(expand -t8 "$file" | awk 'length > 100 { print FNR; exit }')
	if [[ -n $long ]]; then
		echo "$file:$long: more than 100 columns"
		status=1
	fi
done < <(git ls-files '*.c' '*.h' '*.sh' '*.py' 'scripts/*')
exit $status

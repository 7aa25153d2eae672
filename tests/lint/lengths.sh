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
	# awk reads to the end: expand must not die of a closed pipe.
	expand -t8 "$file" | awk -v file="$file" '
		length > 100 { print file ":" FNR ": more than 100 columns"; found = 1 }
		END { exit found }' || status=1
done < <(git ls-files '*.c' '*.h' '*.sh' '*.py' 'scripts/*')
exit $status

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# instructions.sh COMMANDS: with everything off, a command costs at most 2% more instructions than
# without the stages, statistics and trace. Also shows what statistics and trace cost.
set -euo pipefail

commands=$1
few=1000
many=6000
allowed=2 # percent

# How many instructions the program executes for $3 commands.
total() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$commands" "$1" "$2" "$3" 2>&1 |
		sed -n 's/^.*Collected *: *//p'
}

# Instructions of one command, in hundredths: what comes before and after cancels out.
each() {
	local base
	base=$(total "$1" "$2" $few)
	echo $((($(total "$1" "$2" $many) - base) * 100 / (many - few)))
}

status=0
for operation in read write; do
	alone=$(each model $operation)
	printf '%s of 4 KiB: %d instructions without stages\n' $operation $((alone / 100))
	for way in off stats trace both; do
		count=$(each $way $operation)
		printf '  %-6s %5d, %+d.%02d%%\n' $way $((count / 100)) \
			$(((count - alone) * 100 / alone)) \
			$(((count - alone) * 10000 / alone % 100))
		if [[ $way == off ]] && ((count * 100 > alone * (100 + allowed))); then
			echo "  more than $allowed% for nothing"
			status=1
		fi
	done
done
exit $status

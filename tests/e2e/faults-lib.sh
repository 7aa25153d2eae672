# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
#
# What the tests of faults share. To be sourced after lib.sh.

# faults NAME KEY=VALUE...: change the LUN's faults, as a user does.
faults() {
	memzbc set "$@" >/dev/null
}

# scheduler DISK NAME
scheduler() {
	echo "$2" >"/sys/block/${1#/dev/}/queue/scheduler"
}

# stat_of NAME EXPRESSION: print what a Python expression makes of the statistics s.
stat_of() {
	memzbc stats "$1" --json | /usr/bin/python3 -c '
import json, sys
s = json.load(sys.stdin)
print(eval(sys.argv[1]))' "$2"
}

# write_blocks SG LBA BLOCKS: WRITE(16) of zeros; the status is sg_raw's.
write_blocks() {
	cdb16 8a "$2" "$3"
	sg_raw -s $(($3 * 4096)) -i /dev/zero "$1" "${CDB[@]}"
}

# What stat_of is asked for, as expressions.
# shellcheck disable=SC2034
UNALIGNED='s["writes"]["unaligned"]' HELD='s["held"]["count"]' \
	ARRIVED='s["held"]["ended"].get("pointer", 0)' INJECTED='sum(s["injected"].values())'

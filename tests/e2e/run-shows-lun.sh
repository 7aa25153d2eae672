#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# scripts/run --vm shows a LUN: its disk, its zones, a write that works, one that is refused and
# why; and refuses options that it does not have. Runs on the host.
set -euo pipefail

# shows REGEX: it is in the output.
shows() {
	[[ $output =~ $1 ]] || { printf '%s\nFAILED: nothing like "%s"\n' "$output" "$1"; exit 1; }
}

# refused OPTION...: scripts/run ends with status 2, and names what is wrong.
refused() {
	local status=0
	output=$(scripts/run "$@" 2>&1) || status=$?
	((status == 2)) || { echo "FAILED: exit status of scripts/run $*: $status"; exit 1; }
}

refused --fast
shows "unknown option '--fast'"
refused --vm --here
shows "exclude each other"
refused --vm --shell </dev/null
shows "--shell needs a terminal"

output=$(scripts/run --vm </dev/null 2>&1) || { echo "$output"; exit 1; }
shows "zone_size=96M is no power of two"
shows "zbc +MEMZBC +zoned disk .*/dev/sda +/dev/sg0"
# Zone 3, conventional; zone 4, sequential and empty, with zones of 30000h blocks.
shows $'Zone type: Conventional\n *Zone condition: Not write pointer\n'
shows $'Zone Length: 0x30000\n *Zone start LBA: 0x90000\n *Write pointer LBA: -1\n'
shows $'Zone type: Sequential write required\n *Zone condition: Empty\n'
shows $'Zone start LBA: 0xc0000\n *Write pointer LBA: 0xc0000\n'
shows "SCSI Status: Good"
shows $'Zone start LBA: 0xc0000\n *Write pointer LBA: 0xc0008\n'
shows $'Check Condition.*Illegal Request\n.*Unaligned write command\n *Info fld=0xc0008 '
shows "scripts/run --vm --shell"

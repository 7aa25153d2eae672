#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# A LUN that stock Linux refuses as /dev/sdX: memzbc says so once when it makes it, with the way
# out; the kernel does refuse, the generic node works, and the way out is one.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/memzbc-lib.sh
source tests/e2e/memzbc-lib.sh

# expect_warnings NUMBER: so many warnings are in OUTPUT.
expect_warnings() {
	expect_eq "warnings" "$1" "$(grep -c '^memzbc: warning: ' <<<"$OUTPUT")"
}

note "zones of 96 MiB"
start_daemon
make_lun odd --size 1G zone_size=96M conv=2
expect_warnings 1
expect_match "way out" "/dev/sgN, .*zone_size=128M zone_cap=96M" "$OUTPUT"
expect_eq "capacity of $DISK" 0 "$(sectors "$DISK")"
expect_match "kernel log" "${DISK#/dev/}.* not a power of two" "$(dmesg)"
cdb16 8a $((2 * 96 << 11)) 8
sg_raw --send=4096 --infile=/dev/zero "$SG" "${CDB[@]}" || fail "$SG does not work"
expect_status 0 memzbc zones odd
expect_match "zones" \
	$'\n2 +sequential write required +implicitly opened +0x60000 +0x30000 +0x60008\n' "$OUTPUT"

note "the way out"
make_lun even --size 1G zone_size=128M zone_cap=96M conv=2
expect_warnings 0
expect_eq "capacity of $DISK" $((1 << 30 >> 9)) "$(sectors "$DISK")"

note "reads of unwritten blocks refused; as JSON, the warning is in the result"
OUTPUT=$(memzbc create strict --size 1G urswrz=0 --json 2>/dev/null)
expect_eq "warnings" 1 "$(json 'len(d["warnings"])')"
expect_match "warning" "urswrz=0: stock Linux .*/dev/sgN" "$(json 'd["warnings"][0]')"
DISK=$(json 'd["exports"][0]["disks"][0]["block"]')
expect_eq "capacity of $DISK" 0 "$(sectors "$DISK")"

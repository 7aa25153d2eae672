#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# A LUN made by hand with targetcli; what targetcli refuses, and why; and memzbc beside it.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/memzbc-lib.sh
source tests/e2e/memzbc-lib.sh

WWN=naa.50014050000000a1

# refused CFGSTRING REASON: targetcli does not make a LUN of it, and shows the plugin's reason.
refused() {
	expect_status 1 targetcli /backstores/user:memzbc create name=bad size=4G "cfgstring=$1"
	expect_match "targetcli on '$1'" "$2" "$OUTPUT"
	expect_eq "backstores" z0 "$(backstores)"
}

start_daemon

note "made by hand"
targetcli /backstores/user:memzbc create name=z0 size=4G cfgstring=zone_size=96M/conv=4
targetcli /loopback create $WWN
targetcli /loopback/$WWN/luns create /backstores/user:memzbc/z0
SG=/dev/sg0
wait_until 20 test -c "$SG"
expect_eq "write pointer of zone 4" 0xc0000 "$(sg_rep_zones --wp --start=0xc0000 --num=1 $SG)"
expect_match "zones before and at the first sequential one" \
	"Zone type: Conventional.*0x90000.*Zone type: Sequential write required.*0xc0000" \
	"$(sg_rep_zones --start=0x90000 --num=2 $SG | tr '\n' ' ')"
expect_match "help" "zone_size: .*default: 256M" \
	"$(targetcli /backstores/user:memzbc help create | tr '\n' ' ')"

note "refused with the plugin's reason"
refused zone_sise=96M "cfgstring invalid: unknown key 'zone_sise'; accepted: model, zone_size"
refused zone_size=12X "zone_size=12X: no number of bytes"
refused zone_size=96M/conv=x "conv=x: no whole number; accepted: 0 to 4194304 zones"
refused lba=1024 "lba=1024: out of range; accepted: 512, 4096 bytes"
refused "zone_size=64M/zone_cap=96M" "zone_cap=100663296: more than zone_size=67108864"

note "what only shows with the size is refused when the LUN opens"
expect_status 1 targetcli /backstores/user:memzbc create name=bad size=1G cfgstring=conv=9
expect_match "targetcli" "creation failed" "$OUTPUT"
expect_match "log" "conv=9 and conv_end=0: no sequential zone" "$(<"$RUNNER_LOG")"
expect_eq "backstores" z0 "$(backstores)"

note "memzbc shows it, and deletes it but for the target that it did not make"
expect_status 0 memzbc list
expect_match "list" "z0 +4G +43 x 96M +hm +loopback:$WWN +/dev/sda /dev/sg0 +no " "$OUTPUT"
expect_status 0 memzbc zones z0
expect_match "zones" $'\n42 +sequential write required +empty +0x7e0000 +0x20000 +0x7e0000' \
	"$OUTPUT"
expect_status 0 memzbc delete z0
expect_match "note" "left in place: loopback target $WWN" "$OUTPUT"
expect_eq "backstores" "" "$(backstores)"
[[ -d $TARGET/loopback/$WWN && ! -e $SG ]] || fail "the target is gone or the disk is not"

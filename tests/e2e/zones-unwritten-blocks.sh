#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# Reads of blocks that were not written: zeros with URSWRZ=1, refused with URSWRZ=0. A read that
# goes on into a written zone finds that zone's data.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/lib-zones.sh
source tests/e2e/lib-zones.sh

BLOCK=4096
ZONE4=$((0x18000)) ZONE5=$((0x1e000))

# Eight blocks written in zone 4, and all of zone 5 full.
write_two_zones() {
	write_blocks $ZONE4 8
	write_blocks $ZONE5 64 64
	expect_status 0 sg_zone --finish --zone=$ZONE5 "$SG"
	expect_pattern $ZONE4 8
	expect_pattern $ZONE5 64 64
}

make_pattern
start_daemon

note "URSWRZ=1"
lun_create any 6G zone_size=96M/conv=4/lba=4096
expect_match "VPD page B6h" "URSWRZ: 1"$'\n' "$(sg_vpd -p zbdch "$SG")"
write_two_zones
read_blocks $ZONE4 16
cmp -n $((8 * BLOCK)) "$GOT" "$PATTERN" || fail "other data below the write pointer"
cmp -n $((8 * BLOCK)) "$GOT" /dev/zero $((8 * BLOCK)) || fail "no zeros above the write pointer"
read_blocks $((ZONE5 - 16)) 32
cmp -n $((16 * BLOCK)) "$GOT" /dev/zero || fail "no zeros at the end of zone 4"
cmp -n $((16 * BLOCK)) "$GOT" "$PATTERN" $((16 * BLOCK)) $((64 * BLOCK)) ||
	fail "other data at the start of zone 5"
expect_zeros $((ZONE5 + 64)) 8
read_refused 5/21/07 $((ZONE4 - 8)) 16 # from conventional zones into others
expect_information $ZONE4
lun_delete any

note "URSWRZ=0"
lun_create written 6G zone_size=96M/conv=4/lba=4096/urswrz=0
expect_match "VPD page B6h" "URSWRZ: 0"$'\n' "$(sg_vpd -p zbdch "$SG")"
write_two_zones
read_refused 5/21/06 $ZONE4 16
expect_information $((ZONE4 + 8))
read_refused 5/21/06 $((ZONE4 + 8)) 1
read_refused 5/21/07 $((ZONE5 - 16)) 32 # the boundary goes before the pointer
expect_information $ZONE5
expect_zeros $((ZONE5 + 64)) 8 # a full zone is readable to its end
expect_zeros 8 8               # and conventional zones are everywhere
lun_delete written

# Linux does not do with URSWRZ=0, even where it knows the zones.
lun_create refused 1G zone_size=64M/conv=1/urswrz=0
expect_eq "capacity of $DISK" 0 "$(blockdev --getsize64 "$DISK")"
expect_match "kernel log" "constrained reads devices are not supported" "$(dmesg | tail -n 20)"

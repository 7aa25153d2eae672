#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# memzbc zone: zones that go bad, fill up and lose their write pointers while the kernel uses them.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/lib-zones.sh
source tests/e2e/lib-zones.sh

BLOCK=512
ZONE=$((0x8000)) # blocks of 16 MiB
FOURTH=$((4 * ZONE))

# read_zone NUMBER, write_zone NUMBER: the first 4 KiB of it, through the kernel.
read_zone() {
	dd if="$DISK" of=/dev/null bs=4096 skip=$(($1 * ZONE / 8)) count=1 iflag=direct status=none
}

write_zone() {
	dd if="$PATTERN" of="$DISK" bs=4096 seek=$(($1 * ZONE / 8)) count=1 oflag=direct \
		conv=notrunc status=none
}

make_pattern
start_daemon
lun_create z0 256M zone_size=16M/conv=2

note "OFFLINE and READ ONLY, and back with the data"
write_blocks "$FOURTH" 64
expect_status 0 memzbc zone z0 4 offline
expect_eq "what zone prints" "z0: 1 zone: offline" "$OUTPUT"
expect_zone "$FOURTH" SWR Offline
read_refused 7/2c/0e "$FOURTH" 8
expect_eq "errno of a read" "Remote I/O error" "$(errno_of read_zone 4)"
memzbc zone z0 4 readonly
expect_zone "$FOURTH" SWR "Read only"
expect_pattern "$FOURTH" 64
write_refused 7/27/08 $((FOURTH + 64)) 8
memzbc zone z0 4 closed
expect_zone "$FOURTH" SWR Closed $((FOURTH + 64))
expect_pattern "$FOURTH" 64
write_blocks $((FOURTH + 64)) 8

note "a write pointer that moves"
memzbc zone z0 4 wp=32
expect_zone "$FOURTH" SWR "Implicitly opened" $((FOURTH + 32))
write_refused 5/21/04 $((FOURTH + 72)) 8
write_blocks $((FOURTH + 32)) 8

note "ranges"
expect_status 0 memzbc zone z0 5-9 full --json
expect_eq "zones" 5 "$(json 'd["zones"]')"
expect_zones "full zones" 5 5
memzbc zone z0 5-9 empty
expect_zones "full zones" 0 5
expect_status 1 memzbc zone z0 10-16 full
expect_match "reason" "zone 16; accepted: 0 to 15" "$OUTPUT"
expect_zones "full zones" 0 5

note "conventional zones"
write_zone 1
memzbc zone z0 1 readonly
read_zone 1
expect_eq "errno of a write" "Remote I/O error" "$(errno_of write_zone 1)"
memzbc zone z0 1 offline
expect_eq "errno of a read" "Remote I/O error" "$(errno_of read_zone 1)"
memzbc zone z0 1 notwp
write_zone 1

note "all zones but the conventional ones can be made anew"
memzbc zone z0 2-15 offline
expect_zones "offline zones" 14 7
memzbc zone z0 2-15 empty
expect_zones "empty zones" 14 1
write_zone 4

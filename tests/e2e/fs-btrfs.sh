#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# btrfs in zoned mode on a LUN: files are what they were after unmounting and mounting. Without any
# conventional zone, and with some and gaps between the others.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/lib-zones.sh
source tests/e2e/lib-zones.sh
# shellcheck source=tests/e2e/lib-files.sh
source tests/e2e/lib-files.sh

# make_btrfs ZONES ZONE_SIZE
make_btrfs() {
	expect_status 0 mkfs.btrfs -O zoned -m single -d single "$DISK"
	expect_match "what mkfs.btrfs found" "Resetting device zones $DISK \($1 zones\)" "$OUTPUT"
	expect_match "zone size by mkfs.btrfs" "Zone size: +$2" "$OUTPUT"
}

start_daemon

note "zones of 64 MiB"
lun_create whole 2G zone_size=64M/conv=0/max_open=16/lba=4096
make_btrfs 32 64.00MiB
files_survive btrfs
expect_status 0 btrfs check --check-data-csum "$DISK"
expect_match "btrfs check" "no error found" "$OUTPUT"
lun_delete whole

note "zones of 48 of 64 MiB, with gaps"
lun_create gaps 2G zone_size=64M/zone_cap=48M/conv=2/max_open=16
make_btrfs 32 64.00MiB
files_survive btrfs
expect_status 0 btrfs check --check-data-csum "$DISK"

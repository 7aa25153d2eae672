#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# f2fs on a LUN: files are what they were after unmounting and mounting. Its metadata are in the
# conventional zones, all files in the others. Zones whose size is a power of two, and zones with
# gaps.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/lib-zones.sh
source tests/e2e/lib-zones.sh
# shellcheck source=tests/e2e/lib-files.sh
source tests/e2e/lib-files.sh

start_daemon

note "zones of 32 MiB"
lun_create whole 2G zone_size=32M/conv=2/max_open=16/lba=512/pblk=4096
expect_status 0 mkfs.f2fs -m -f "$DISK"
expect_match "what mkfs.f2fs found" "64 zones, 33554432 zone size\(bytes\), 2 randomly" "$OUTPUT"
files_survive f2fs
expect_status 0 fsck.f2fs "$DISK"
expect_match "write pointers" "Write pointers consistency +\[Ok\.\.\]" "$OUTPUT"
lun_delete whole

note "zones of 24 of 32 MiB, with gaps"
lun_create gaps 2G zone_size=32M/zone_cap=24M/conv=2/max_open=16
expect_status 0 mkfs.f2fs -m -f "$DISK"
files_survive f2fs

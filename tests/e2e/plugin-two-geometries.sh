#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# Two LUNs of different geometry are served at the same time, each with its own.

# shellcheck source=tests/e2e/plugin-lib.sh
source tests/e2e/plugin-lib.sh

# queue_of DISK ATTRIBUTE
queue_of() {
	printf '%s' "$(<"/sys/block/${1#/dev/}/queue/$2")"
}

# geometry_is DISK LBA PBLK ZONE_SECTORS ZONES: as the kernel sees it, sectors of 512 bytes.
geometry_is() {
	expect_eq "logical block of $1" "$2" "$(queue_of "$1" logical_block_size)"
	expect_eq "physical block of $1" "$3" "$(queue_of "$1" physical_block_size)"
	expect_eq "zone size of $1" "$4" "$(queue_of "$1" chunk_sectors)"
	expect_eq "zones of $1" "$5" "$(queue_of "$1" nr_zones)"
}

start_daemon
lun_create z0 512M zone_size=16M/conv=4
first=$DISK
lun_create z1 512M zone_size=64M/zone_cap=48M/conv=1/lba=4096
second=$DISK
geometry_is "$first" 512 4096 32768 32
geometry_is "$second" 4096 4096 131072 8

in_background zones_io "$first"
in_background blocks_io "$first"
in_background fio_on "$second" gaps --zonemode=zbd --rw=write --bs=64k --iodepth=8 \
	--offset=64M --size=64M --numjobs=2 --offset_increment=64M
sleep 20
still_running
finish
kernel_is_well

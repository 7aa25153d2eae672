#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# memzbc power-loss: with key cache, what the kernel has flushed stays and the newest of the rest
# vanishes; a file system finds what it had synchronised.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/lib-zones.sh
source tests/e2e/lib-zones.sh

BLOCK=512
ZONE=$((0x8000)) # blocks of 16 MiB
FOURTH=$((4 * ZONE))
PLACE=/mnt/lun

# write_disk LBA BLOCKS OPTION...: PATTERN through the kernel, in pieces of 4 KiB.
write_disk() {
	dd if="$PATTERN" of="$DISK" bs=4096 seek=$(($1 / 8)) count=$(($2 / 8)) oflag=direct \
		conv=notrunc"${3:+,$3}" status=none
}

# lose_power WRITES [COUNT]: so many writes must vanish.
lose_power() {
	expect_status 0 memzbc power-loss z0 --json "${@:2}"
	expect_eq "writes that vanished" "$1" "$(json 'd["writes"]')"
}

blocks_vanish() {
	note "without a cache nothing vanishes"
	write_disk "$FOURTH" 16
	lose_power 0
	expect_zone "$FOURTH" SWR Closed $((FOURTH + 16))

	note "what was not flushed vanishes, the newest first"
	memzbc set z0 cache=8M
	write_disk $((FOURTH + 16)) 32
	write_disk 0 8
	lose_power 2 2
	expect_zone "$FOURTH" SWR Closed $((FOURTH + 40))
	expect_zeros 0 8
	expect_pattern "$FOURTH" 16

	note "what was flushed stays"
	write_disk $((FOURTH + 40)) 24 fsync
	write_disk 8 8 fsync
	write_disk $((FOURTH + 64)) 8
	write_disk 8 8
	lose_power 2
	expect_zone "$FOURTH" SWR Closed $((FOURTH + 64))
	expect_pattern 8 8

	note "a reset is durable"
	write_disk $((FOURTH + 64)) 8
	expect_status 0 sg_reset_wp --zone="$FOURTH" "$SG"
	lose_power 0
	expect_zone "$FOURTH" SWR Empty "$FOURTH"
}

# pull_the_plug: the power fails, and the disk is gone before the file system can write anything
# more; then it comes back.
pull_the_plug() {
	expect_status 0 memzbc power-loss fs
	echo 1 >"/sys/bus/scsi/devices/$ADDRESS/delete"
	note "$OUTPUT"
	[[ $OUTPUT != *" 0 writes"* ]] || fail "nothing vanished"
	umount "$PLACE"
	echo 0 1 - >"/sys/class/scsi_host/host${ADDRESS%%:*}/scan"
	lun_find fs
}

file_system_finds_its_files() {
	local sums
	lun_create fs 1G zone_size=32M/conv=2/cache=64M
	mkfs.btrfs -q -O zoned -d single -m single "$DISK" >/dev/null 2>&1
	mkdir -p "$PLACE"
	mount "$DISK" "$PLACE"
	head -c 3M /dev/urandom >"$PLACE/kept"
	head -c 100K /dev/urandom >"$PLACE/small"
	sync -f "$PLACE"
	sums=$(cd "$PLACE" && sha256sum kept small)
	dd if=/dev/urandom of="$PLACE/lost" bs=64K count=64 oflag=direct status=none
	pull_the_plug
	mount "$DISK" "$PLACE"
	expect_eq "checksums" "$sums" "$(cd "$PLACE" && sha256sum kept small)"
	umount "$PLACE"
}

make_pattern
start_daemon
lun_create z0 256M zone_size=16M/conv=2
blocks_vanish
note "btrfs"
file_system_finds_its_files

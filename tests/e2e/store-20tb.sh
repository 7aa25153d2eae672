#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# A LUN of 20 TB with 74,506 zones opens as a small one does and takes a few MiB of memory; its last
# zone is written and read back, and the report of all zones is complete.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/lib-zones.sh
source tests/e2e/lib-zones.sh

BLOCK=4096
ZONE=65536             # 256 MiB
CAPACITY=4882812500    # 20 * 10^12 bytes
ZONES=74506            # the last one is smaller
LAST=$((74505 * ZONE)) # its start
FEW_KIB=$((8 << 10))

# shm_used: KiB in /dev/shm.
shm_used() {
	df --output=used /dev/shm | tail -n 1
}

# timed_create NAME SIZE: TOOK is the time in ms until LIO has the LUN, the daemon's open included.
timed_create() {
	local before=${EPOCHREALTIME/./}
	backstore_create "$1" "dev_config=memzbc/zone_size=256M/lba=4096/conv=2/max_open=16,$(
		)dev_size=$2,hw_max_sectors=256,hw_block_size=4096"
	TOOK=$(((${EPOCHREALTIME/./} - before) / 1000))
	note "$1 was there after $TOOK ms"
}

# The best of three, since others use the processor too. 18,600 times the zones and bytes may take
# a few times as long.
opens_at_once() {
	local i small=1000000 large=1000000
	timed_create warm-up 1073741824
	for i in 1 2 3; do
		timed_create "small$i" 1073741824
		((small = TOOK < small ? TOOK : small))
		SHM=$(shm_used) RSS=$(memory_of_daemon)
		timed_create "large$i" 20000000000000
		((large = TOOK < large ? TOOK : large))
	done
	((large < 5 * small)) || fail "opening took $large ms, with a small LUN $small ms"
}

takes_little_memory() {
	local shm rss
	shm=$(($(shm_used) - SHM)) rss=$(($(memory_of_daemon) - RSS))
	note "/dev/shm has $shm KiB more, the daemon $rss KiB"
	((shm < FEW_KIB)) || fail "the LUN took $shm KiB of /dev/shm"
	((rss < FEW_KIB)) || fail "the daemon is $rss KiB larger"
}

kernel_knows_all_zones() {
	lun_export large3
	lun_find large3
	expect_eq "capacity of $DISK" 20000000000000 "$(blockdev --getsize64 "$DISK")"
	expect_eq "nr_zones" $ZONES "$(queue nr_zones)"
	expect_match "kernel log" "74505 zones of $ZONE logical blocks \+ 1 runt zone" \
		"$(dmesg | tail)"
}

last_zone_is_written() {
	expect_zone $LAST SWR Empty $LAST
	write_blocks $LAST 16
	expect_zone $LAST SWR "Implicitly opened" $((LAST + 16))
	expect_pattern $LAST 16
	expect_zeros $((CAPACITY - 8)) 8
	expect_status 0 dd if="$PATTERN" of="$DISK" bs=64K count=1 skip=1 \
		seek=$(((LAST + 16) / 16)) oflag=direct conv=notrunc status=none
	expect_pattern $LAST 32
	read_refused 5/21/00 $((CAPACITY - 4)) 8
	# READ CAPACITY(10) has no room for the last LBA.
	expect_match "READ CAPACITY(10)" ' 00 +ff ff ff ff 00 00 10 00' \
		"$(sg_raw -r 8 "$SG" 25 00 00 00 00 00 00 00 00 00 2>&1)"
}

# Beyond 32 bits INFORMATION is for descriptor format only.
sense_has_no_cut_lba() {
	write_refused 5/21/04 $((LAST + 100)) 8
	expect_information none
	expect_match "raw sense data" "70 00 05 00 00 00 00 0a" "$OUTPUT"
	expect_status 0 sg_wr_mode --page=0xa --contents=0,0,4 --mask=0,0,4 "$SG"
	write_refused 5/21/04 $((LAST + 100)) 8
	expect_information $((LAST + 32))
	expect_status 0 sg_wr_mode --page=0xa --contents=0,0,0 --mask=0,0,4 "$SG"
}

# Every zone begins where the one before ends, by the kernel's report and by sg_rep_zones', of which
# it takes several.
reports_are_complete() {
	local wanted="$ZONES zones, 20000000000000 bytes"
	expect_eq "zbd's report" "$wanted" "$(zbd_zones 0 | awk '
		$3 != sum { print "gap at zone " NR - 1; exit }
		{ sum += $4 }
		END { printf "%d zones, %.0f bytes\n", NR, sum }')"
	expect_zones zones $ZONES 0
	expect_eq "sg_rep_zones' reports" "$wanted" "$(/usr/bin/python3 - "$SG" <<-'END'
		import struct, subprocess, sys
		lba, zones, capacity = 0, 0, 1
		while lba < capacity:
		    report = subprocess.run(
		        ["sg_rep_zones", "--raw", "--partial", "-m", "1048576", f"--start={lba}",
		         sys.argv[1]], stdout=subprocess.PIPE, check=True).stdout
		    length, capacity = struct.unpack_from(">I4xQ", report)
		    capacity += 1
		    for at in range(64, 64 + length, 64):
		        size, start = struct.unpack_from(">QQ", report, at + 8)
		        assert start == lba, f"zone {zones} begins at {start}, not {lba}"
		        lba, zones = lba + size, zones + 1
		print(f"{zones} zones, {lba * 4096} bytes")
	END
	)"
}

make_pattern
start_daemon
opens_at_once
takes_little_memory
kernel_knows_all_zones
last_zone_is_written
sense_has_no_cut_lba
reports_are_complete
takes_little_memory

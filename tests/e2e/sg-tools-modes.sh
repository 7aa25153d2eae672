#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# What the tools of sg3_utils change: sg_wr_mode the write cache, the format of sense data and the
# write protection, sg_start the readiness.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/lib-zones.sh
source tests/e2e/lib-zones.sh

BLOCK=4096
ZONE=4096 # 16 MiB
SWR=$((2 * ZONE))

# change PAGE BYTE MASK VALUE [OPTION...]: change bits of a mode page's byte.
change() {
	local mask=0 value=0 i
	for ((i = 1; i < $2; i++)); do
		mask+=,0 value+=,0
	done
	expect_status 0 sg_wr_mode "${@:5}" --page="$1" --mask="$mask,$3" \
		--contents="$value,$4" "$SG"
}

# expect_page NAME PAGE BYTES CONTROL [OPTION]: how a mode page begins, hexadecimal.
expect_page() {
	expect_match "mode page $2" "$1, page_control: $4"$'\n 00 +'"$3 " \
		"$(sg_modes --page="$2" ${5:+"$5"} "$SG")"
}

# cache_type: what the kernel thinks of the write cache, read anew.
cache_type() {
	echo 1 >"/sys/bus/scsi/devices/$ADDRESS/rescan"
	cat /sys/bus/scsi/devices/"$ADDRESS"/scsi_disk/*/cache_type
}

write_cache() {
	expect_eq "cache type" "write back" "$(cache_type)"
	change 8 2 4 0
	expect_page Caching 8 "08 12 00" current
	expect_page Caching 8 "08 12 04" default --control=2
	expect_eq "cache type" "write through" "$(cache_type)"
	change 8 2 4 4 --six
	expect_eq "cache type" "write back" "$(cache_type)"
}

# A bit that cannot be changed (RCD): header of 8 bytes, descriptor of 8, and the page's byte 2.
unchangeable_bits() {
	expect_sense 5/26/00 sg_wr_mode --page=8 --mask=0,0,1 --contents=0,0,1 "$SG"
	expect_match "field pointer" "Error in Data parameters: byte 18 bit 0"$'\n' "$OUTPUT"
	expect_sense 5/26/00 sg_wr_mode --six --page=1c --mask=0,0,8 --contents=0,0,0 "$SG"
	expect_match "field pointer" "Error in Data parameters: byte 14 bit 3"$'\n' "$OUTPUT"
	expect_page Caching 8 "08 12 04" current
	expect_sense 5/24/00 sg_raw -s 4 -i /dev/zero "$SG" 15 11 00 00 04 00 # SP: nothing is saved
	expect_field 1 0
}

# Each kind of sense data in descriptor format, as the tools decode it.
descriptor_sense() {
	expect_page Control 0xa "0a 0a 02" current
	change a 2 4 4
	expect_page Control 0xa "0a 0a 06" current
	write_blocks $SWR 8
	write_refused 5/21/04 $SWR 8
	expect_match "decoded sense data" \
		"Descriptor format, current; Sense key: Illegal Request" "$OUTPUT"
	expect_match "raw sense data" "72 05 21 04 00 00 00 0c  00 0a 80 00 " "$OUTPUT"
	expect_information $((SWR + 8))
	expect_sense 5/24/00 sg_zone --open --zone=$((SWR + 1)) "$SG"
	expect_match "field pointer" \
		$'Sense key specific: Field pointer:\n +Error in Command: byte 2\n' "$OUTPUT"
	expect_match "raw sense data" "72 05 24 00 00 00 00 08  02 06 00 00 c0 00 02 00" "$OUTPUT"
	expect_sense 5/20/00 sg_senddiag -t "$SG"
	expect_match "raw sense data" "72 05 20 00 00 00 00 00" "$OUTPUT"

	# REQUEST SENSE has its own bit; the kernel takes both formats.
	expect_match "sg_requests" "Fixed format" "$(sg_requests "$SG" 2>&1)"
	expect_status 1 dd if="$PATTERN" of="$DISK" bs=4096 count=1 seek=$SWR oflag=direct \
		conv=notrunc status=none
	expect_match "error of the write" "Remote I/O error" "$OUTPUT"
	change a 2 4 0
	write_refused 5/21/04 $SWR 8
	expect_match "decoded sense data" "Fixed format, current" "$OUTPUT"
	expect_information $((SWR + 8))
}

write_protection() {
	change a 4 8 8
	expect_match "mode parameter header" " WP=1," "$(sg_modes --page=0xa "$SG")"
	write_refused 7/27/02 $((SWR + 8)) 8
	write_refused 7/27/02 0 8
	expect_sense 7/27/02 sg_write_same --16 --ndob --lba=0 --num=8 "$SG"
	expect_sense 7/27/02 sg_reset_wp --all "$SG"
	expect_zone $SWR SWR "Implicitly opened" $((SWR + 8))
	expect_pattern $SWR 8
	echo 1 >"/sys/bus/scsi/devices/$ADDRESS/rescan"
	expect_eq "kernel's flag of a disk to be read only" 1 "$(blockdev --getro "$DISK")"
	change a 4 8 0
	write_blocks $((SWR + 8)) 8 8
	expect_pattern $SWR 16
}

readiness() {
	expect_status 0 sg_start --stop "$SG"
	expect_status 2 sg_turs "$SG"
	expect_sense 2/04/02 sg_turs "$SG"
	read_refused 2/04/02 $SWR 8
	write_refused 2/04/02 $((SWR + 16)) 8
	expect_status 0 sg_inq "$SG"
	expect_status 0 sg_modes --page=8 "$SG"
	expect_status 0 sg_luns "$SG"
	expect_match "sg_requests" "Sense key: Not Ready" "$(sg_requests "$SG" 2>&1)"
	expect_status 0 sg_start --start "$SG"
	expect_status 0 sg_turs "$SG"
	expect_match "sg_requests" "Sense key: No Sense" "$(sg_requests "$SG" 2>&1)"
	expect_zone $SWR SWR "Implicitly opened" $((SWR + 16))
	expect_pattern $SWR 16
	write_blocks $((SWR + 16)) 8
}

make_pattern
start_daemon
lun_create t 256M zone_size=16M/conv=2/lba=4096
for part in write_cache unchangeable_bits descriptor_sense write_protection readiness; do
	note "$part"
	"$part"
done

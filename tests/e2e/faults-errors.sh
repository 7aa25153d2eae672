#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# Injected errors reach the kernel as the right errno, and sg tools as the right sense.
source tests/e2e/lib.sh
source tests/e2e/faults-lib.sh

ZONE=$((0x4000)) # blocks of 4096 bytes in 64 MiB
start_daemon
lun_create e 1G zone_size=64M/conv=4/lba=4096
udisk=${DISK#/dev/}
scheduler "$DISK" none

read_disk() { # SKIP-BLOCKS COUNT
	dd if="$DISK" of=/dev/null bs=4096 skip="$1" count="$2" iflag=direct status=none
}

write_disk() { # SEEK-BLOCKS COUNT
	dd if=/dev/zero of="$DISK" bs=$((4096 * $2)) seek=$(($1 / $2)) count=1 oflag=direct \
		conv=notrunc status=none
}

note "MEDIUM ERROR on a read: ENODATA, and the first bad block in INFORMATION"
faults e error=medium@read@lba100-103
expect_eq "errno of a bad read" "No data available" "$(errno_of read_disk 96 8)"
read_disk 104 8
cdb16 88 96 8
expect_sense 3/11/00 sg_raw -r 32768 "$SG" "${CDB[@]}"
expect_match "first bad block" "Info fld=0x64 " "$OUTPUT"

note "MEDIUM ERROR on a write of a zone: good blocks are stored, the write pointer is behind them"
first=$((4 * ZONE))
faults e "error=medium@write@lba$((first + 4))"
cdb16 8a "$first" 8
expect_sense 3/0c/00 sg_raw -s 32768 -i /dev/zero "$SG" "${CDB[@]}"
expect_match "first bad block" "$(printf 'Info fld=0x%x ' $((first + 4)))" "$OUTPUT"
expect_match "write pointer" "Write pointer LBA: $(printf '0x%x' $((first + 4)))" \
	"$(sg_rep_zones --start="$first" --num=1 "$SG")"
faults e error=medium@write@lba100
expect_eq "errno of a bad write" "Input/output error" "$(errno_of write_disk 96 8)"
faults e error=off
sg_reset_wp --zone="$first" "$SG"

note "a partial write"
faults e error=partial3@n1
expect_sense 3/0c/00 sg_raw -s 32768 -i /dev/zero "$SG" "${CDB[@]}"
expect_match "write pointer" "Write pointer LBA: $(printf '0x%x' $((first + 3)))" \
	"$(sg_rep_zones --start="$first" --num=1 "$SG")"

note "what the kernel makes of sense data: EREMOTEIO, ENOSPC"
faults e error=sense052104@write@n1
expect_eq "errno of 5/21/04" "Remote I/O error" "$(errno_of write_disk 8 8)"
faults e error=sense072707@write@n1
expect_eq "errno of 7/27/07" "No space left on device" "$(errno_of write_disk 8 8)"
faults e error=hardware@read@n100
expect_eq "errno of 4/44/00" "Remote I/O error" "$(errno_of read_disk 8 8)"
cdb16 88 8 8
expect_sense 4/44/00 sg_raw -r 32768 "$SG" "${CDB[@]}"

note "what the kernel tries again succeeds: BUSY, TASK SET FULL, NOT READY, ABORTED COMMAND"
for kind in busy full notready aborted; do
	memzbc reset-stats e >/dev/null
	faults e "error=$kind@read@n3"
	read_disk 8 8
	expect_eq "$kind errors that were met" 3 "$(stat_of e "$INJECTED")"
done

note "RESERVATION CONFLICT: EBADE"
faults e error=conflict@read@n1
expect_eq "errno of RESERVATION CONFLICT" "Invalid exchange" "$(errno_of read_disk 8 8)"

note "RESET WRITE POINTER that fails changes nothing, and the next one works"
faults e error=hardware@reset@n1
expect_sense 4/44/00 sg_reset_wp --zone="$first" "$SG"
expect_match "write pointer" "Write pointer LBA: $(printf '0x%x' $((first + 3)))" \
	"$(sg_rep_zones --start="$first" --num=1 "$SG")"
sg_reset_wp --zone="$first" "$SG"

note "one read in two fails, by the seed: the same ones with the same seed"
faulty_reads() {
	local i list=
	faults e error=hardware@read@p50% seed="$1"
	cdb16 88 8 1
	for i in {1..24}; do
		sg_raw -r 4096 "$SG" "${CDB[@]}" &>/dev/null || list+=" $i"
	done
	printf '%s' "$list"
}
one=$(faulty_reads 1)
expect_eq "reads that fail with seed 1" "$one" "$(faulty_reads 1)"
[[ $one != "$(faulty_reads 2)" ]] || fail "seed 2 fails the same reads as seed 1"

expect_eq "state of the disk" running "$(<"/sys/block/$udisk/device/state")"

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# The tools of sg3_utils that move and check data: sg_dd, sg_read, sg_verify, sg_write_same and
# sg_sync.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/lib-zones.sh
source tests/e2e/lib-zones.sh

BLOCK=512
ZONE=32768 # 16 MiB
CAPACITY=$((16 * ZONE))
SWR=$((2 * ZONE))

# READ and WRITE of each length of CDB, with FUA and DPO where they have it.
reads_and_writes() {
	local size flags lba=0 out
	for size in 6 10 12 16; do
		flags=fua,dpo
		((size > 6)) || flags=sgio
		expect_status 0 sg_dd if="$PATTERN" of="$SG" bs=$BLOCK bpt=128 cdbsz=$size \
			oflag=$flags seek=$lba count=128
		expect_status 0 sg_dd if="$SG" of="$GOT" bs=$BLOCK bpt=128 cdbsz=$size \
			iflag=$flags skip=$lba count=128
		cmp -n 65536 "$GOT" "$PATTERN" ||
			fail "READ($size) has other data than WRITE($size) took"
		expect_status 0 sg_read if="$SG" bs=$BLOCK bpt=64 cdbsz=$size skip=$lba count=128
		expect_match "sg_read" "128\+0 records in, SCSI READ commands issued: 2" "$OUTPUT"
		((lba += 128))
	done
	# TRANSFER LENGTH 0 means 256 blocks in the 6-byte CDB alone.
	expect_status 0 sg_raw -r 131072 -o "$GOT" "$SG" 08 00 00 00 00 00
	for out in 0 65536; do
		cmp -n 65536 "$GOT" "$PATTERN" $out 0 || fail "READ(6) of 256 blocks has other data"
	done
	read_refused 5/21/00 $((CAPACITY - 4)) 8
	expect_information $CAPACITY
	write_refused 5/21/00 $CAPACITY 8
	# More than MAXIMUM TRANSFER LENGTH.
	cdb16 8a 0 4096
	expect_sense 5/24/00 sg_raw "$SG" "${CDB[@]}"
	expect_field 10
}

verifies() {
	local size
	expect_status 0 sg_dd if="$PATTERN" of="$SG" bs=$BLOCK bpt=128 seek=0 count=128
	for size in '' --16; do
		# shellcheck disable=SC2086  # none or one option
		expect_status 0 sg_verify $size --lba=0 --count=$((2 * ZONE)) --bpc=65535 "$SG"
		# shellcheck disable=SC2086
		expect_status 0 sg_verify $size --lba=0 --count=64 --ndo=32768 --in="$PATTERN" "$SG"
		# shellcheck disable=SC2086
		expect_sense 5/21/00 sg_verify $size --lba=$((CAPACITY - 8)) --count=16 "$SG"
	done
	# Block 7 differs in its byte 5: the byte's offset is in INFORMATION.
	cp "$PATTERN" "$GOT"
	printf 'differs' | dd of="$GOT" bs=1 seek=$((7 * BLOCK + 5)) conv=notrunc status=none
	expect_sense e/1d/00 sg_verify --16 --lba=0 --count=64 --ndo=32768 --in="$GOT" "$SG"
	expect_information $((7 * BLOCK + 5))
	expect_status 14 sg_verify --quiet --lba=0 --count=64 --ndo=32768 --in="$GOT" "$SG"

	# BYTCHK=11b: one block is compared with all.
	expect_status 0 sg_write_same --lba=1024 --num=64 --xferlen=$BLOCK --in="$PATTERN" "$SG"
	expect_status 0 sg_verify --16 --ebytchk=3 --lba=1024 --count=64 --ndo=$BLOCK \
		--in="$PATTERN" "$SG"
	expect_sense e/1d/00 sg_verify --ebytchk=3 --lba=1000 --count=64 --ndo=$BLOCK \
		--in="$PATTERN" "$SG"
	expect_sense 5/24/00 sg_verify --ebytchk=2 --lba=0 --count=1 --ndo=$BLOCK \
		--in="$PATTERN" "$SG"
	expect_field 1 2
	expect_status 0 sg_raw "$SG" af 00 00 00 00 00 00 00 00 80 00 00
	# Unwritten blocks are zero.
	expect_status 0 sg_verify --0 --ndo=65536 --lba=$SWR --count=128 "$SG"
}

same_blocks() {
	local tool=(sg_write_same --xferlen="$BLOCK" --in="$PATTERN")
	expect_status 0 "${tool[@]}" --10 --lba=$SWR --num=64 "$SG"
	expect_zone $SWR SWR "Implicitly opened" $((SWR + 64))
	expect_status 0 "${tool[@]}" --16 --lba=$((SWR + 64)) --num=192 "$SG"
	expect_status 0 sg_write_same --16 --ndob --lba=$((SWR + 256)) --num=64 "$SG"
	expect_zone $SWR SWR "Implicitly opened" $((SWR + 320))
	expect_status 0 sg_verify --ebytchk=3 --lba=$SWR --count=256 --ndo=$BLOCK \
		--in="$PATTERN" "$SG"
	expect_zeros $((SWR + 256)) 64

	expect_sense 5/21/04 "${tool[@]}" --16 --lba=$SWR --num=8 "$SG"
	expect_information $((SWR + 320))
	expect_sense 5/21/05 "${tool[@]}" --16 --lba=$((SWR + ZONE - 8)) --num=16 "$SG"
	# WSNZ=1: no length of 0, which would mean all that is behind.
	expect_match "VPD page B0h" "\(WSNZ\): 1" "$(sg_vpd --page=bl "$SG")"
	expect_sense 5/24/00 "${tool[@]}" --10 --lba=0 --num=0 "$SG"
	expect_field 7
	expect_sense 5/24/00 "${tool[@]}" --16 --lba=0 --num=0 "$SG"
	expect_field 10
	expect_sense 5/24/00 "${tool[@]}" --16 --unmap --lba=0 --num=8 "$SG"
	expect_field 1 3
	longest_write_same
}

# MAXIMUM WRITE SAME LENGTH is taken, and one block more is not.
longest_write_same() {
	local longest
	longest=$(sg_vpd --page=bl "$SG" |
		sed -n 's/.*Maximum write same length: \(0x[0-9a-f]*\) .*/\1/p')
	((longest > 0 && longest % 8 == 0)) || fail "maximum write same length is '$longest'"
	expect_sense 5/24/00 sg_write_same --16 --ndob --lba=0 --num=$((longest + 1)) "$SG"
	expect_field 10
	((longest > 2 * ZONE)) ||
		expect_status 0 sg_write_same --16 --ndob --lba=0 --num=$((longest)) "$SG"
	expect_zeros 0 128
}

cache() {
	expect_status 0 sg_sync "$SG"
	expect_status 0 sg_sync --16 --lba=8 --count=64 "$SG"
	expect_status 0 sg_sync --immed --lba=8 --count=64 "$SG"
	expect_sense 5/21/00 sg_sync --lba=$CAPACITY --count=1 "$SG"
	expect_sense 5/21/00 sg_sync --16 --lba=$((CAPACITY - 8)) --count=16 "$SG"
}

make_pattern
start_daemon
lun_create t 256M zone_size=16M/conv=2/lba=512/pblk=4096
for part in reads_and_writes verifies same_blocks cache; do
	note "$part"
	"$part"
done

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# What the tools of sg3_utils show of a LUN: identity, VPD pages, capacity, mode and log pages,
# supported commands. None of them changes anything.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/lib-zones.sh
source tests/e2e/lib-zones.sh

BLOCK=512
CAPACITY=$((0x800000))
MAX_TRANSFER=2048 # hw_max_sectors of lun_create

# tool COMMAND...: run it with SG behind; it must succeed.
tool() {
	expect_status 0 "$@" "$SG"
	OUTPUT+=$'\n'
}

# shows WHAT REGEX...: each matches what the last tool printed.
shows() {
	local what=$1 regex
	shift
	for regex; do
		expect_match "$what" "$regex" "$OUTPUT"
	done
}

# hex_of COMMAND...: HEX is the binary output of a tool.
hex_of() {
	"$@" >"$GOT"
	HEX=$(od -An -v -tx1 -w4096 "$GOT" | tr -d ' ')
}

inquiry() {
	tool sg_inq --descriptors
	shows "sg_inq" "PQual=0  PDT=20  RMB=0 " "version=0x07  \[SPC-5\]" \
		"HiSUP=1  Resp_data_format=2" "Protect=0 " "CmdQue=1"$'\n' \
		"length=96 " "host managed zoned block" \
		"Vendor identification: MEMZBC" "Unit serial number: gb"$'\n' \
		$'SAM-[56] .*\n +SPC-5 .*\n +SBC-4 .*\n +ZBC-2 '

	# What is longer than the data is zero, not what lay in the buffer before.
	expect_status 0 sg_dd if="$SG" of=/dev/null bs=$BLOCK bpt=64 count=64
	hex_of sg_raw -r 255 -b "$SG" 12 00 00 00 ff 00
	expect_eq "data behind those of INQUIRY" "" "$(tr -d 0 <<<"${HEX:192}")"

	expect_sense 5/24/00 sg_inq --vpd --force --page=0x89 "$SG"
	expect_field 2
	expect_sense 5/24/00 sg_raw -r 96 "$SG" 12 00 01 00 60 00
	expect_field 2
}

# Each page begins with the device type, its own code and its length, and is listed in page 00h.
vpd_headers() {
	local page pages last=-1
	hex_of sg_vpd --raw --page=0 "$SG"
	expect_match "VPD page 00h" "^1400" "$HEX"
	mapfile -t pages < <(fold -w2 <<<"${HEX:8}")
	((${#pages[@]} <= 28)) || fail "libzbc does not look beyond 28 pages"
	for page in "${pages[@]}"; do
		((16#$page > last)) || fail "VPD page ${page}h is out of order: ${pages[*]}"
		last=$((16#$page))
		hex_of sg_vpd --raw --page=0x"$page" "$SG"
		expect_eq "VPD page $page" "14$page$(printf %04x $((${#HEX} / 2 - 4)))" "${HEX:0:8}"
		[[ $page != b[016] ]] || expect_eq "length of VPD page $page" 003c "${HEX:4:4}"
	done
	for page in 00 80 83 b0 b1 b2 b6; do
		expect_match "VPD pages" " $page " " ${pages[*]} "
	done
}

vpd_pages() {
	tool sg_vpd
	shows "sg_vpd" "\[sv\]" "\[sn\]" "\[di\]" "\[bl\]" "\[bdc\]" "\[lbpv\]" "\[zbdch\]"
	tool sg_vpd --page=sn
	shows "page 80h" "Unit serial number: gb"$'\n'
	tool sg_vpd --page=di
	shows "page 83h" "Addressed logical unit" \
		$'type: NAA,  code set: Binary\n +0x6001405[0-9a-f]{25}\n' \
		$'type: T10 vendor identification,  code set: ASCII\n +vendor id: MEMZBC'
	tool sg_vpd --page=bl
	shows "page B0h" "compare and write length: 0 blocks" \
		"transfer length granularity: 8 blocks" \
		"Maximum transfer length: $MAX_TRANSFER blocks" \
		"Maximum unmap LBA count: 0 " "Maximum atomic transfer length: 0 "
	tool sg_vpd --page=bdc
	shows "page B1h" "Non-rotating medium" "ZONED=0"$'\n'
	tool sg_vpd --page=lbpv
	shows "page B2h" "\(LBPU\): 0" "\(LBPWS\): 0" "\(LBPWS10\): 0" "Provisioning type: 0 "
	tool sg_vpd --page=zbdch
	shows "page B6h" "Zoned block device extension: not reported" "URSWRZ: 1"$'\n' \
		"sequential write required zones: 8"$'\n'
	hex_of sg_vpd --raw --page=zbdch "$SG"
	expect_eq "ZONE ALIGNMENT METHOD: constant lengths" 1 $((16#${HEX:46:2} & 15))
	expect_eq "ZONE STARTING LBA GRANULARITY" 0000000000000000 "${HEX:48:16}"
	tool sg_vpd --all
}

capacity() {
	tool sg_readcap
	shows "READ CAPACITY(10)" "Last LBA=$((CAPACITY - 1)) " "Logical block length=512 bytes"
	tool sg_readcap --16
	shows "READ CAPACITY(16)" "prot_en=0, p_type=0, p_i_exponent=0" "lbpme=0, lbprz=0" \
		"Last LBA=$((CAPACITY - 1)) " "Logical block length=512 bytes" \
		"per physical block exponent=3 \[so physical block length=4096 " \
		"Lowest aligned LBA=0"$'\n'
	hex_of sg_readcap --16 --raw "$SG"
	expect_eq "RC BASIS: the whole unit" 1 $((16#${HEX:24:2} >> 4 & 3))
}

state() {
	tool sg_luns
	shows "sg_luns" "1 lun entry" $'\n    0000000000000000\n'
	tool sg_turs --number=20
	tool sg_requests
	shows "sg_requests" "Fixed format, current; Sense key: No Sense"
	hex_of sg_requests --raw "$SG"
	expect_eq "REQUEST SENSE, fixed format" 70000000000000 "${HEX:0:14}"
	tool sg_requests --desc
	shows "sg_requests" "Descriptor format, current; Sense key: No Sense"
}

# mode_page BYTES NAME PC-NAME: a line of sg_modes' output, hexadecimal.
mode_page() {
	shows "mode page" "$2, page_control: $3"$'\n 00 +'"$1"
}

mode_pages() {
	local length
	for length in '' -6; do
		# shellcheck disable=SC2086  # none or one option
		tool sg_modes $length -a
		shows "mode parameter header" "medium type=0x00, WP=0, DpoFua=1, longlba=0" \
			"Block descriptor length=8" " 00 +00 80 00 00 00 00 02 00"$'\n'
		mode_page "01 0a .. 0" "Read-Write error recovery" current
		mode_page "08 12 04 00" Caching current
		mode_page "0a 0a 02 00 00" Control current
		mode_page "1c 0a .. .0" "Informational exceptions control" current
	done
	tool sg_modes -a --control=1
	mode_page "01 0a 00 00 00 00 00 00 +00 00 00 00" "Read-Write error recovery" changeable
	mode_page "08 12 04 00 00 00 00 00 +00" Caching changeable   # WCE
	mode_page "0a 0a 04 00 08 00 00 00 +00" Control changeable   # D_SENSE, SWP
	tool sg_modes -a --control=2
	mode_page "08 12 04 00" Caching default
	mode_page "0a 0a 02 00 00" Control default
	tool sg_modes --llbaa --page=8
	shows "long block descriptor" "longlba=1" "length=16" \
		" 00 +00 00 00 00 00 80 00 00  00 00 00 00 00 00 02 00"$'\n'
	tool sg_modes --dbd --page=0x3f,0xff
	shows "no block descriptor" "Block descriptor length=0" "Caching" "Control"
	expect_sense 5/39/00 sg_modes --page=8 --control=3 "$SG"
	expect_sense 5/24/00 sg_modes --page=0xd "$SG"
	expect_field 2 5
	expect_sense 5/24/00 sg_modes --page=8,3 "$SG"
	expect_field 3
}

# Values of the log page after a known history: two explicit opens at once, one failed one, one
# implicit open, two resets, violations of a write and of a read rule.
log_pages() {
	local zone=$((CAPACITY / 64)) z
	z=$((10 * zone))
	tool sg_logs -ll
	shows "supported log pages" "0x00 +Supported log pages" "0x00,0xff" "0x14,0x01 +Zoned block"
	tool sg_logs --all --all
	tool sg_logs --page=0x14,1
	shows "statistics of an unused LUN" "Maximum open zones: 0"$'\n' \
		"Minimum empty zones: 60"$'\n' "Zones emptied: 0"$'\n' \
		"Failed explicit opens: 0"$'\n' "Write rule violations: 0"$'\n'

	tool sg_zone --open --zone=$z --count=2
	expect_sense 7/55/0e sg_zone --open --zone=$((z + 2 * zone)) --count=7 "$SG"
	write_blocks $((z + 20 * zone)) 8
	write_refused 5/21/04 $((z + 21 * zone + 8)) 8
	read_refused 5/21/07 $((4 * zone - 8)) 16
	tool sg_reset_wp --all
	tool sg_logs --page=0x14,1
	shows "statistics" "Maximum open zones: 3"$'\n' "Maximum explicitly open zones: 2"$'\n' \
		"Maximum implicitly open zones: 1"$'\n' "Minimum empty zones: 57"$'\n' \
		"Zones emptied: 3"$'\n' "Failed explicit opens: 1"$'\n' \
		"Read rule violations: 1"$'\n' "Write rule violations: 1"$'\n'
	expect_sense 5/24/00 sg_logs --page=0x3f "$SG"
	expect_field 2 5
}

# Opcode, service action, CDB length of every command there must be.
COMMANDS="00:6 03:6 08:6 0a:6 12:6 15:6 1a:6 1b:6 25:10 28:10 2a:10 2f:10 35:10 41:10 4d:10 55:10
	5a:10 88:16 8a:16 8f:16 91:16 93:16 94,1:16 94,2:16 94,3:16 94,4:16 95,0:16 9e,10:16 a0:12
	a3,c:12 a3,d:12 a8:12 aa:12 af:12"

supported_commands() {
	local command opcode action size
	tool sg_opcodes
	for command in $COMMANDS; do
		size=${command##*:} opcode=${command%%[,:]*} action=
		[[ $command == *,* ]] && action=${command#*,} action=${action%:*}
		shows "supported commands" $'\n'" $opcode +$action +$size +0,0 "
	done
	tool sg_opcodes --rctd
	shows "commands with timeouts" "Nominal  Recommended" $'\n 88 +16 '
	tool sg_opcodes --compact
	shows "commands" $'\n 95,0 +Report zones\n'

	tool sg_opcodes --opcode=0x95,0
	shows "REPORT ZONES" "Command is supported \[conforming" \
		"Usage data: 95 00 (ff ){12}bf 0[04] "
	tool sg_opcodes --opcode=0x94,4 --rctd
	shows "RESET WRITE POINTER" "Command is supported \[conforming" \
		"Usage data: 94 04 (ff ){8}00 00 ff ff 01 0[04] " "timeout"
	tool sg_opcodes --opcode=0x42
	shows "UNMAP" "Command is NOT supported"
	tool sg_opcodes --opcode=0x94,0x1f
	shows "an unknown service action" "Command is NOT supported"
	expect_sense 5/24/00 sg_opcodes --opcode=0x94 "$SG"
	expect_field 2 2
	expect_sense 5/24/00 sg_opcodes --opcode=0x88,1 "$SG"
	expect_field 4
	tool sg_opcodes --tmf
	shows "task management functions" "Abort task"$'\n' "Logical unit reset"$'\n'
	tool sg_opcodes --tmf --repd
	shows "task management functions" "Extended parameter data"
}

unsupported_commands() {
	expect_sense 5/20/00 sg_unmap --lba=0 --num=8 --force "$SG"
	expect_sense 5/20/00 sg_senddiag -t "$SG"
	expect_sense 5/24/00 sg_get_lba_status "$SG"
	expect_field 1 4
	expect_sense 5/24/00 sg_zone --sequentialize "$SG"
	expect_field 1 4
}

make_pattern
start_daemon
lun_create gb 4G zone_size=64M/conv=4/max_open=8/lba=512/pblk=4096
for part in inquiry vpd_headers vpd_pages capacity state mode_pages log_pages supported_commands \
	unsupported_commands; do
	note "$part"
	"$part"
done

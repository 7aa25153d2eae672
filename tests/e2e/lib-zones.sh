# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
#
# Zones and blocks through /dev/sgN, for the end-to-end tests. To be sourced after lib.sh. SG is the
# node that all commands go to, BLOCK the logical block size of its LUN in bytes.

PATTERN=/dev/shm/pattern # random data, the source of every write
PATTERN_BYTES=$((1 << 20))
GOT=/dev/shm/got # what was read

# make_pattern: fill PATTERN.
make_pattern() {
	head -c "$PATTERN_BYTES" /dev/urandom >"$PATTERN"
}

# zone_list LBA [OPTION...]: print "START TYPE CONDITION LENGTH WP" of each zone from LBA on, as
# sg_rep_zones decodes them; it gets OPTION.
zone_list() {
	sg_rep_zones -m $((1 << 20)) --start="$1" "${@:2}" "$SG" | awk '
		/Zone type: Conventional/ { type = "conventional" }
		/Zone type: Sequential write required/ { type = "swr" }
		/Zone type: Gap/ { type = "gap" }
		/Zone condition: / {
			sub(/.*: /, "")
			gsub(/ /, "-")
			condition = tolower($0)
		}
		/Zone Length: / { len = $NF }
		/Zone start LBA: / { start = $NF }
		/Write pointer LBA: / { print start, type, condition, len, $NF }'
}

# zbd_zones OFFSET [OPTION...]: print "NUMBER TYPE START LENGTH CAPACITY WP CONDITION ..." of each
# zone of DISK from OFFSET on, in bytes, as zbd has it from the kernel; it gets OPTION.
zbd_zones() {
	zbd report -csv -ofst "$1" "${@:2}" "$DISK" | sed -E '1d; s/, / /g; s/\b0+([0-9])/\1/g'
}

# expect_zone LBA TYPE CONDITION [WP]: the zone that begins at LBA, in sg_rep_zones' words, but SWR
# for sequential write required. WP is not compared when left out.
expect_zone() {
	local line type condition start wp
	OUTPUT=$(sg_rep_zones --start="$1" -m 128 "$SG")
	while IFS= read -r line; do
		case $line in
		*"Zone type: "*) type=${line#*: } ;;
		*"Zone condition: "*) condition=${line#*: } ;;
		*"Zone start LBA: "*) start=${line#*: } ;;
		*"Write pointer LBA: "*) wp=${line#*: } ;;
		esac
	done <<<"$OUTPUT"
	expect_eq "start of the zone at $1" "$(($1))" "$((start))"
	expect_eq "type of the zone at $1" "$2" "${type/Sequential write required/SWR}"
	expect_eq "condition of the zone at $1" "$3" "$condition"
	[[ ! ${4:-} ]] || expect_eq "write pointer of the zone at $1" "$(($4))" "$((wp))"
}

# expect_zones WHAT COUNT OPTION: REPORT ZONES has so many zones with this reporting option. The
# header tells, which comes alone.
expect_zones() {
	OUTPUT=$(sg_rep_zones -m 64 -H --report="$3" "$SG")
	[[ $OUTPUT =~ ^' 00     '([0-9a-f ]{11}) ]] || fail "no header: $OUTPUT"
	expect_eq "number of $1" "$2" $((16#${BASH_REMATCH[1]// /} / 64))
}

# write_command LBA BLOCKS [SKIP]: set COMMAND to a WRITE(16) of PATTERN's blocks, from block SKIP
# on.
write_command() {
	cdb16 8a "$1" "$2"
	COMMAND=(sg_raw -s $(($2 * BLOCK)) -k $((${3:-0} * BLOCK)) -i "$PATTERN" "$SG" "${CDB[@]}")
}

# read_command LBA BLOCKS: set COMMAND to a READ(16) into GOT.
read_command() {
	cdb16 88 "$1" "$2"
	COMMAND=(sg_raw -r $(($2 * BLOCK)) -o "$GOT" "$SG" "${CDB[@]}")
}

# write_blocks LBA BLOCKS [SKIP]: as write_command; it must succeed.
write_blocks() {
	write_command "$@"
	expect_status 0 "${COMMAND[@]}"
}

# write_refused SENSE LBA BLOCKS [SKIP]: as write_command; it must be refused with SENSE.
write_refused() {
	write_command "${@:2}"
	expect_sense "$1" "${COMMAND[@]}"
}

# read_refused SENSE LBA BLOCKS
read_refused() {
	read_command "$2" "$3"
	expect_sense "$1" "${COMMAND[@]}"
}

# read_blocks LBA BLOCKS: read into GOT.
read_blocks() {
	read_command "$1" "$2"
	expect_status 0 "${COMMAND[@]}"
}

# expect_pattern LBA BLOCKS [SKIP]: these blocks hold PATTERN's, from block SKIP on.
expect_pattern() {
	read_blocks "$1" "$2"
	cmp -n $(($2 * BLOCK)) "$GOT" "$PATTERN" 0 $((${3:-0} * BLOCK)) ||
		fail "other data at LBA $1 than what was written"
}

# expect_zeros LBA BLOCKS: these blocks hold zeros.
expect_zeros() {
	read_blocks "$1" "$2"
	cmp -n $(($2 * BLOCK)) "$GOT" /dev/zero || fail "no zeros at LBA $1"
}

# expect_information LBA: INFORMATION of the last sense data, with VALID=1, or "none" for none.
expect_information() {
	local got=none
	[[ $OUTPUT =~ ($'\n  Info fld='|'Descriptor type: Information: ')(0x[0-9a-f]+) ]] &&
		got=$((BASH_REMATCH[2]))
	[[ $1 == none ]] || set -- "$(($1))"
	expect_eq "INFORMATION of the sense data" "$1" "$got"
}

# expect_field BYTE [BIT]: the field pointer of the last sense data points into the CDB, here.
expect_field() {
	expect_match "field pointer" \
		"Sense Key Specific: Error in Command: byte $1${2:+ bit $2}"$'\n' "$OUTPUT"
}

# fill_zone LBA BLOCKS: write zeros up to BLOCKS blocks into an empty zone, 16 MiB a command.
fill_zone() {
	local done=0 step
	while ((done < $2)); do
		step=$(((16 << 20) / BLOCK))
		((step <= $2 - done)) || step=$(($2 - done))
		expect_status 0 sg_write_same --16 --ndob --lba=$(($1 + done)) --num="$step" "$SG"
		((done += step))
	done
}

# queue NAME: print an attribute of DISK's request queue.
queue() {
	cat "/sys/block/${DISK#/dev/}/queue/$1"
}

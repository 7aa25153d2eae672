# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
#
# What the end-to-end tests share. They run in the virtual machine, as root, and leave everything as
# it is at the end: the machine goes away. To be sourced first; exit status 77 means skipped.

set -euo pipefail

TARGET=/sys/kernel/config/target
RUNNER_LOG=/var/log/tcmu-runner.log
HANDLERS=/run/handlers
HANDLER=${HANDLER:-memzbc} # subtype of the handler that lun_create uses
declare -A LUN_WWN=()      # loopback target of each LUN by its name

# note TEXT...: what the test does now.
note() {
	printf '== %s\n' "$*"
}

# fail TEXT...: the test has failed.
fail() {
	printf 'FAILED: %s\n' "$*" >&2
	exit 1
}

# skip REASON...: the test cannot be run here.
skip() {
	printf 'SKIPPED: %s\n' "$*"
	exit 77
}

# dump_logs: what the daemon and the kernel said, after a failure.
dump_logs() {
	local status=$?
	((status == 0 || status == 77)) && return
	printf '\n== exit status %d; the end of %s:\n' "$status" "$RUNNER_LOG"
	tail -n 40 "$RUNNER_LOG" 2>/dev/null || true
	printf '\n== the end of the kernel log:\n'
	dmesg | tail -n 40
} >&2

[[ ${MEMZBC_VM:-} ]] || skip "runs in the virtual machine only: scripts/vm -- $0"
trap dump_logs EXIT

# wait_until SECONDS COMMAND...: poll until COMMAND succeeds; its output is dropped.
wait_until() {
	local end=$((SECONDS + $1))
	shift
	until "$@" &>/dev/null; do
		((SECONDS <= end)) || fail "still not so after waiting: $*"
		sleep 0.05
	done
}

# expect_eq WHAT WANTED GOT
expect_eq() {
	[[ $2 == "$3" ]] || fail "$1: wanted '$2', got '$3'"
}

# expect_match WHAT REGEX TEXT: a part of TEXT matches the extended regular expression.
expect_match() {
	[[ $3 =~ $2 ]] || fail "$1: wanted something like '$2', got '$3'"
}

# expect_status STATUS COMMAND...: COMMAND ends with STATUS; its output, both kinds, is in OUTPUT.
expect_status() {
	local wanted=$1 got=0
	shift
	OUTPUT=$("$@" 2>&1) || got=$?
	((got == wanted)) || fail "exit status of '$*': wanted $wanted, got $got:"$'\n'"$OUTPUT"
}

# errno_of COMMAND...: print the message that the command ends with.
errno_of() {
	local text
	text=$("$@" 2>&1) && fail "'$*' did not fail"
	printf '%s' "${text##*: }" | head -n1
}

# json EXPRESSION: print a Python expression of the JSON value `d` in OUTPUT.
json() {
	/usr/bin/python3 -c "import json, sys; d = json.load(sys.stdin); print($1)" <<<"$OUTPUT"
}

# sense_of TEXT: print key/ASC/ASCQ in hex of the raw sense data in an sg tool's output at -vv. No
# other program is started: under emulation each takes its time.
sense_of() {
	local raw
	[[ $1 =~ 'Raw sense data'[^$'\n']*(([[:space:]]+[0-9a-f][0-9a-f])+) ]] || return 0
	read -r -d '' -a raw <<<"${BASH_REMATCH[1]}" || true
	case ${raw[0]} in
	70 | f0) printf '%x/%s/%s' $((0x${raw[2]} & 15)) "${raw[12]}" "${raw[13]}" ;;
	72) printf '%x/%s/%s' $((0x${raw[1]} & 15)) "${raw[2]}" "${raw[3]}" ;;
	esac
}

# expect_sense KEY/ASC/ASCQ SG-TOOL ARG...: the command is refused with this sense (hex, such as
# 5/21/04). The tool's output with the raw sense data is in OUTPUT.
expect_sense() {
	local wanted=$1 tool=$2 got
	shift 2
	OUTPUT=$("$tool" -vv "$@" 2>&1) && fail "'$tool $*' was not refused:"$'\n'"$OUTPUT"
	got=$(sense_of "$OUTPUT")
	[[ $got == "$wanted" ]] ||
		fail "sense of '$tool $*': wanted $wanted, got '$got':"$'\n'"$OUTPUT"
}

# cdb16 OPCODE LBA BLOCKS: set CDB to a 16-byte READ, WRITE or the like, as sg_raw takes it.
cdb16() {
	local text i
	printf -v text '%s00%016x%08x0000' "$1" "$2" "$3"
	CDB=()
	for ((i = 0; i < 32; i += 2)); do
		CDB+=("${text:i:2}")
	done
}

# daemon_owns_name: tcmu-runner is on the bus.
daemon_owns_name() {
	dbus-send --system --print-reply=literal --dest=org.freedesktop.DBus / \
		org.freedesktop.DBus.NameHasOwner string:org.kernel.TCMUService1 | grep -q true
}

# start_daemon: load LIO and start tcmu-runner; its process id is in RUNNER. It gets the one handler
# that is tested: the others take it a second to load under emulation.
start_daemon() {
	modprobe -a target_core_user tcm_loop sd_mod sg
	if [[ ! -d $HANDLERS ]]; then
		mkdir -p /etc/target/pr "$HANDLERS"
		ln -s /usr/lib/*/tcmu-runner/"handler_${HANDLER/#zbc/file_zbc}.so" "$HANDLERS"
		: >"$RUNNER_LOG"
	fi
	tcmu-runner --handler-path "$HANDLERS" >/dev/null 2>&1 &
	RUNNER=$!
	wait_until 30 daemon_owns_name
}

# kill_daemon SIGNAL: end tcmu-runner with KILL, TERM or the like, and wait until it is gone.
kill_daemon() {
	kill -s "$1" "$RUNNER"
	wait "$RUNNER" 2>/dev/null || true
}

# end_program SIGNAL NAME: end the one process of this name, however it was started, and wait until
# it is gone.
end_program() {
	kill -s "$1" "$(pidof "$2")"
	wait_until 20 not_there "$2"
}

# not_there NAME: no process has this name.
not_there() {
	! pidof "$1"
}

# memory_of_daemon: print its resident memory in KiB.
memory_of_daemon() {
	awk '/^VmRSS/ { print $2 }' "/proc/$RUNNER/status"
}

# lun_create NAME SIZE CFG [CONTROL...]: a LUN on a loopback target of its own, made through
# configfs, which is seven times as fast as targetcli. SIZE is in bytes or with K, M, G, T; CFG the
# config string without the subtype; CONTROL is added to LIO's control string, such as
# hw_max_sectors=128. Sets DISK and SG to the nodes, ADDRESS to H:C:T:L.
lun_create() {
	local name=$1 size cfg=$3 control
	size=$(numfmt --from=iec "$2")
	control="dev_config=$HANDLER/$cfg,dev_size=$size,hw_max_sectors=2048"
	[[ $cfg =~ (^|/)lba[=-]4096 ]] && control+=,hw_block_size=4096
	backstore_create "$name" "$control${4:+,$4}" || fail "LIO refused the LUN $name ($cfg)"
	lun_export "$name"
	lun_find "$name"
}

# backstore_create NAME CONTROL: make and enable a backstore; fail as LIO does, leaving nothing.
backstore_create() {
	local place=$TARGET/core/user_0/$1
	mkdir -p "$place"
	if printf '%s' "$2" >"$place/control" &&
		printf '%s' "$1" >"$place/wwn/vpd_unit_serial" &&
		printf 1 >"$place/enable"; then
		return
	fi
	rmdir "$place"
	return 1
}

# lun_export NAME: show the backstore as LUN 0 of a new loopback target. The SCSI scan happens here.
lun_export() {
	local wwn tpg
	wwn=naa.50014050$(printf '%08x' $((16#$(sha256sum <<<"$1" | cut -c1-8))))
	tpg=$TARGET/loopback/$wwn/tpgt_1
	LUN_WWN[$1]=$wwn
	mkdir -p "$tpg"
	printf 'naa.60014050%s' "${wwn: -8}" >"$tpg/nexus"
	mkdir "$tpg/lun/lun_0"
	ln -s "$TARGET/core/user_0/$1" "$tpg/lun/lun_0/$1"
}

# lun_find NAME: set DISK, SG and ADDRESS; the nodes can come late.
lun_find() {
	local place
	ADDRESS=$(<"$TARGET/loopback/${LUN_WWN[$1]}/tpgt_1/address"):0
	place=/sys/bus/scsi/devices/$ADDRESS
	wait_until 20 compgen -G "$place/block/sd*"
	wait_until 20 compgen -G "$place/scsi_generic/sg*"
	DISK=/dev/$(basename "$place"/block/sd*)
	SG=/dev/$(basename "$place"/scsi_generic/sg*)
	wait_until 20 test -b "$DISK"
	wait_until 20 test -c "$SG"
}

# lun_delete NAME: take the LUN away, the target first.
lun_delete() {
	local target=$TARGET/loopback/${LUN_WWN[$1]}
	rm "$target/tpgt_1/lun/lun_0/$1"
	rmdir "$target/tpgt_1/lun/lun_0"
	printf NULL >"$target/tpgt_1/nexus"
	rmdir "$target/tpgt_1" "$target" "$TARGET/core/user_0/$1"
	unset "LUN_WWN[$1]"
}

# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the tests of the module share. They run in the virtual machine, from module-vm.sh, which sets
# MODULE and WRITER. To be sourced after tests/e2e/lib.sh.

HANDLER_NAME=memzbc_eh
FAST=/dev/shm # where a program starts quickly
cp "$MODULE" "$WRITER" "$FAST"
ZONE_BLOCKS=1024 # of the LUNs made here
ZONED_CONFIG=zone_size=4M/lba=4096/conv=1

# place ADDRESS: print the directory of the device in sysfs.
place() {
	echo "/sys/bus/scsi/devices/$1"
}

# node ADDRESS: set NODE to the name of the disk's block node, such as sda. Without another process,
# as this is done often and each takes its time under emulation.
node() {
	local -a nodes=("/sys/bus/scsi/devices/$1"/block/sd*)
	NODE=${nodes[0]##*/}
}

# backstore NAME SIZE: a zoned backstore, to be exported.
backstore() {
	local control="dev_config=$HANDLER/$ZONED_CONFIG,hw_max_sectors=2048,hw_block_size=4096"
	backstore_create "$1" "$control,dev_size=$(numfmt --from=iec "$2")" ||
		fail "LIO refused the backstore $1"
}

# port ADDRESS OTHER: print LIO's directory of the LUN with this address on OTHER's target.
port() {
	echo "$TARGET/loopback/${LUN_WWN[$2]}/tpgt_1/lun/lun_${1##*:}"
}

# lun_share BACKSTORE OTHER: show the backstore, a directory below core, as LUN 1 of OTHER's target,
# and so of the same host. Sets ADDRESS.
lun_share() {
	local tpg=$TARGET/loopback/${LUN_WWN[$2]}/tpgt_1
	ADDRESS=$(<"$tpg/address"):1
	mkdir "$tpg/lun/lun_1"
	lun_link "$1" "$ADDRESS" "$2"
}

# lun_link BACKSTORE ADDRESS OTHER: have the LUN there, as after lun_unlink. tcm_loop does not let a
# scan of the host find it.
lun_link() {
	ln -s "$TARGET/core/$1" "$(port "$2" "$3")/${1##*/}"
	has_node "$2"
}

# lun_unlink NAME ADDRESS OTHER: have the LUN gone.
lun_unlink() {
	rm "$(port "$2" "$3")/$1"
}

# has_node ADDRESS: wait until the device has its block node.
has_node() {
	wait_until 20 compgen -G "/sys/bus/scsi/devices/$1/block/sd*"
	node "$1"
	wait_until 20 test -b "/dev/$NODE"
}

# set_queue ADDRESS: what the handler wants, and few tags, so that a hole does not last long. The
# LUNs of a host share them: more than half must be left for writes that are all to be in flight.
set_queue() {
	node "$1"
	echo none >"/sys/block/$NODE/queue/scheduler"
	echo 32 >"/sys/block/$NODE/queue/nr_requests"
}

# load: insert the module.
load() {
	insmod "$FAST/$HANDLER_NAME.ko"
}

# unused: no LUN has the handler.
unused() {
	[[ $(<"/sys/module/$HANDLER_NAME/refcnt") == 0 ]]
}

# unload: remove the module. The LUNs that had it are gone, but a program may still close them.
unload() {
	wait_until 20 unused
	rmmod "$HANDLER_NAME"
}

# attach ADDRESS: attach the handler.
attach() {
	local state=/sys/bus/scsi/devices/$1/dh_state
	echo "$HANDLER_NAME" >"$state"
	expect_eq "dh_state of $1" "$HANDLER_NAME" "$(<"$state")"
}

# counter ADDRESS NAME: print what the handler has counted.
counter() {
	echo "$(<"/sys/bus/scsi/devices/$1/$HANDLER_NAME/$2")"
}

# writes ADDRESS ZONE OPTION...: have zoned-writer send writes to a zone; its status is that.
writes() {
	node "$1"
	"$FAST/zoned-writer" "/dev/$NODE" --start $(($2 * ZONE_BLOCKS)) "${@:3}"
}

# refusals REASON: print how many such refusals are in the log.
refusals() {
	dmesg | grep -c "$HANDLER_NAME: refused: .*$1" || true
}

# expect_refused ADDRESS ERROR REASON [OTHER]: attaching fails with this error's text, REASON is in
# the kernel's log unless empty, and the device's handler is OTHER or none.
expect_refused() {
	local before
	before=$(refusals "$3")
	OUTPUT=$( (echo "$HANDLER_NAME" >"$(place "$1")/dh_state") 2>&1) &&
		fail "$1 was not refused"
	expect_match "errno" ": $2\$" "$OUTPUT"
	expect_eq "handler" "${4:-detached}" "$(<"$(place "$1")/dh_state")"
	[[ ! $3 ]] || expect_eq "refusals with '$3' in the log" $((before + 1)) "$(refusals "$3")"
	[[ ! -e $(place "$1")/$HANDLER_NAME ]] || fail "a LUN that was refused has statistics"
}

# expect_clean_log: the kernel has complained of nothing, and kmemleak, where it is, has found
# nothing of the module's.
expect_clean_log() {
	local leaks=/sys/kernel/debug/kmemleak
	if [[ -e $leaks ]]; then
		echo scan >"$leaks"
		sleep 6 # what is younger than 5 s does not count
		echo scan >"$leaks"
		if grep "$HANDLER_NAME" "$leaks"; then
			fail "the module leaks memory"
		fi
	fi
	if dmesg | grep -E 'WARNING|BUG|INFO: (task|rcu)|Oops|KASAN: |UBSAN: |Call Trace|refcount_t'
	then
		fail "the kernel complains"
	fi
}

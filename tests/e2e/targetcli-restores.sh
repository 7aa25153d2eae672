#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# saveconfig, clearconfig, restoreconfig: the same LUNs come back, one of them alone as well,
# without an error; and the example of config/ is one that targetcli takes.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/memzbc-lib.sh
source tests/e2e/memzbc-lib.sh

WWN=naa.50014050000000a1
# Two LUNs: logical blocks of 4096 bytes with zones of 96 MiB, and of 512 bytes with 64 MiB.
GA=zone_size=96M/conv=4/lba=4096
GB=zone_size=64M/conv=4/max_open=8
SAVED=/tmp/saved.json

# node LUN: print the generic node of a logical unit of the target.
node() {
	compgen -G "/sys/bus/scsi/devices/*:0:1:$1/scsi_generic/sg*" | sed 's|.*/|/dev/|'
}

has_nodes() {
	[[ -c $(node 0) && -c $(node 1) ]]
}

# identity LUN: print what makes a logical unit the one that it is.
identity() {
	local sg
	sg=$(node "$1")
	# Reported LUNs have changed, says the first command.
	sg_turs "$sg" >/dev/null 2>&1 || true
	sg_vpd --page=di --hex "$sg"
	sg_vpd --page=0xb6 --hex "$sg"
	sg_readcap --16 --hex "$sg"
	sg_rep_zones --raw "$sg" | sha256sum
}

# clean TEXT: no error is in what targetcli said.
clean() {
	! grep -iE 'cannot|could not|error|skipped|failed' <<<"$1" ||
		fail "targetcli reports errors"
}

start_daemon
note "two LUNs on one target"
targetcli <<-END
	/backstores/user:memzbc create name=ga size=6G cfgstring=$GA control=hw_block_size=4096
	/backstores/user:memzbc create name=gb size=4G cfgstring=$GB
	/loopback create $WWN
	/loopback/$WWN/luns create /backstores/user:memzbc/ga lun=lun0
	/loopback/$WWN/luns create /backstores/user:memzbc/gb lun=lun1
	saveconfig $SAVED
END
wait_until 20 has_nodes
ga=$(identity 0)
gb=$(identity 1)
[[ $ga != "$gb" ]] || fail "both LUNs are the same"

note "all of it away"
targetcli clearconfig confirm=True
expect_eq "backstores" "" "$(backstores)"
! compgen -G '/dev/sg*' || fail "a disk is left"

note "one alone"
OUTPUT=$(targetcli restoreconfig $SAVED storage_object=ga 2>&1)
clean "$OUTPUT"
expect_eq "backstores" ga "$(backstores)"
targetcli clearconfig confirm=True

note "all back, as before"
OUTPUT=$(targetcli restoreconfig $SAVED 2>&1)
clean "$OUTPUT"
wait_until 20 has_nodes
expect_eq "ga" "$ga" "$(identity 0)"
expect_eq "gb" "$gb" "$(identity 1)"
expect_match "logical block of ga" "00 00 10 00" "$ga"

note "the example"
OUTPUT=$(targetcli restoreconfig config/saveconfig.json clear_existing=True 2>&1)
clean "$OUTPUT"
wait_until 20 test -c "/dev/sg0"
expect_eq "backstores" z0 "$(backstores)"
wait_until 20 test -b /dev/sda
expect_eq "zoned model" host-managed "$(</sys/block/sda/queue/zoned)"
expect_eq "size in sectors" $((4 << 30 >> 9)) "$(</sys/block/sda/size)"

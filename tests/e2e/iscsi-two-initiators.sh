#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# A LUN over iSCSI: the login command that memzbc prints works, two initiators share the disk, and
# after logout and delete nothing is left.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/memzbc-lib.sh
source tests/e2e/memzbc-lib.sh

IQN=iqn.2003-01.org.linux-iscsi.memzbc:z-1
FIRST=iqn.2000-01.org.example:first
SECOND=iqn.2000-01.org.example:second

start_initiator() {
	modprobe -a iscsi_tcp sd_mod sg
	mkdir -p /etc/iscsi /run/lock/iscsi
	echo "InitiatorName=$FIRST" >/etc/iscsi/initiatorname.iscsi
	iscsid
}

# disks: print the block nodes of the iSCSI disks.
disks() {
	lsscsi --transport | awk '/iqn[.]/ && $NF ~ "^/dev/" { print $NF }'
}

has_disks() {
	[[ $(disks | wc -l) == "$1" ]]
}

# generic DISK: print its generic node.
generic() {
	echo "/dev/$(basename "/sys/block/${1#/dev/}"/device/scsi_generic/sg*)"
}

note "create prints portal, target and login command"
memzbc create before --size 1G --iscsi >/dev/null
memzbc delete before >/dev/null
before=$(listing)
expect_status 0 memzbc create z_1 --size 2G zone_size=128M zone_cap=96M conv=2 --iscsi
expect_match "portal" "portal +127.0.0.1:3260"$'\n' "$OUTPUT"
expect_match "target" "target +$IQN"$'\n' "$OUTPUT"
login=$(sed -n 's/^ *login *//p' <<<"$OUTPUT")
expect_status 1 memzbc zones z_1
expect_match "what zones says before a login" "log in first with.*$login" "${OUTPUT//$'\n'/ }"

note "the first initiator logs in as memzbc said"
start_initiator
eval "$login" >/dev/null
wait_until 30 has_disks 1
first=$(disks)
expect_eq "zoned model" host-managed "$(<"/sys/block/${first#/dev/}/queue/zoned")"
expect_status 0 memzbc zones z_1
expect_match "zone 2" $'\n2 +sequential write required +empty ' "$OUTPUT"

note "reads and writes"
fio --name=w --filename="$first" --zonemode=zbd --direct=1 --rw=write --bs=64k --offset=256M \
	--size=128M --io_size=16M --verify=crc32c --do_verify=1 --ioengine=libaio --iodepth=4 \
	>/tmp/fio.log 2>&1 || fail "fio: $(</tmp/fio.log)"
head -c 1M /dev/urandom >/tmp/data
dd if=/tmp/data of="$first" bs=1M seek=3 oflag=direct status=none

note "the second initiator sees the same disk and its data"
# From here on, open-iscsi takes this interface where none is named.
iscsiadm -m iface -I second -o new >/dev/null
iscsiadm -m iface -I second -o update -n iface.initiatorname -v "$SECOND" >/dev/null
iscsiadm -m node -T "$IQN" -p 127.0.0.1:3260 -I second -o new >/dev/null
iscsiadm -m node -T "$IQN" -I second --login >/dev/null
wait_until 30 has_disks 2
second=$(disks | grep -vx "$first")
expect_eq "designators (VPD 83h)" "$(sg_vpd --page=di --hex "$(generic "$first")")" \
	"$(sg_vpd --page=di --hex "$(generic "$second")")"
cmp -n 1M /tmp/data <(dd if="$second" bs=1M skip=3 count=1 iflag=direct status=none) ||
	fail "the second initiator reads other data"

note "the write pointer is one for both"
sg_reset_wp --zone=$((0x80000)) "$(generic "$second")"
cdb16 8a $((0x80000)) 8
sg_raw --send=4096 --infile=/tmp/data "$(generic "$first")" "${CDB[@]}" 2>&1
cdb16 8a $((0x80008)) 8
sg_raw --send=4096 --infile=/tmp/data "$(generic "$second")" "${CDB[@]}" 2>&1
expect_sense 5/21/04 sg_raw --send=4096 --infile=/tmp/data "$(generic "$first")" "${CDB[@]}"

note "no delete while somebody is logged in"
expect_status 1 memzbc delete z_1
expect_match "reason" "initiator $FIRST is logged in .*initiator $SECOND is logged in" \
	"${OUTPUT//$'\n'/ }"
expect_status 0 memzbc list --json
expect_eq "initiators" "$FIRST $SECOND" "$(json '" ".join(d[0]["exports"][0]["initiators"])')"

note "logout and delete"
iscsiadm -m node -T "$IQN" --logout >/dev/null
wait_until 30 has_disks 0
expect_status 0 memzbc delete z_1
expect_eq "backstores and targets" "$before" "$(listing)"
! ss -ltn | grep -q :3260 || fail "the portal still listens"

note "IPv6"
expect_status 0 memzbc create z_1 --size 1G --iscsi --portal '[::1]:3261'
eval "$(sed -n 's/^ *login *//p' <<<"$OUTPUT")" >/dev/null
wait_until 30 has_disks 1
iscsiadm -m node -T "$IQN" --logout >/dev/null
wait_until 30 has_disks 0
expect_status 0 memzbc delete z_1

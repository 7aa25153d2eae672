#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# memzbc makes a LUN where nothing runs yet, shows it and its zones, keeps it while it is in use,
# and deletes it without a trace.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/memzbc-lib.sh
source tests/e2e/memzbc-lib.sh

# refused_while_used WHY: the LUN cannot be deleted now, and the reason has WHY in it.
refused_while_used() {
	expect_status 1 memzbc delete z0
	expect_match "reason not to delete" "$1" "$OUTPUT"
	[[ -b $DISK ]] || fail "$DISK is gone"
}

note "nothing runs and no module is loaded: create does all of it"
end_program TERM dbus-daemon
[[ ! -d /sys/module/target_core_user && ! -d /sys/module/tcm_loop ]] || fail "modules are loaded"
expect_status 0 memzbc list
expect_match "list without LIO" "no LUN" "$OUTPUT"
make_lun z0 zone_size=128M --size 2G zone_cap=96M conv=2
pidof tcmu-runner >/dev/null || fail "no tcmu-runner"
[[ $OUTPUT != *warning* ]] || fail "a warning for zones that Linux takes: $OUTPUT"
expect_eq "zoned model" host-managed "$(<"/sys/block/${DISK#/dev/}/queue/zoned")"
expect_eq "size in sectors" $((2 << 30 >> 9)) "$(sectors "$DISK")"

note "1 MiB goes in one command"
expect_match "maximum transfer length" "Maximum transfer length: 2048 blocks" \
	"$(sg_vpd --page=bl "$SG")"
expect_eq max_sectors_kb 1024 "$(<"/sys/block/${DISK#/dev/}/queue/max_sectors_kb")"

note "list, as text and as JSON"
expect_status 0 memzbc list
expect_match "list" "z0 +2G +16 x 128M +hm .*$DISK $SG +no +memzbc/zone_size=128M/zone_cap=96M" \
	"$OUTPUT"
expect_status 0 memzbc list --json
expect_eq "name, size, block size" "z0 2147483648 512" \
	"$(json 'd[0]["name"], d[0]["size"], d[0]["geometry"]["lba_size"]' | tr -d "(),'")"
expect_eq "nodes" "$DISK $SG" \
	"$(json '" ".join(d[0]["exports"][0]["disks"][0][n] for n in ("block", "sg"))')"

note "zones: the gap of a zone has no number"
expect_status 0 memzbc zones z0
expect_match "conventional zone" $'\n1 +conventional +not write pointer +0x40000 +0x40000 +-\n' \
	"$OUTPUT"
expect_match "sequential zone" \
	$'\n2 +sequential write required +empty +0x80000 +0x30000 +0x80000\n' "$OUTPUT"
expect_match "gap" $'\n- +gap +not write pointer +0xb0000 +0x10000 +-\n' "$OUTPUT"
dd if=/dev/zero of="$DISK" bs=4096 seek=$((0x80000 / 8)) count=2 oflag=direct status=none
expect_status 0 memzbc zones --json z0
expect_eq "zone 2 after a write of 16 blocks" "implicitly opened $((0x80010))" \
	"$(json '" ".join(str(z[k]) for z in d["zones"] if z["zone"] == 2
		for k in ("condition", "write_pointer"))')"
expect_eq "descriptors" $((2 + 14 * 2)) "$(json 'len(d["zones"])')"

note "in use: no delete"
exec 9<"$SG"
refused_while_used "$SG is open in bash \(pid $$\)"
exec 9>&-
mkfs.btrfs -q -O zoned -d single -m single "$DISK" >/dev/null 2>&1 ||
	fail "mkfs.btrfs does not take $DISK"
mkdir -p /mnt/z0
mount "$DISK" /mnt/z0
refused_while_used "$DISK is mounted on /mnt/z0"
expect_status 0 memzbc list
expect_match "use in list" " mounted " "$OUTPUT"
umount /mnt/z0

note "a second LUN of the name is refused and the first one stays"
before=$(listing)
expect_status 1 memzbc create z0 --size 1G
expect_match "reason" "name 'z0': a LUN of this name exists" "$OUTPUT"
expect_eq "target configuration" "$before" "$(listing)"

note "delete"
expect_status 0 memzbc delete z0
[[ ! -e $SG && ! -e $DISK ]] || fail "nodes are left"
expect_eq "what is left" "$TARGET/core/alua
$TARGET/loopback/discovery_auth
$TARGET/loopback/version" "$(listing)"
expect_status 1 memzbc delete z0
expect_match "reason" "no LUN 'z0'" "$OUTPUT"
expect_status 1 memzbc zones z0
expect_match "reason" "no LUN 'z0'" "$OUTPUT"

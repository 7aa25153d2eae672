#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# memzbc set, get, stats and their kin on LUNs in use: what they change, what they refuse, where the
# sockets are, and that settings outlive the daemon. The same keys through LIO's dev_config.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh

SOCKETS=/run/memzbc

# value NAME KEY: print what is in force.
value() {
	memzbc get "$1" "$2"
}

# sockets: print the names in the directory.
sockets() {
	find "$SOCKETS" -mindepth 1 -printf '%f\n' | sort | xargs
}

# dev_config NAME STRING: write LIO's attribute as echo does.
dev_config() {
	echo "$2" >"$TARGET/core/user_0/$1/attrib/dev_config"
}

start_daemon
lun_create z0 256M zone_size=16M/conv=2/reorder=5
lun_create z1 256M zone_size=16M/conv=2

note "sockets that only root can use"
expect_eq "sockets" "z0.sock z1.sock" "$(sockets)"
expect_eq "modes and owners" "srw------- root srw------- root drwx------ root" \
	"$(stat -c '%A %U' "$SOCKETS"/z?.sock "$SOCKETS" | xargs)"

note "set and get"
expect_eq "reorder as created" 5 "$(value z0 reorder)"
expect_status 0 memzbc set z0 reorder=16 hold=8 hold_time=100ms
expect_eq "what set prints" "z0: reorder=16 hold=8 hold_time=100ms" "$OUTPUT"
expect_eq "reorder" 16 "$(value z0 reorder)"
expect_eq "hold_time" 100ms "$(value z0 hold_time)"
expect_eq "the other LUN" 0 "$(value z1 reorder)"
expect_status 0 memzbc get z0 --json
expect_eq "hold in JSON" 8 "$(json 'd["settings"]["hold"]')"
expect_status 0 memzbc get z0
expect_match "get" $'\nreorder=16\n' "$OUTPUT"

note "all or nothing, with a reason"
expect_status 1 memzbc set z0 reorder=2 hold=many
expect_match "reason" "memzbc: hold=many: .*accepted: 0 to" "$OUTPUT"
expect_status 1 memzbc set z0 reorder=2 zone_size=32M
expect_match "reason" "zone_size=32M: set at creation only: stays 16M" "$OUTPUT"
expect_eq "reorder" 16 "$(value z0 reorder)"
expect_status 1 memzbc get nowhere
expect_match "reason" "no LUN 'nowhere' \(there is: z0, z1\)" "$OUTPUT"

# log_pages: what the log pages have counted, the words before it and the number.
log_pages() {
	sg_logs --page=0x14,1 "$SG" | grep -oE 'Write rule violations: [0-9]+'
	sg_logs --page=2 "$SG" | grep -oE 'Total uncorrected errors *= *[0-9]+'
}

note "statistics, from zero, and the log pages with them"
sg_turs -n 5 "$SG"
cdb16 8a $((0x10008)) 8 # zone 2 is empty and starts at 10000h
expect_sense 5/21/04 sg_raw -s 4096 -i /dev/zero "$SG" "${CDB[@]}"
memzbc set z1 error=medium@write@n1 >/dev/null
cdb16 8a 0 8
expect_sense 3/0c/00 sg_raw -s 4096 -i /dev/zero "$SG" "${CDB[@]}"
memzbc set z1 error=off >/dev/null
expect_status 0 memzbc stats z1 --json
expect_match "commands of class other" '^[1-9]' "$(json 'd["classes"]["other"]["commands"]')"
expect_match "log pages" "violations: 1"$'\n'"Total uncorrected errors *= *1" "$(log_pages)"
expect_status 0 memzbc reset-stats z1
expect_status 0 memzbc stats z1 --json
expect_eq "commands" 0 "$(json 'sum(c["commands"] for c in d["classes"].values())')"
expect_eq "unaligned writes" 0 "$(json 'd["writes"]["unaligned"]')"
expect_match "log pages" "violations: 0"$'\n'"Total uncorrected errors *= *0" "$(log_pages)"

note "statistics, again and again"
expect_status 0 timeout --preserve-status -s INT 8 memzbc stats --watch z1
(($(grep -c "^z1: counted for" <<<"$OUTPUT") >= 2)) || fail "shown once: $OUTPUT"

note "dev_config replaces what may change, all or nothing"
dev_config z0 memzbc/zone_size=16M/conv=2/hold=3
expect_eq "reorder, not named" 0 "$(value z0 reorder)"
expect_eq "hold" 3 "$(value z0 hold)"
! dev_config z0 memzbc/zone_size=32M/conv=2/hold=4 2>/dev/null || fail "geometry was accepted"
expect_match "the log" "zone_size=32M: set at creation only: stays 16M" "$(tail -n1 "$RUNNER_LOG")"
expect_eq "hold" 3 "$(value z0 hold)"

note "settings outlive the daemon, and a dead daemon's sockets are replaced"
memzbc set z1 seed=77 delay=1ms
kill_daemon KILL
expect_status 1 memzbc get z1 seed
expect_match "reason" "tcmu-runner is not running" "$OUTPUT"
start_daemon
wait_until 20 memzbc get z1 seed
expect_eq "seed" 77 "$(value z1 seed)"
expect_eq "delay" 1ms "$(value z1 delay)"
expect_eq "hold of z0, from dev_config" 3 "$(value z0 hold)"
expect_eq "sockets" "z0.sock z1.sock" "$(sockets)"

note "LUNs of one name in two HBAs"
place=$TARGET/core/user_1/z0
mkdir -p "$place"
printf 'dev_config=memzbc/zone_size=16M,dev_size=%d' $((64 << 20)) >"$place/control"
printf 1 >"$place/enable"
expect_eq "sockets" "z0.sock z0@user_1.sock z1.sock" "$(sockets)"
memzbc set z0@user_1 hold=9
expect_eq "hold of the one" 9 "$(value z0@user_1 hold)"
expect_eq "hold of the other" 3 "$(value z0 hold)"
rmdir "$place"
expect_eq "sockets" "z0.sock z1.sock" "$(sockets)"

note "a LUN takes its socket away"
lun_delete z0
expect_eq "sockets" "z1.sock" "$(sockets)"
kill_daemon TERM
expect_eq "sockets" "" "$(sockets)"

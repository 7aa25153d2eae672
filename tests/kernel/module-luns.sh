#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Several LUNs of one host: each that has the handler gets retries, each that has not fails as
# always, whatever becomes of the others.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/kernel/module-lib.sh
source tests/kernel/module-lib.sh

SHUFFLED=(--count 12 --order shuffle:1 --verify)

# expect_retried ADDRESS ZONE: writes in any order are good.
expect_retried() {
	expect_status 0 writes "$1" "$2" "${SHUFFLED[@]}"
}

# expect_not_retried ADDRESS ZONE: of writes out of order, some fail as they do without the module.
expect_not_retried() {
	expect_status 1 writes "$1" "$2" "${SHUFFLED[@]}"
	expect_match "errors" '"errno": 121' "$OUTPUT"
}

start_daemon
load
lun_create a 64M "$ZONED_CONFIG"
a=$ADDRESS
backstore b 64M
lun_share user_0/b a
b=$ADDRESS
set_queue "$a"
set_queue "$b"

note "neither has the handler"
expect_not_retried "$a" 1
expect_not_retried "$b" 1

note "one of two"
attach "$a"
expect_retried "$a" 2
expect_not_retried "$b" 2
expect_match "rounds" '^[1-9]' "$(counter "$a" rounds)"

note "both at the same time"
attach "$b"
writes "$a" 3 "${SHUFFLED[@]}" >/dev/null &
writer=$!
expect_retried "$b" 3
wait "$writer" || fail "writes failed with the handler"
before=$(counter "$a" retried)
expect_retried "$b" 4
expect_eq "retries of the one when the other is used" "$before" "$(counter "$a" retried)"

note "what needs other error handling gets it, beside writes out of order"
node "$b"
echo 1 >"/sys/bus/scsi/devices/$b/scsi_disk/$b/allow_restart"
memzbc set b error=sense020402@read@n1 >/dev/null
writes "$a" 8 --count 32 --order shuffle:2 --verify >/dev/null &
writer=$!
dd if="/dev/$NODE" of=/dev/null bs=4096 count=1 iflag=direct status=none ||
	fail "a READ fails: the unit was not started"
wait "$writer" || fail "writes failed with the handler"
expect_eq "START STOP UNIT" 1 "$(memzbc trace b | grep -c 'START STOP UNIT')"

note "one goes, the other stays"
echo 1 >"$(place "$b")/delete"
expect_retried "$a" 5

note "it comes back, without the handler"
lun_unlink b "$b" a
lun_link user_0/b "$b" a
set_queue "$b"
expect_eq "dh_state" detached "$(<"$(place "$b")/dh_state")"
expect_not_retried "$b" 5
expect_retried "$a" 6

note "the last one with the handler goes"
echo 1 >"$(place "$a")/delete"
unload
expect_not_retried "$b" 6
load
attach "$b"
expect_retried "$b" 7
expect_clean_log

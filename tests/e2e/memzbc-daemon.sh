#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# memzbc and the daemon: two creations at once where no daemon runs; a daemon that lacks the handler
# is restarted if it serves nobody, and left alone if it does. Large logical blocks; many zones.

# shellcheck source=tests/e2e/lib.sh
source tests/e2e/lib.sh
# shellcheck source=tests/e2e/memzbc-lib.sh
source tests/e2e/memzbc-lib.sh

# start_lacking [HANDLER]: start a daemon that has that handler only, or none.
start_lacking() {
	mkdir -p /run/few
	[[ ! ${1:-} ]] || ln -s /usr/lib/*/tcmu-runner/"$1" /run/few
	tcmu-runner --handler-path /run/few >/dev/null 2>&1 &
	wait_until 30 daemon_owns_name
}

note "two at once, with no daemon"
memzbc create a --size 1G >/tmp/a 2>&1 &
first=$!
expect_status 0 memzbc create b --size 1G
wait $first || fail "the first one: $(</tmp/a)"
expect_eq "backstores" $'a\nb' "$(backstores)"
expect_eq "daemons" 1 "$(pidof tcmu-runner | wc -w)"
memzbc delete a
memzbc delete b
end_program TERM tcmu-runner

note "a daemon without the handler that serves nobody"
start_lacking
lacking=$(pidof tcmu-runner)
make_lun z0 --size 4G lba=4096 zone_size=64M
[[ $(pidof tcmu-runner) != "$lacking" ]] || fail "the daemon is the old one"
expect_eq "logical block" 4096 "$(<"/sys/block/${DISK#/dev/}/queue/logical_block_size")"
expect_eq max_sectors_kb 1024 "$(<"/sys/block/${DISK#/dev/}/queue/max_sectors_kb")"
memzbc delete z0

note "more zones than one REPORT ZONES returns"
make_lun big --size 20T
OUTPUT=$(memzbc zones big --json)
expect_eq "zones of 256 MiB in 20 TiB" 81920 "$(json 'len(d["zones"])')"
expect_eq "the last one" "81919 $((81919 * (256 << 11)))" \
	"$(json 'd["zones"][-1]["zone"], d["zones"][-1]["start"]' | tr -d '(,)')"
memzbc delete big
end_program TERM tcmu-runner

note "a daemon without the handler that serves another LUN"
start_lacking handler_file_zbc.so
lacking=$(pidof tcmu-runner)
backstore_create other "dev_config=zbc/model-HM/zsize-64/conv-4@/tmp/other,dev_size=1073741824" ||
	fail "no LUN of file_zbc"
expect_status 1 memzbc create z0 --size 1G
expect_match "reason" "no handler 'memzbc', and serves other LUNs" "$OUTPUT"
expect_eq "daemon" "$lacking" "$(pidof tcmu-runner)"
expect_eq "backstores" other "$(backstores)"

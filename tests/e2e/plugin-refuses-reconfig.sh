#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# Size and config string of a LUN in use cannot be changed: the writer gets an error, the log names
# the old and the new value, and the LUN is as before.

# shellcheck source=tests/e2e/plugin-lib.sh
source tests/e2e/plugin-lib.sh

# refused ATTRIBUTE VALUE REGEX: writing it fails; the last line of the log says why.
refused() {
	local attribute=$TARGET/core/user_0/z0/attrib/$1 before
	before=$(<"$attribute")
	if printf '%s' "$2" 2>/dev/null >"$attribute"; then
		fail "$1=$2 was accepted"
	fi
	expect_eq "$1 afterwards" "$before" "$(<"$attribute")"
	expect_match "the log" "$3" "$(tail -n 1 "$RUNNER_LOG")"
}

# zone_states: print the zones, one a line.
zone_states() {
	sg_rep_zones --num=8 "$SG" | grep -E 'condition|Write pointer'
}

start_daemon
lun_create z0 256M zone_size=16M/conv=4
head -c 4M /dev/urandom >/dev/shm/data
dd if=/dev/shm/data of="$DISK" bs=64k seek=1024 oflag=direct status=none
zones=$(zone_states)
capacity=$(sg_readcap -l "$SG")

refused dev_size $((512 << 20)) 'stays 268435456 bytes; 536870912 bytes refused'
refused dev_size $((128 << 20)) 'stays 268435456 bytes; 134217728 bytes refused'
refused dev_config "$HANDLER/zone_size=32M/conv=4" 'zone_size=32M: .* stays 16M'
refused dev_config "$HANDLER/zone_size=16M/conv=4/nonsense" nonsense
printf 1 >"$TARGET/core/user_0/z0/attrib/emulate_write_cache"

expect_eq "zones" "$zones" "$(zone_states)"
expect_eq "capacity" "$capacity" "$(sg_readcap -l "$SG")"
cmp -n $((4 << 20)) /dev/shm/data \
	<(dd if="$DISK" bs=64k skip=1024 count=64 iflag=direct status=none)
# Writing goes on at the write pointer.
dd if=/dev/shm/data of="$DISK" bs=64k seek=1088 oflag=direct status=none
kernel_is_well

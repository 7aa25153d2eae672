# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
#
# What the tests of memzbc, targetcli and iSCSI share. To be sourced after lib.sh.

# listing: the backstores and targets that there are.
listing() {
	find "$TARGET" -mindepth 2 -maxdepth 2 | sort
}

# backstores: print the names of the backstores, one a line.
backstores() {
	find "$TARGET/core" -mindepth 2 -maxdepth 2 -path '*/user_*' -type d -printf '%f\n' | sort
}

# make_lun ARG...: memzbc create ARG..., on the loopback fabric. Sets OUTPUT, DISK and SG.
make_lun() {
	expect_status 0 memzbc create "$@"
	DISK=$(grep -o '/dev/sd[a-z]*$' <<<"$OUTPUT")
	SG=$(grep -o '/dev/sg[0-9]*$' <<<"$OUTPUT")
	[[ -b $DISK && -c $SG ]] || fail "no nodes: $OUTPUT"
}

# sectors DISK: print the capacity that the kernel has for it, in blocks of 512 bytes.
sectors() {
	cat "/sys/block/${1#/dev/}/size"
}

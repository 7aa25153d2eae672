# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
#
# Files in a file system on DISK, for the end-to-end tests. To be sourced after lib-zones.sh.

PLACE=/mnt/lun

# write_files: small ones, one larger than a zone's write-back, one overwritten and one deleted.
write_files() {
	local i
	mkdir "$PLACE/many"
	head -c 12M /dev/urandom >"$PLACE/large"
	for ((i = 0; i < 40; i++)); do
		head -c $((i * 700 + 1)) "$PLACE/large" >"$PLACE/many/$i"
	done
	head -c 2M /dev/urandom >"$PLACE/again"
	cp "$PLACE/large" "$PLACE/gone"
	sync -f "$PLACE"
	dd if="$PLACE/large" of="$PLACE/again" bs=64K count=8 seek=4 conv=notrunc status=none
	rm "$PLACE/gone"
	truncate -s 8M "$PLACE/sparse"
}

# check_sums: checksums of all files.
check_sums() {
	(cd "$PLACE" && find . -type f -exec sha256sum {} + | sort -k 2)
}

# files_survive TYPE: DISK has a new file system. What was written is there after two more mounts,
# and what was written in between.
files_survive() {
	local before
	mkdir -p "$PLACE"
	mount -t "$1" "$DISK" "$PLACE"
	write_files
	before=$(check_sums)
	expect_eq "number of files" 43 "$(wc -l <<<"$before")"
	umount "$PLACE"

	mount -t "$1" "$DISK" "$PLACE"
	expect_eq "checksums after a mount" "$before" "$(check_sums)"
	cp "$PLACE/again" "$PLACE/copy"
	before=$(check_sums)
	umount "$PLACE"

	mount -t "$1" -o ro "$DISK" "$PLACE"
	expect_eq "checksums after another mount" "$before" "$(check_sums)"
	umount "$PLACE"
	zone_list 0 | grep -qE 'swr (implicitly-opened|closed|full)' ||
		fail "no sequential zone was written"
	expect_eq "kernel's error messages" "" \
		"$(dmesg | grep -Ei "I/O error|Sense Key|$1.*(error|warning|corrupt)" || true)"
}

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# checkpatch.pl of the package linux-source-6.1 has nothing to say about the module and the patches.

set -euo pipefail

archive=/usr/src/linux-source-6.1.tar.xz
[[ -e $archive ]] || {
	echo "SKIPPED: no $archive"
	exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The first of each: tar need not read on to the end.
tar -C "$work" -xf "$archive" --occurrence=1 --strip-components=2 \
	linux-source-6.1/scripts/{checkpatch.pl,const_structs.checkpatch,spelling.txt}
mkdir "$work/include" # where it looks for names

# Names such as Scsi_Host are known as the kernel's in its tree only.
# It leaves notes where it runs.
module=$PWD/tests/kernel/module
patches=$PWD/tests/kernel/patches
cd "$work"
perl checkpatch.pl --root . --no-tree --strict --quiet --ignore CAMELCASE -f \
	"$module"/*.[ch] "$module"/Makefile "$module"/Kbuild
# MAINTAINERS has the directory of the new file.
perl checkpatch.pl --root . --no-tree --strict --quiet --ignore CAMELCASE,FILE_PATH_CHANGES \
	"$patches"/*.patch
# Notes that it leaves where patches are made are easily added to one.
if grep -H 'checkpatch-camelcase' "$patches"/*.patch; then
	exit 1
fi

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# module-vm.sh BUILD SCRIPT TIMEOUT [VARIANT...]: builds the module for a kernel, without a warning,
# and runs tests/kernel/SCRIPT in a virtual machine with it. The kernel is Debian's newest, or what
# scripts/kernel-build makes of VARIANT. BUILD is the build directory of memzbc.

set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source scripts/lib/common.sh
# shellcheck source=scripts/lib/vm-image.sh
source scripts/lib/vm-image.sh

build=$1 script=$2 timeout=$3
shift 3
install_packages vm module

options=()
if (($#)); then
	directory=$(scripts/kernel-build --directory "$@")
	headers=$(echo "$directory"/lib/modules/*/build)
	options+=(--kernel "$directory/vmlinuz" --modules "$directory")
else
	headers=/lib/modules/$(kernel_release "$(newest_kernel)")/build
fi

work=$(mktemp -d "$build/module.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp tests/kernel/module/* "$work"
make -C "$work" KDIR="$headers" W=1 >"$work/log" 2>&1 || die "the module cannot be built:" \
	$'\n'"$(<"$work/log")"
if grep -i warning "$work/log"; then
	die "the compiler warns"
fi
MEMZBC_BUILD=$build scripts/vm --timeout "$timeout" "${options[@]}" \
	--env MODULE="$work/memzbc_eh.ko" --env WRITER="$build/tests/kernel/zoned-writer" \
	-- bash "tests/kernel/$script"

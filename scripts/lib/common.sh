# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
#
# What the scripts of memzbc share: messages, the packages they need and the build. To be sourced.
# shellcheck disable=SC2034  # used by those that source this

REPO=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
BUILD=${MEMZBC_BUILD:-$REPO/build}
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/memzbc
PATH=$PATH:/usr/sbin:/sbin

# The one list of Debian packages, by what needs them.
declare -A PACKAGES=(
	[build]="cmake gcc make libc6-dev pkg-config libcmocka-dev"
	[vm]="qemu-system-x86 linux-image-amd64 busybox-static dbus kmod iproute2 util-linux python3
		xz-utils zstd"
	[bench]="fio util-linux"
	[kernel]="gcc make patch xz-utils bc bison flex libelf-dev libssl-dev linux-source-6.1"
	[lun]="tcmu-runner targetcli-fb python3-rtslib-fb python3-dbus dbus kmod lsscsi sg3-utils"
	[module]="gcc make linux-headers-amd64 patch"
	[test]="clang libclang-rt-14-dev clang-tidy clang-format cppcheck shellcheck mypy valgrind
		dpkg-dev fio zbd-utils f2fs-tools btrfs-progs open-iscsi procps
		python3-matplotlib"
)

# say TEXT...: tell the user what happens, on standard error, so that output stays clean.
say() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

# die TEXT...: say why and end, with status 1 unless the script has set DIE_STATUS.
die() {
	say "$*"
	exit "${DIE_STATUS:-1}"
}

# as_root COMMAND...: run it as root, through sudo only where that is needed.
as_root() {
	if ((EUID == 0)); then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "not root and there is no sudo: cannot run $*"
	fi
}

# missing_packages PACKAGE...: print those that are not installed.
missing_packages() {
	local state package
	declare -A have=()
	while read -r state package; do
		[[ $state == installed ]] && have[$package]=1
	done < <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null)
	for package; do
		[[ -v have[$package] ]] || printf '%s\n' "$package"
	done
}

# install_packages GROUP...: install what the groups of PACKAGES name and the machine lacks.
# A package whose service cannot start (no systemd, no LIO in the kernel) counts as installed:
# the scripts need its files and start services themselves.
install_packages() {
	local group package
	local -a wanted=() more missing
	for group; do
		read -r -d '' -a more <<<"${PACKAGES[$group]}" || true
		wanted+=("${more[@]}")
	done
	mapfile -t missing < <(missing_packages "${wanted[@]}")
	((${#missing[@]})) || return 0
	say "installing ${#missing[@]} packages: ${missing[*]}"
	apt_get update >&2 || say "apt-get update failed; trying with the lists there are"
	apt_get install --yes --no-install-recommends "${missing[@]}" >&2 ||
		say "apt-get reported an error; looking at what is there"
	for package in $(missing_packages "${missing[@]}"); do
		dpkg -L "$package" >/dev/null 2>&1 || die "package $package could not be installed"
		say "package $package is unpacked, but its set-up failed; going on"
	done
}

apt_get() {
	as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
		apt-get -q -o DPkg::Lock::Timeout=600 "$@" </dev/null
}

# What of the build is the product; all else is for tests.
PRODUCT=(handler_memzbc memzbc-config)

# build_project [TARGET...]: configure where needed and compile into $BUILD, everything unless
# targets are named. Two callers at the same time take turns.
build_project() {
	local lock status=0
	mkdir -p "$BUILD"
	exec {lock}>"$BUILD/.build-lock"
	flock "$lock"
	if [[ -e $BUILD/Makefile || -e $BUILD/build.ninja ]] || cmake -S "$REPO" -B "$BUILD"; then
		cmake --build "$BUILD" --parallel "$(nproc)" ${1:+--target "$@"} || status=$?
	else
		status=1
	fi
	exec {lock}>&-
	return "$status"
}

#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# include/tcmu says what tcmu-runner's own headers, from Debian's source package, say.
# usage: abi-matches-debian-source.sh WORK_DIR
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$1
package=tcmu-runner
library=libtcmu.so.2

if ! command -v apt-get >/dev/null; then
	echo "SKIPPED: no apt-get, so no Debian source package"
	exit 77
fi

# The machine's own package sources, asked for source packages, and everything
# that apt keeps in a directory of ours: the machine's apt stays as it is.
apt_private() {
	local root=$1
	shift
	"$@" -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$root/sources" \
		-o Dir::State::lists="$root/lists" -o Dir::Cache="$root/cache"
}

private_sources() {
	local root=$1 file
	mkdir -p "$root"/sources "$root"/lists/partial "$root"/cache/archives/partial
	for file in /etc/apt/sources.list.d/*.sources; do
		[ -e "$file" ] || continue
		sed 's/^Types:.*/Types: deb-src/' "$file" >"$root/sources/${file##*/}"
	done
	{ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true; } |
		sed -n 's/^[[:space:]]*deb[[:space:]]/deb-src /p' >"$root/sources/lines.list"
}

# fetch VERSION DIR: unpack the source package, of any version if VERSION is empty, in DIR.
fetch() {
	local version=$1 dir=$2 root
	root=$(mktemp -d)
	private_sources "$root"
	# A source without source packages makes update fail; whether ours is there shows below.
	apt_private "$root" apt-get -q update >"$root/update.log" 2>&1 || true
	if ! (cd "$root" && apt_private "$root" apt-get -q source "$package${version:+=$version}") \
		>"$root/source.log" 2>&1; then
		cat "$root/update.log" "$root/source.log"
		rm -rf "$root"
		return 1
	fi
	mkdir -p "${dir%/*}"
	rm -rf "$dir"
	mv "$(find "$root" -mindepth 2 -maxdepth 2 -name tcmu-runner.h -printf '%h\n')" "$dir"
	rm -rf "$root"
}

version=$(dpkg-query -W -f '${source:Version}' "$package" 2>/dev/null || true)
source=${XDG_CACHE_HOME:-$HOME/.cache}/memzbc/$package-${version:-any}
[ -e "$source/tcmu-runner.h" ] || fetch "$version" "$source"

binaries=()
if [ -n "$version" ]; then
	binaries=(--binaries "$(command -v "$package")"
		"$(ldconfig -p | awk -v lib="$library" '$1 == lib && !seen++ { print $NF }')")
fi

echo "against $package ${version:-of any version}"
exec /usr/bin/python3 "$here/compare.py" --ours "$here/../../include/tcmu" --work "$work" \
	--theirs "$source" --theirs "$source/ccan" "${binaries[@]}"

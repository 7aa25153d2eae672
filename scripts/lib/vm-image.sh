# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# shellcheck shell=bash
#
# The kernel and the initramfs of the virtual machine. To be sourced after common.sh.

# What the guest needs before it sees the host's root; all else is loaded from there.
EARLY_MODULES=(virtio_pci 9pnet_virtio 9p overlay virtio_console virtio-rng)

# newest_kernel: print the newest installed kernel image that has TCMU.
newest_kernel() {
	local image modules newest=
	while read -r image; do
		modules=/lib/modules/${image#/boot/vmlinuz-}/kernel
		compgen -G "$modules/drivers/target/target_core_user.ko*" >/dev/null &&
			newest=$image
	done < <(compgen -G '/boot/vmlinuz-*' | sort -V)
	[[ $newest ]] && printf '%s\n' "$newest"
}

# kernel_release IMAGE: print the release that a bzImage names in its header (at 20Eh, a pointer).
kernel_release() {
	local magic place text
	magic=$(dd if="$1" bs=1 skip=514 count=4 status=none | tr -d '\0')
	[[ $magic == HdrS ]] || return 0
	place=$(od -An -tu2 -j526 -N2 "$1")
	text=$(dd if="$1" bs=1 skip=$((place + 512)) count=128 status=none | tr '\0' '\n')
	text=${text%%$'\n'*}
	printf '%s\n' "${text%% *}"
}

# uncompress_kernel IMAGE FILE: make FILE the ELF kernel that is packed in a bzImage, whose header
# (the boot protocol's) says where. Fail unless it can be booted like that, through PVH: not so with
# KASAN, as 6.1 has that entry checked before there is memory to check it with.
uncompress_kernel() {
	local sectors place magic
	local -a unpack
	sectors=$(od -An -tu1 -j$((0x1f1)) -N1 "$1")
	place=$(od -An -tu4 -j$((0x248)) -N4 "$1")
	place=$(((sectors + 1) * 512 + place))
	magic=$(od -An -tx1 -j"$place" -N4 "$1")
	case $magic in
	' fd 37 7a 58') unpack=(xz -dc --single-stream) ;;
	' 28 b5 2f fd') unpack=(zstd -qdc) ;;
	' 1f 8b '*) unpack=(gzip -qdc) ;;
	*) return 1 ;;
	esac
	# A size follows the packed kernel, which some of these complain about after their work.
	tail -c "+$((place + 1))" "$1" | "${unpack[@]}" >"$2" 2>/dev/null || true
	LC_ALL=C grep -qaP '^\x7fELF' "$2" && ! LC_ALL=C grep -qa 'BUG: KASAN' "$2" &&
		LC_ALL=C grep -qaP '\x04\0\0\0[\x04\x08]\0\0\0\x12\0\0\0Xen\0' "$2"
}

# cached_kernel IMAGE: print the path of the uncompressed kernel, if IMAGE is a bzImage that can be
# uncompressed, else IMAGE. Under emulation, uncompressing takes the guest three seconds a boot.
cached_kernel() {
	local key file
	[[ $(kernel_release "$1") ]] || {
		printf '%s\n' "$1"
		return
	}
	key=$(sha256sum <"$1")
	file=$CACHE/kernel-${key:0:16}
	if [[ ! -e $file ]]; then
		mkdir -p "$CACHE"
		find "$CACHE" -maxdepth 1 -type f -name 'kernel-*' -mtime +7 -delete
		uncompress_kernel "$1" "$file.$$" || cp "$1" "$file.$$"
		mv "$file.$$" "$file"
	fi
	printf '%s\n' "$file"
}

# copy_modules MODULES-ROOT RELEASE TREE: put the early modules that are not built into the kernel,
# with what they depend on, into TREE.
copy_modules() {
	local line module name place=$3/lib/modules/$2
	mkdir -p "$place"
	while read -r line; do
		[[ $line == insmod\ * ]] || continue
		module=${line#insmod }
		module=${module%% *}
		case $module in
		*.xz) xz -dc "$module" >"$place/$(basename "$module" .xz)" ;;
		*.gz) gzip -dc "$module" >"$place/$(basename "$module" .gz)" ;;
		*.zst) zstd -qdc "$module" >"$place/$(basename "$module" .zst)" ;;
		*.ko) cp "$module" "$place" ;;
		esac
		name=$(basename "$module")
		printf '%s\n' "${name%%.*}" >>"$3/etc/modules"
	done < <(modprobe -d "$1/" -S "$2" --show-depends -a "${EARLY_MODULES[@]}" | sort -u)
	depmod -b "$3" "$2" 2>/dev/null
}

# write_fstabs DIRECTORY: the file systems to mount, in one call each.
write_fstabs() {
	cat >"$1/fstab.root" <<-END
		root /host 9p ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose
		memory /memory tmpfs mode=755
	END
	cat >"$1/fstab" <<-END
		proc /root/proc proc nosuid,nodev,noexec
		sysfs /root/sys sysfs nosuid,nodev,noexec
		devpts /root/dev/pts devpts gid=5,mode=620,ptmxmode=666
		shm /root/dev/shm tmpfs mode=1777,size=60%
		run /root/run tmpfs mode=755
		debugfs /root/sys/kernel/debug debugfs mode=700
		tracefs /root/sys/kernel/tracing tracefs mode=700
	END
}

# build_initramfs MODULES-ROOT RELEASE FILE: make FILE from scratch. RELEASE may be empty, or name
# a kernel without modules.
build_initramfs() (
	set -euo pipefail
	tree=$(mktemp -d)
	trap 'rm -rf "$tree"' EXIT
	mkdir "$tree"/{bin,etc,proc,dev,host,memory,root}
	cp /bin/busybox "$REPO/scripts/lib/vm-guest" "$tree/bin"
	cp "$REPO/scripts/lib/vm-init" "$tree/init"
	chmod 755 "$tree/init"
	ln -s busybox "$tree/bin/sh"
	write_fstabs "$tree/etc"
	if [[ $2 && -e $1/lib/modules/$2/modules.dep ]]; then
		copy_modules "$1" "$2" "$tree"
	fi
	cd "$tree"
	find . | busybox cpio -o -H newc -R 0:0 2>/dev/null >"$3.$$"
	mv "$3.$$" "$3"
)

# cached_initramfs MODULES-ROOT RELEASE: print the path of an initramfs that fits, building it only
# if the cache has none made from the same parts.
cached_initramfs() {
	local key file
	key=$({
		printf '%s\n' "$1" "$2"
		cat "$REPO"/scripts/lib/vm-{init,guest,image.sh}
		stat -Lc '%s %Y' /bin/busybox "$1/lib/modules/$2/modules.dep" 2>/dev/null || true
	} | sha256sum)
	file=$CACHE/initramfs-${key:0:16}
	if [[ ! -e $file ]]; then
		mkdir -p "$CACHE"
		find "$CACHE" -maxdepth 1 -type f -name 'initramfs-*' -mtime +7 -delete
		build_initramfs "$1" "$2" "$file"
	fi
	printf '%s\n' "$file"
}

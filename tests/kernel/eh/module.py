# SPDX-License-Identifier: GPL-2.0-only
"""Builds the module against the kernel under test."""
from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "module"
IN_TREE = Path("tests/kernel/module")
IMAGE_IN_TREE = ("arch", "x86", "boot", "bzImage")


class BuildError(Exception):
    """The module could not be built; the text says why."""


def _release(image: Path) -> str:
    """The release that a bzImage names in its header (at 20Eh, a pointer)."""
    with open(image, "rb") as file:
        head = file.read(0x8000)
    if head[0x202:0x206] != b"HdrS":
        raise BuildError(f"{image} is no bzImage: --headers tells where its build tree is")
    place = int.from_bytes(head[0x20E:0x210], "little") + 0x200
    return head[place:place + 128].split(b"\0")[0].split(b" ")[0].decode()


def _headers(args: argparse.Namespace) -> Path:
    if args.headers:
        return Path(args.headers).resolve()
    image: Path | None = args.kernel
    if image and image.parts[-4:] == IMAGE_IN_TREE:
        return image.parents[3]
    root = args.modules or Path("/")
    if image:
        return Path(root) / "lib/modules" / _release(image) / "build"
    found = sorted(Path("/lib/modules").glob("*/build"))
    if not found:
        raise BuildError("no kernel headers: install linux-headers-amd64, or use --headers")
    return found[-1]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode:
        raise BuildError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}")


def build(args: argparse.Namespace, directory: Path) -> Path:
    """Builds a copy of the module, with the mutant's patch applied to it. Raises BuildError."""
    headers = _headers(args)
    if not headers.is_dir():
        raise BuildError(f"{headers}: no headers or build tree of the kernel (see --headers)")
    copy = directory / IN_TREE
    shutil.copytree(SOURCE, copy)
    if args.mutant:
        _run(["patch", "-d", str(directory), "-p1", "-i", str(args.mutant)])
    _run(["make", "-C", str(headers), f"M={copy}", "modules"])
    images = list(copy.glob("*.ko"))
    if len(images) != 1:
        raise BuildError(f"{len(images)} modules were built instead of one")
    return images[0]

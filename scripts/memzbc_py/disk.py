# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""The disks that this machine has of a LUN, and who uses them: all from sysfs and procfs."""
from __future__ import annotations

import errno
import os
import time
from dataclasses import dataclass
from pathlib import Path

from .units import MemzbcError

SYS = Path("/sys/class")
# The sg node can come a second after the disk; probing 75,000 zones under emulation takes a while.
SG_WAIT_S = 15.0
PROBE_WAIT_S = 120.0
UNBOUND_WAIT_S = 3.0
POLL_S = 0.1


@dataclass(frozen=True)
class Disk:
    """A SCSI disk of this machine: its address, and the names of its nodes where there are any."""

    hctl: str
    block: str | None
    generic: str | None

    @property
    def nodes(self) -> list[str]:
        """The paths of its nodes."""
        return [f"/dev/{name}" for name in (self.block, self.generic) if name]


def _only_child(directory: Path) -> str | None:
    try:
        return next(iter(sorted(os.listdir(directory))), None)
    except FileNotFoundError:
        return None


def disk_at(hctl: str) -> Disk | None:
    """The disk at "H:C:T:L", None when there is none."""
    device = SYS / "scsi_device" / hctl / "device"
    if not device.is_dir():
        return None
    return Disk(hctl, _only_child(device / "block"), _only_child(device / "scsi_generic"))


def iscsi_disks(iqn: str, lun: int) -> list[Disk]:
    """The disks that this machine's own iSCSI sessions with target IQN have of logical unit LUN."""
    found = []
    for session in sorted(SYS.glob("iscsi_session/session*")):
        if (session / "targetname").read_text().strip() == iqn:
            for device in sorted((session / "device").glob(f"target*/*:*:*:{lun}")):
                disk = disk_at(device.name)
                if disk:
                    found.append(disk)
    return found


def _node_is_there(name: str | None) -> bool:
    return bool(name) and os.path.exists(f"/dev/{name}")


def _driver_bound(hctl: str) -> bool:
    """Whether sd has the disk or is still probing it: the link goes away when sd refuses."""
    return (SYS / "scsi_device" / hctl / "device" / "driver").exists()


def wait_for_disk(hctl: str) -> Disk:
    """The disk at HCTL once its nodes are there: the sg node always, the block node unless sd
    refuses the disk (a kernel without zoned block devices does). Raises MemzbcError."""
    start = time.monotonic()
    bound_at = start
    while True:
        now = time.monotonic()
        disk = disk_at(hctl)
        if disk and _node_is_there(disk.generic) and _node_is_there(disk.block):
            return disk
        if _driver_bound(hctl):
            bound_at = now
        settled = now - bound_at > UNBOUND_WAIT_S or now - start > PROBE_WAIT_S
        if disk and _node_is_there(disk.generic) and settled:
            return disk
        if now - start > SG_WAIT_S and not (disk and _node_is_there(disk.generic)):
            raise MemzbcError(
                f"no /dev/sgN for the disk at {hctl} after {SG_WAIT_S:.0f} s ('dmesg' may tell why)"
            )
        time.sleep(POLL_S)


def wait_for_no_disk(hctl: str) -> None:
    """Waits until the nodes of the disk at HCTL are gone, or a while has passed."""
    end = time.monotonic() + SG_WAIT_S
    while disk_at(hctl) and time.monotonic() < end:
        time.sleep(POLL_S)


def _mounts(node: str) -> list[str]:
    """Where the block node is mounted, in this process's mount namespace."""
    points = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        source = fields[fields.index("-") + 2]
        if source.startswith("/dev/") and os.path.realpath(source) == node:
            points.append(fields[4])
    return points


def _swaps(node: str) -> bool:
    lines = Path("/proc/swaps").read_text().splitlines()[1:]
    return any(os.path.realpath(line.split()[0]) == node for line in lines)


def _holders(block: str) -> list[str]:
    """Devices stacked on it (dm, md), by the names that a user knows."""
    names = []
    for holder in sorted(Path(f"/sys/block/{block}/holders").glob("*")):
        alias = holder / "dm" / "name"
        names.append(alias.read_text().strip() if alias.exists() else holder.name)
    return names


def _openers(nodes: list[str]) -> list[str]:
    """Processes that have one of the nodes open, as "fio (pid 123)"."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        if int(process.name) == os.getpid():
            continue
        try:
            links = {os.readlink(fd) for fd in (process / "fd").iterdir()}
            if links.intersection(nodes):
                found.append(f"{(process / 'comm').read_text().strip()} (pid {process.name})")
        except OSError:  # The process has ended, or closed the file.
            continue
    return sorted(found)


def _claimed(node: str) -> bool:
    """Whether something holds the block node exclusively: the kernel's own word, whoever it is."""
    try:
        os.close(os.open(node, os.O_RDONLY | os.O_EXCL | os.O_NONBLOCK))
    except OSError as error:
        return error.errno == errno.EBUSY
    return False


def uses_of(disk: Disk) -> list[str]:
    """Why the disk must stay: each reason in words, none when nobody uses it."""
    uses = []
    if disk.block:
        node = f"/dev/{disk.block}"
        uses += [f"{node} is mounted on {point}" for point in _mounts(node)]
        uses += [f"{node} is in use as swap"] if _swaps(node) else []
        uses += [f"{node} is held by {name}" for name in _holders(disk.block)]
    uses += [f"{' or '.join(disk.nodes)} is open in {opener}" for opener in _openers(disk.nodes)]
    if not uses and disk.block and _claimed(f"/dev/{disk.block}"):
        uses.append(
            f"/dev/{disk.block} is held exclusively (by a file system in another mount namespace,"
            " a RAID or the like)"
        )
    return uses

# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""LUNs in the kernel's target configuration: found, made and removed through rtslib."""
from __future__ import annotations

import fcntl
import glob
import hashlib
import os
import signal
import socket
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator

from rtslib_fb import (
    LUN,
    TPG,
    FabricModule,
    NetworkPortal,
    RTSLibError,
    RTSRoot,
    Target,
    UserBackedStorageObject,
)

from .disk import Disk, disk_at, iscsi_disks, uses_of, wait_for_disk, wait_for_no_disk
from .units import SUBTYPE, MemzbcError, Portal, iqn_of

CONFIGFS = Path("/sys/kernel/config/target")
LOCK = "/run/memzbc.lock"
FABRIC_MODULES = {"loopback": "tcm_loop", "iscsi": "iscsi_target_mod"}
# So that an initiator sends 1 MiB in one command.
MAX_TRANSFER = 1 << 20
# Any initiator may log in, with no password, and write; what it reserved outlives its session.
ISCSI_ATTRIBUTES = {
    "authentication": 0,
    "generate_node_acls": 1,
    "demo_mode_write_protect": 0,
    "cache_dynamic_acls": 1,
}

# rtslib warns when the target database cannot move because LUNs exist: nothing here depends on it.
warnings.filterwarnings("ignore", message="Cannot set dbroot")


@dataclass
class Export:
    """One way to a LUN: a logical unit of a target, and who is there."""

    node: Any
    fabric: str
    wwn: str
    lun: int
    portals: list[str] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    disks: list[Disk] = field(default_factory=list)


@dataclass
class Lun:
    """A backstore of ours and its exports; CONFIG is None when its making was cut short."""

    storage: Any
    name: str
    config: str | None
    size: int
    block_size: int
    exports: list[Export]

    @property
    def disks(self) -> list[Disk]:
        """All disks that this machine has of it."""
        return [disk for export in self.exports for disk in export.disks]


@contextmanager
def locked() -> Iterator[None]:
    """One memzbc at a time changes the configuration: rtslib's numbering of backstores races."""
    with open(LOCK, "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _ignore_signals() -> None:
    """From here on, Ctrl-C and SIGTERM come too late."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def loopback_wwn(name: str) -> str:
    """The loopback target of LUN NAME: always the same, so that leftovers can be told."""
    return "naa.5001405" + hashlib.sha256(name.encode()).hexdigest()[:9]


def _our_targets(name: str) -> list[tuple[str, str]]:
    return [("loopback", loopback_wwn(name)), ("iscsi", iqn_of(name))]


def _target_path(fabric: str, wwn: str) -> Path:
    return CONFIGFS / fabric / wwn


def _sessions(tpg: Any) -> list[str]:
    """Names of the initiators logged in at an iSCSI target portal group."""
    try:
        # One name a line, with a zero byte after each.
        names = set(Path(tpg.path, "dynamic_sessions").read_text().replace("\0", "").split())
    except OSError:
        names = set()
    return sorted(names | {acl.node_wwn for acl in tpg.node_acls if acl.session})


def _loopback_hctl(lun: Any) -> str | None:
    try:
        address = Path(lun.parent_tpg.path, "address").read_text().strip()
    except OSError:
        return None
    return f"{address}:{lun.lun}"


def _export_of(lun: Any) -> Export:
    tpg = lun.parent_tpg
    target = tpg.parent_target
    export = Export(lun, target.fabric_module.name, target.wwn, lun.lun)
    if export.fabric == "loopback":
        hctl = _loopback_hctl(lun)
        disk = disk_at(hctl) if hctl else None
        export.disks = [disk] if disk else []
    elif export.fabric == "iscsi":
        export.portals = [f"{portal.ip_address}:{portal.port}" for portal in tpg.network_portals]
        export.sessions = _sessions(tpg)
        export.disks = iscsi_disks(target.wwn, lun.lun)
    return export


def _lun_of(storage: Any, config: str | None) -> Lun:
    exports = [_export_of(lun) for lun in storage.attached_luns]
    return Lun(
        storage,
        storage.name,
        config,
        storage.size if config else 0,
        int(storage.get_attribute("hw_block_size")) if storage.is_configured() else 0,
        exports,
    )


def _storage_at(path: Path) -> tuple[Any, str | None]:
    """The backstore at a configfs path, and its config: None when it has none (yet)."""
    storage = UserBackedStorageObject(path.name, index=path.parent.name.rsplit("_", 1)[1])
    return storage, storage.config


def find_all() -> list[Lun]:
    """Every LUN of ours, by name."""
    found = []
    for path in sorted(CONFIGFS.glob("core/user_*/*/"), key=lambda p: p.name):
        storage, config = _storage_at(path)
        if config and config.startswith(f"{SUBTYPE}/"):
            found.append(_lun_of(storage, config.removeprefix(f"{SUBTYPE}/")))
    return found


def find(name: str) -> Lun | None:
    """The LUN of ours called NAME, half-made ones included. Raises MemzbcError when another handler
    has the name."""
    for path in CONFIGFS.glob("core/user_*/*/"):
        if path.name != name:
            continue
        storage, config = _storage_at(path)
        if config and not config.startswith(f"{SUBTYPE}/"):
            raise MemzbcError(
                f"name '{name}': taken by a backstore of handler '{config.split('/')[0]}'"
            )
        return _lun_of(storage, config.removeprefix(f"{SUBTYPE}/") if config else None)
    return None


def existing(name: str) -> Lun:
    """The LUN called NAME. Raises MemzbcError when there is none."""
    lun = find(name)
    if lun:
        return lun
    names = ", ".join(other.name for other in find_all()) or "none"
    raise MemzbcError(f"no LUN '{name}' (there is: {names})")


def any_user_backstore() -> bool:
    """Whether tcmu-runner serves any LUN, of whatever handler."""
    return any(CONFIGFS.glob("core/user_*/*/"))


def uses_of_lun(lun: Lun) -> list[str]:
    """Why a LUN must stay: each reason in words."""
    uses = [use for disk in lun.disks for use in uses_of(disk)]
    for export in lun.exports:
        logout = f"iscsiadm -m node -T {export.wwn} --logout"
        uses += [f"initiator {name} is logged in (there: {logout})" for name in export.sessions]
        if export.fabric not in FABRIC_MODULES:
            uses.append(
                f"it is exported by {export.fabric} target {export.wwn}, whose users cannot be"
                " told from here (remove that LUN with targetcli)"
            )
    return uses


def check_free(name: str, fabric: str) -> None:
    """Raises MemzbcError unless LUN NAME can be made: its name and its target's are free."""
    if find(name):
        raise MemzbcError(
            f"name '{name}': a LUN of this name exists ('memzbc list' shows it,"
            f" 'memzbc delete {name}' removes it)"
        )
    wwn = dict(_our_targets(name))[fabric]
    if _target_path(fabric, wwn).is_dir():
        raise MemzbcError(
            f"name '{name}': its {fabric} target {wwn} exists already, of another LUN or left over"
            f" ('memzbc delete {name}' removes a target without a LUN)"
        )


def check_portal(portal: Portal) -> None:
    """Raises MemzbcError unless an iSCSI target can listen at PORTAL."""
    if any(CONFIGFS.glob(f"iscsi/*/tpgt_*/np/{glob.escape(str(portal))}")):
        return  # Targets share portals.
    kind = socket.AF_INET6 if portal.address.version == 6 else socket.AF_INET
    with socket.socket(kind) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if kind == socket.AF_INET6:
            probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            probe.bind((str(portal.address), portal.port))
            probe.listen()
        except OSError as error:
            others = sorted({path.name for path in CONFIGFS.glob("iscsi/*/tpgt_*/np/*")})
            hint = f" (targets here listen at {', '.join(others)})" if others else ""
            raise MemzbcError(f"portal {portal}: {error.strerror}{hint}") from None


def _make_storage(name: str, config: str, size: int, block_size: int) -> Any:
    root = RTSRoot()
    # Where the kernel keeps persistent reservations; it does not make the directory itself.
    os.makedirs(os.path.join(root.dbroot, "pr"), exist_ok=True)
    return UserBackedStorageObject(
        name,
        config=f"{SUBTYPE}/{config}",
        size=size,
        hw_max_sectors=MAX_TRANSFER // block_size,
        control=f"hw_block_size={block_size}",
    )


def _export_loopback(name: str, storage: Any) -> None:
    tpg = TPG(Target(FabricModule("loopback"), loopback_wwn(name), mode="create"), 1)
    lun = LUN(tpg, 0, storage)
    hctl = _loopback_hctl(lun)
    if not hctl:
        raise MemzbcError(f"loopback target {loopback_wwn(name)} has no SCSI address")
    wait_for_disk(hctl)


def _export_iscsi(name: str, storage: Any, portal: Portal) -> None:
    tpg = TPG(Target(FabricModule("iscsi"), iqn_of(name), mode="create"), 1)
    for attribute, value in ISCSI_ATTRIBUTES.items():
        tpg.set_attribute(attribute, value)
    LUN(tpg, 0, storage)
    NetworkPortal(tpg, portal.host, portal.port)
    tpg.enable = True


def create(name: str, config: str, size: int, block_size: int, portal: Portal | None) -> Lun:
    """Makes LUN NAME on the loopback fabric, or at an iSCSI PORTAL. Whatever stops it, Ctrl-C
    included, nothing is left. Raises MemzbcError."""
    try:
        storage = _make_storage(name, config, size, block_size)
        if portal:
            _export_iscsi(name, storage, portal)
        else:
            _export_loopback(name, storage)
        lun = find(name)
        assert lun
        _ignore_signals()
        return lun
    except BaseException as error:
        _ignore_signals()
        left = _undo(name)
        if isinstance(error, (RTSLibError, OSError, MemzbcError)):
            raise MemzbcError(f"LUN '{name}' cannot be made: {error}{left}") from error
        raise


def _undo(name: str) -> str:
    """Removes a half-made LUN; tells, in words to append, when that does not work either."""
    try:
        remove(name)
    except (RTSLibError, OSError) as error:
        return f"; and what was made of it is still there ({error}): try 'memzbc delete {name}'"
    return ""


def leftover_targets(name: str) -> list[Any]:
    """Targets made for LUN NAME that have no logical unit any more."""
    found = []
    for fabric, wwn in _our_targets(name):
        if _target_path(fabric, wwn).is_dir():
            target = Target(FabricModule(fabric), wwn, mode="lookup")
            if not any(lun for tpg in target.tpgs for lun in tpg.luns):
                found.append(target)
    return found


def remove(name: str) -> list[str]:
    """Takes down what there is of LUN NAME: its logical units, its targets, its backstore. Targets
    made by hand stay; returns those, in words."""
    lun = find(name)
    kept = []
    if lun:
        for export in lun.exports:
            export.node.delete()
            if export.fabric == "loopback":
                for disk in export.disks:
                    wait_for_no_disk(disk.hctl)
            if (export.fabric, export.wwn) not in _our_targets(name):
                kept.append(f"{export.fabric} target {export.wwn} (not made by memzbc)")
    for target in leftover_targets(name):
        target.delete()
    if lun:
        lun.storage.delete()
    return kept

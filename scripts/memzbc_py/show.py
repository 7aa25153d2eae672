# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""How LUNs look in what memzbc prints: as JSON, and in words."""
from __future__ import annotations

import argparse
import ipaddress
import json
import subprocess
import sys
from typing import Any

from . import keys, scsi
from .units import MemzbcError, Portal, format_size, split_config

LOCALHOST = ipaddress.ip_address("127.0.0.1")


def say(text: str) -> None:
    """Tells something beside the result, on standard error."""
    print(f"memzbc: {text}", file=sys.stderr)


def print_result(args: argparse.Namespace, data: Any, text: str) -> None:
    """Prints a result: DATA as JSON when asked for, else TEXT."""
    print(json.dumps(data, indent=2) if args.json else text)


def table(rows: list[list[str]]) -> str:
    """Rows in aligned columns; the last column is not padded."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    return "\n".join(
        "  ".join([cell.ljust(width) for cell, width in zip(row, widths)] + row[-1:]).rstrip()
        for row in rows
    )


def own_addresses(version: int) -> list[str]:
    """This machine's addresses that others can reach, of IPv4 or IPv6."""
    command = ["ip", "-json", f"-{version}", "address", "show", "scope", "global"]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError:  # No iproute2: what is known is that it listens.
        return []
    links = json.loads(done.stdout or "[]")
    return [address["local"] for link in links for address in link.get("addr_info", [])]


def reachable_portals(portal: Portal) -> list[Portal]:
    """What an initiator can use for PORTAL: all of this machine's addresses if it listens there."""
    if not portal.address.is_unspecified:
        return [portal]
    found = [ipaddress.ip_address(address) for address in own_addresses(portal.address.version)]
    return [Portal(address, portal.port) for address in found or [LOCALHOST]]


def login_commands(wwn: str, portal: Portal) -> list[str]:
    """What to type at an initiator, one line for each address of the portal."""
    return [
        f"iscsiadm -m discovery -t sendtargets -p {address} &&"
        f" iscsiadm -m node -T {wwn} -p {address} --login"
        for address in reachable_portals(portal)
    ]


def export_data(export: Any) -> dict[str, Any]:
    """An export as JSON; which fields it has depends on the fabric."""
    data: dict[str, Any] = {"fabric": export.fabric, "target": export.wwn, "lun": export.lun}
    if export.fabric == "iscsi":
        data |= {"portals": export.portals, "initiators": export.sessions}
    data["disks"] = [
        {
            "hctl": disk.hctl,
            "block": disk.block and f"/dev/{disk.block}",
            "sg": disk.generic and f"/dev/{disk.generic}",
        }
        for disk in export.disks
    ]
    return data


def lun_data(lun: Any) -> dict[str, Any]:
    """A LUN as JSON."""
    try:
        geometry = keys.geometry_of(lun.config, lun.size, lun.block_size)
    except MemzbcError:  # Made by hand while tcmu-runner was not there to refuse it.
        geometry = None
    return {
        "name": lun.name,
        "size": lun.size,
        "config": lun.config,
        "model": keys.model_of(split_config(lun.config)),
        "geometry": geometry,
        "serial": lun.storage.wwn,
        "exports": [export_data(export) for export in lun.exports],
    }


def zone_data(number: int | None, zone: scsi.Zone) -> dict[str, Any]:
    """A zone as JSON, LBAs and lengths in logical blocks."""
    return {
        "zone": number,
        "type": scsi.ZONE_TYPES.get(zone.type, f"type {zone.type:#x}"),
        "condition": scsi.CONDITIONS.get(zone.condition, f"condition {zone.condition:#x}"),
        "start": zone.start,
        "length": zone.length,
        "write_pointer": zone.write_pointer,
    }


def zone_row(data: dict[str, Any]) -> list[str]:
    """A zone of zone_data() as a row of text."""
    pointer = data["write_pointer"]
    return [
        "-" if data["zone"] is None else str(data["zone"]),
        data["type"],
        data["condition"],
        f"{data['start']:#x}",
        f"{data['length']:#x}",
        "-" if pointer is None else f"{pointer:#x}",
    ]


def zones_in_short(geometry: dict[str, Any] | None) -> str:
    """Number and size of zones, as in "43 x 96M"."""
    return f"{geometry['zones']} x {format_size(geometry['zone_size'])}" if geometry else "?"


def use_in_short(lun: Any, uses: list[str]) -> str:
    """What 'memzbc list' says of a LUN's use, in few words."""
    if any(export.sessions for export in lun.exports):
        return "logged in"
    if any(" mounted " in use for use in uses):
        return "mounted"
    return "open" if uses else "no"


def list_row(lun: Any, data: dict[str, Any], uses: list[str]) -> list[str]:
    """A LUN of lun_data() as a row of text."""
    return [
        lun.name,
        format_size(lun.size),
        zones_in_short(data["geometry"]),
        data["model"],
        " ".join(f"{export.fabric}:{export.wwn}" for export in lun.exports) or "-",
        " ".join(node for disk in lun.disks for node in disk.nodes) or "-",
        use_in_short(lun, uses),
        f"memzbc/{lun.config}",
    ]

# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""The plugin's config keys and checks of them, as the program memzbc-config tells: one truth."""
from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from .units import MemzbcError, format_size

HELPER = "memzbc-config"


@dataclass(frozen=True)
class Key:
    """One key of the config string, as the plugin describes it."""

    name: str
    unit: str
    range: str
    default: str
    when: str
    help: str


def helper_path() -> Path:
    """Where memzbc-config is. Raises MemzbcError."""
    directory = os.environ.get("MEMZBC_LIBEXEC") or os.environ.get("MEMZBC_BUILD")
    here = Path(__file__).resolve()
    # Checkout: scripts/memzbc_py/keys.py; installed: PREFIX/share/memzbc/memzbc_py/keys.py.
    places = (
        [Path(directory)]
        if directory
        else [
            here.parents[2] / "build",
            here.parents[3] / "libexec" / "memzbc",
            Path("/usr/libexec/memzbc"),
        ]
    )
    for place in places:
        if os.access(place / HELPER, os.X_OK):
            return place / HELPER
    raise MemzbcError(
        f"{HELPER} not found in {', '.join(map(str, places))}: build or install memzbc first"
        " (in a checkout: cmake -B build && cmake --build build)"
    )


@lru_cache(maxsize=None)
def load_keys() -> dict[str, Key]:
    """All keys by name, in the plugin's order. Raises MemzbcError."""
    out = subprocess.run(
        [helper_path(), "--json"], check=True, capture_output=True, text=True
    ).stdout
    keys = [
        Key(**{field: str(entry[field]) for field in Key.__dataclass_fields__})
        for entry in json.loads(out)
    ]
    return {key.name: key for key in keys}


def geometry_of(config: str, size: int, block_size: int | None = None) -> dict[str, Any]:
    """Has the plugin's parser judge a config string for a LUN of SIZE bytes whose logical blocks
    have BLOCK_SIZE bytes (default: what `lba` says). The completed config: lba_size, zone_size,
    zone_cap, zones, urswrz and so on, lengths in bytes. Raises MemzbcError with its reason."""
    command = [str(helper_path()), "check", config, str(size)]
    if block_size:
        command.append(str(block_size))
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise MemzbcError(done.stderr.strip().removeprefix(f"{HELPER}: "))
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def model_of(settings: dict[str, str]) -> str:
    """The zoned model that the settings ask for."""
    return settings.get("model", load_keys()["model"].default)


def kernel_warnings(geometry: dict[str, Any]) -> list[str]:
    """What stock Linux will not take of such a LUN as /dev/sdX, and the way out."""
    warnings = []
    zone_size, zone_cap = geometry["zone_size"], geometry["zone_cap"]
    if zone_size & (zone_size - 1):
        power = 1 << zone_size.bit_length()
        warnings.append(
            f"zone_size={format_size(zone_size)} is no power of two: stock Linux refuses such"
            " zones, /dev/sdX has capacity 0 there. Use /dev/sgN, which works in full; or make the"
            f" LUN with zone_size={format_size(power)} zone_cap={format_size(zone_cap)}: gap zones"
            " fill each zone up to a power of two, and /dev/sdX works"
        )
    if not geometry["urswrz"]:
        warnings.append(
            "urswrz=0: stock Linux refuses disks whose unwritten blocks cannot be read, /dev/sdX"
            " has capacity 0 there. Use /dev/sgN, which works in full; or leave urswrz at 1"
        )
    return warnings

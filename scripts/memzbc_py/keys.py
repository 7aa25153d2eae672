# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""The plugin's config keys, as the program memzbc-config tells them: the plugin's own table and checks."""
from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .units import MemzbcError, format_size, parse_size

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
    places = ([Path(directory)] if directory else
              [here.parents[2] / "build", here.parents[3] / "libexec" / "memzbc", Path("/usr/libexec/memzbc")])
    for place in places:
        if os.access(place / HELPER, os.X_OK):
            return place / HELPER
    raise MemzbcError(f"{HELPER} not found in {', '.join(map(str, places))}: build or install memzbc first"
                      " (in a checkout: cmake -B build && cmake --build build)")


@lru_cache(maxsize=None)
def load_keys() -> dict[str, Key]:
    """All keys by name, in the plugin's order. Raises MemzbcError."""
    out = subprocess.run([helper_path(), "--json"], check=True, capture_output=True, text=True).stdout
    keys = [Key(**{field: str(entry[field]) for field in Key.__dataclass_fields__}) for entry in json.loads(out)]
    return {key.name: key for key in keys}


def check_config(config: str, size: int, block: int) -> None:
    """Has the plugin's parser judge a config string for a LUN of SIZE bytes and BLOCK bytes a logical
    block. Raises MemzbcError with its reason."""
    done = subprocess.run([helper_path(), "check", config, str(size), str(block)], check=False,
                          capture_output=True, text=True)
    if done.returncode:
        raise MemzbcError((done.stdout.strip() or done.stderr.strip()).removeprefix(f"{HELPER}: "))


def value_of(key: str, settings: dict[str, str]) -> str:
    """The value of KEY: as set, else its default; "" for a key that the plugin does not have."""
    if key in settings:
        return settings[key]
    known = load_keys().get(key)
    return known.default if known else ""


def size_of(key: str, settings: dict[str, str]) -> int | None:
    """The value of a size KEY in bytes, None when it names no size of its own."""
    try:
        return parse_size(value_of(key, settings))
    except ValueError:
        return None


def block_size_of(settings: dict[str, str]) -> int:
    """Bytes in a logical block, as `lba` says. A wrong value is left for the plugin to refuse."""
    return {"4096": 4096, "4K": 4096, "4k": 4096}.get(value_of("lba", settings), 512)


def kernel_warnings(settings: dict[str, str]) -> list[str]:
    """What stock Linux will not take of this LUN as /dev/sdX, and the way out."""
    warnings = []
    zone_size = size_of("zone_size", settings)
    if zone_size and zone_size & (zone_size - 1):
        power = 1 << zone_size.bit_length()
        cap = settings.get("zone_cap", settings.get("zone_size", str(zone_size)))
        warnings.append(
            f"zone_size={settings.get('zone_size', zone_size)} is no power of two: stock Linux refuses such zones,"
            " /dev/sdX will have capacity 0. Use /dev/sgN (works in full), or create the LUN with"
            f" zone_size={format_size(power)} zone_cap={cap}: gap zones fill each zone up to a power of two,"
            " and /dev/sdX works")
    if value_of("urswrz", settings) == "0":
        warnings.append("urswrz=0: stock Linux refuses disks whose unwritten blocks cannot be read, /dev/sdX will"
                        " have capacity 0. Use /dev/sgN (works in full), or leave urswrz at 1")
    return warnings

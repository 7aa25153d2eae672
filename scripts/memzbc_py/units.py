# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""Sizes, names, portals and config strings: text to values and back, with no look at the system."""
from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

SUBTYPE = "memzbc"
# tcmu keeps 256 bytes for the subtype and the config string, a closing zero among them.
CONFIG_MAX = 255
NAME_MAX = 64
DEFAULT_PORT = 3260
SUFFIXES = "KMGT"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_SIZE = re.compile(rf"([0-9]+)([{SUFFIXES}]?)", re.IGNORECASE)
_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.+)")
# ',' splits the kernel's control file, rtslib refuses ':', '/' separates keys,
# ';' is tcmu-runner's own.
_FORBIDDEN = re.compile(r"[\s,:/;\"']")


class MemzbcError(Exception):
    """Something that cannot be done, with a reason for the user."""


def parse_size(text: str) -> int:
    """Bytes of "16G", "512k" or "4096". Raises ValueError."""
    match = _SIZE.fullmatch(text)
    if not match:
        raise ValueError(
            f"size '{text}': expected a number of bytes, or a number and one of K, M, G, T"
            " (powers of 1024)"
        )
    power = SUFFIXES.find(match[2].upper()) + 1 if match[2] else 0
    return int(match[1]) << 10 * power


def format_size(size: int) -> str:
    """The shortest exact text for a number of bytes: 100663296 is "96M"."""
    power = 0
    while power < len(SUFFIXES) and size and size % 1024 == 0:
        size //= 1024
        power += 1
    return f"{size}{SUFFIXES[power - 1] if power else ''}"


def check_name(name: str) -> str:
    """NAME itself when it can name a new LUN. Raises ValueError."""
    if len(name) > NAME_MAX or not _NAME.fullmatch(name):
        raise ValueError(
            f"name '{name}': expected 1 to {NAME_MAX} letters, digits, '-', '_' or '.',"
            " a letter or digit first"
        )
    return name


def iqn_of(name: str) -> str:
    """The iSCSI name of LUN NAME's target. An IQN has neither capitals nor '_'."""
    return f"iqn.2003-01.org.linux-iscsi.{SUBTYPE}:{name.lower().replace('_', '-')}"


@dataclass(frozen=True)
class Portal:
    """Where an iSCSI target listens."""

    address: ipaddress.IPv4Address | ipaddress.IPv6Address
    port: int = DEFAULT_PORT

    @property
    def host(self) -> str:
        """The address as configfs and iscsiadm write it: IPv6 in brackets."""
        return f"[{self.address}]" if self.address.version == 6 else str(self.address)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def parse_portal(text: str) -> Portal:
    """Portal of "ADDR", "ADDR:PORT", "IPV6", "[IPV6]" or "[IPV6]:PORT". Raises ValueError."""
    match = re.fullmatch(
        r"\[(?P<v6>[^]]+)\](:(?P<p6>\d+))?|(?P<v4>[^:]+)(:(?P<p4>\d+))?|(?P<bare>.+)", text
    )
    try:
        if not match:
            raise ValueError
        address = ipaddress.ip_address(match["v6"] or match["v4"] or match["bare"])
        port = int(match["p6"] or match["p4"] or DEFAULT_PORT)
        if not 1 <= port <= 65535 or (match["v6"] and address.version != 6):
            raise ValueError
    except ValueError:
        raise ValueError(
            f"portal '{text}': expected ADDRESS[:PORT], an IPv6 address with a port as"
            " [ADDRESS]:PORT, PORT from 1 to 65535"
        ) from None
    return Portal(address, port)


def parse_settings(settings: list[str]) -> dict[str, str]:
    """{"zone_size": "96M"} of ["zone_size=96M"]: only the form is judged. Raises ValueError."""
    result: dict[str, str] = {}
    for setting in settings:
        match = _SETTING.fullmatch(setting)
        if not match:
            raise ValueError(f"'{setting}': expected KEY=VALUE ('memzbc help' lists the keys)")
        key, value = match.groups()
        bad = _FORBIDDEN.search(value)
        if bad:
            raise ValueError(
                f"{key}: value '{value}' has a '{bad[0]}', which a config string cannot hold"
            )
        if key in result:
            raise ValueError(f"{key}: given twice")
        result[key] = value
    return result


def join_config(settings: dict[str, str]) -> str:
    """The config string behind "memzbc/". Raises ValueError when it is too long."""
    config = "/".join(f"{key}={value}" for key, value in settings.items())
    length = len(f"{SUBTYPE}/{config}")
    if length > CONFIG_MAX:
        raise ValueError(
            f"config string '{SUBTYPE}/{config}' is {length} characters long,"
            f" the kernel takes at most {CONFIG_MAX}"
        )
    return config


def split_config(config: str) -> dict[str, str]:
    """The settings in a config string, which may be hand-made: what is no KEY=VALUE is left out."""
    return dict(part.split("=", 1) for part in config.split("/") if "=" in part)

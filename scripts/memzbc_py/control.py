# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""Requests to the control socket of a LUN, which tcmu-runner serves while it has the LUN."""
from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

from .units import MemzbcError

DIRECTORY = Path("/run/memzbc")
TIMEOUT_S = 60.0
# One of several LUNs of a name: the number of its HBA tells which.
_TWIN = re.compile(r"(.+)@(user_\d+)")


def socket_path(name: str) -> Path:
    """The control socket of LUN NAME, or of "NAME@user_N"."""
    twin = _TWIN.fullmatch(name)
    base, suffix = (twin[1], f"@{twin[2]}") if twin else (name, "")
    plain = re.compile(rb"[A-Za-z0-9_-]|(?<!^)\.")
    data = base.encode(errors="surrogateescape")
    encoded = "".join(
        chr(byte) if plain.match(data, at) else f"%{byte:02X}" for at, byte in enumerate(data)
    )
    return DIRECTORY / f"{encoded}{suffix}.sock"


def _ask(path: Path, line: str) -> bytes:
    """The answer to one request. Raises OSError."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(TIMEOUT_S)
        connection.connect(str(path))
        connection.sendall(line.encode() + b"\n")
        with connection.makefile("rb") as answers:
            return answers.readline()


def _why_not(name: str, error: OSError) -> str:
    """Why the LUN cannot be asked, as far as that can be told; raises it if it does not exist."""
    from . import daemon, lio

    if isinstance(error, TimeoutError):
        return f"tcmu-runner does not answer for LUN '{name}' within {TIMEOUT_S:.0f} s"
    if isinstance(error, PermissionError):
        return "only root can do this"
    if not _TWIN.fullmatch(name):
        lio.existing(name)
    if not daemon.is_running():
        return f"tcmu-runner is not running, so LUN '{name}' cannot be asked: start it"
    return (
        f"LUN '{name}' cannot be asked: {socket_path(name)}: {error.strerror}"
        f" ({daemon.LOG} may tell why)"
    )


def control_request(name: str, *words: str) -> dict[str, Any]:
    """Sends a request to LUN NAME; the members of its answer. Raises MemzbcError, with the LUN's
    reason when it refuses."""
    for word in words:
        if not re.fullmatch(r"[!-~]+", word):
            raise MemzbcError(f"'{word}' is no word of ASCII without blanks")
    try:
        line = _ask(socket_path(name), " ".join(words))
    except OSError as error:
        raise MemzbcError(_why_not(name, error)) from None
    try:
        answer = json.loads(line)
    except ValueError:
        raise MemzbcError(f"LUN '{name}' went away before it answered") from None
    if not answer.pop("ok", False):
        raise MemzbcError(str(answer.get("error", "refused")))
    result: dict[str, Any] = answer
    return result

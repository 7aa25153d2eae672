# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's trace, parsed: which commands were sent, and how they came back."""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterable

START, DONE, ERROR, TIMEOUT = "start", "done", "error", "timeout"
WAKEUP, INSERT, DEVICE_RESET, TARGET_RESET = "wakeup", "insert", "device reset", "target reset"
KINDS = {
    "scsi_dispatch_cmd_start": START,
    "scsi_dispatch_cmd_done": DONE,
    "scsi_dispatch_cmd_error": ERROR,
    "scsi_dispatch_cmd_timeout": TIMEOUT,
    "scsi_eh_wakeup": WAKEUP,
    "queue_insert": INSERT,
    "device_reset": DEVICE_RESET,
    "target_reset": TARGET_RESET,
}
GOOD = "SAM_STAT_GOOD"
CHECK_CONDITION = "SAM_STAT_CHECK_CONDITION"
# Opcodes by where their LBA and length are.
TEN, SIXTEEN = (2, 6, 7, 9), (2, 10, 10, 14)
LAYOUTS = {0x28: TEN, 0x2A: TEN, 0x88: SIXTEEN, 0x8A: SIXTEEN}
WRITES = (0x2A, 0x8A)

_LINE = re.compile(r"\[\d+\]\s+\S+\s+[\d.]+:\s+(\w+):(.*)$")
_HOST = re.compile(r"host_no=(\d+)")
_ADDRESS = re.compile(r"host_no=(\d+) channel=(\d+) id=(\d+) lun=(\d+)")
_CDB = re.compile(r"raw=((?:[0-9a-f]{2} ?)+)")
_STATUS = re.compile(r"host=(\w+).*status=(\w+)")
_COUNTS = re.compile(r"entries-in-buffer/entries-written: (\d+)/(\d+)")


@dataclass(frozen=True)
class Event:
    """An event; SEQ numbers them as they happened. STATUS is that of DONE."""

    seq: int
    kind: str
    device: str = ""
    host: str = ""
    opcode: int = -1
    lba: int = -1
    blocks: int = 0
    status: str = ""

    @property
    def is_write(self) -> bool:
        """Whether it is about a WRITE command."""
        return self.opcode in WRITES


def _command(cdb: bytes) -> tuple[int, int, int]:
    """Opcode, LBA and blocks."""
    layout = LAYOUTS.get(cdb[0])
    if not layout or len(cdb) < 10:
        return cdb[0], -1, 0
    lba, lba_end, length, length_end = layout
    return (
        cdb[0],
        int.from_bytes(cdb[lba:lba_end], "big"),
        int.from_bytes(cdb[length:length_end], "big"),
    )


def _event(seq: int, kind: str, text: str) -> Event:
    address, cdb = _ADDRESS.search(text), _CDB.search(text)
    if not address or not cdb:
        host = _HOST.search(text)
        return Event(seq, kind, host=host[1] if host else "")
    opcode, lba, blocks = _command(bytes.fromhex(cdb[1]))
    found = _STATUS.search(text)
    status = ""
    if found:
        # What the host adapter says goes before the device's status.
        status = found[2] if found[1] == "DID_OK" else found[1]
    return Event(seq, kind, ":".join(address.groups()), address[1], opcode, lba, blocks, status)


def parse(lines: Iterable[str]) -> list[Event]:
    """The events of a trace in tracefs's own format, which is in order."""
    events: list[Event] = []
    for line in lines:
        match = _LINE.search(line)
        kind = KINDS.get(match[1]) if match else None
        if match and kind:
            events.append(_event(len(events), kind, match[2]))
    return events


def lost_events(text: str) -> int:
    """How many events the ring buffer had no room for."""
    counts = _COUNTS.search(text)
    return int(counts[2]) - int(counts[1]) if counts else 0

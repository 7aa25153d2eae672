# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""The file with the last commands of a LUN, which the plugin keeps while it runs, and after.

Its layout is that of memzbc/observe.h. It is read without asking anyone, and while it is written.
"""
from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

from .names import CHECK_CONDITION, GOOD, UNALIGNED_WRITE, command_name, sense_name, status_name
from .units import MemzbcError

ROOT = Path("/dev/shm/memzbc")
FILE = "trace"
MAGIC = b"memzbcTR"
VERSION = 1
NONE = (1 << 64) - 1

_HEADER = struct.Struct("<8s4I12Q2I280s")
_HEADER_FIELDS = (
    "magic version size record_size count arrivals executions completions first token clock"
    " realtime capacity zone_size zone_cap conv conv_end lba_size pblk_size backstore"
).split()
_RECORD = struct.Struct("<5Q3I2H8B")
_SEQUENCE = struct.Struct("<Q")

WRITING, ARRIVED, EXECUTED, COMPLETE = range(4)
HELD, REORDERED, INJECTED, DROPPED, RESENT = 0x01, 0x02, 0x04, 0x08, 0x10
ENDINGS = ("", "pointer", "passed", "attempts", "depth", "time", "drained", "settings")

# What became of a command, in the order of legends.
GOOD_ONE, HELD_ONE, REORDERED_ONE = "good", "held, good", "reordered, good"
UNALIGNED, OTHER_ERROR, INJECTED_ONE = "unaligned write", "other error", "injected error"
DROPPED_ONE = "answer dropped"
OUTSTANDING, LOST = "no answer yet", "lost with the daemon"
OUTCOMES = (
    GOOD_ONE,
    HELD_ONE,
    REORDERED_ONE,
    UNALIGNED,
    OTHER_ERROR,
    INJECTED_ONE,
    DROPPED_ONE,
    OUTSTANDING,
    LOST,
)


@dataclass(frozen=True)
class Header:
    """What the file says of itself and of its LUN; lengths in logical blocks."""

    count: int
    arrivals: int
    first: int
    clock: int
    realtime: int
    capacity: int
    zone_size: int
    zone_cap: int
    conv: int
    conv_end: int
    lba_size: int
    backstore: str
    size: int
    record_size: int

    @property
    def name(self) -> str:
        """The LUN's name."""
        return self.backstore.partition("/")[2]

    @property
    def zones(self) -> int:
        """How many zones the LUN has, gap zones not counted."""
        return -(-self.capacity // self.zone_size)

    def is_conventional(self, zone: int) -> bool:
        """Whether a zone is one of the conventional ones at the start or at the end."""
        return zone < self.conv or zone >= self.zones - self.conv_end


@dataclass(frozen=True)
class Record:
    """One command. Times in nanoseconds since 1970; None stands for what it has not, or not yet;
    execution and completion are its numbers in these orders, and 0 until it has them. A lost
    one never got an answer of the daemon that had it: the initiator sent it again."""

    number: int
    state: int
    arrived: int
    completed: int | None
    opcode: int
    action: int
    lba: int | None
    blocks: int
    zone: int | None
    write_pointer: int | None
    execution: int
    completion: int
    tag: int
    flags: int
    status: int | None
    sense: tuple[int, int, int] | None
    reordered: int
    held: int
    lost: bool

    @property
    def command(self) -> str:
        """Its name."""
        return command_name(self.opcode, self.action)

    @property
    def is_read(self) -> bool:
        """Whether it is a READ, of any length of CDB."""
        return self.command.startswith("READ(")

    @property
    def is_write(self) -> bool:
        """Whether it is a WRITE or WRITE SAME."""
        return self.command.startswith("WRITE")

    @property
    def outcome(self) -> str:
        """One of OUTCOMES."""
        if self.state != COMPLETE:
            return LOST if self.lost else OUTSTANDING
        if self.flags & INJECTED:
            return DROPPED_ONE if self.flags & DROPPED else INJECTED_ONE
        if self.status != GOOD:
            return UNALIGNED if self.sense == UNALIGNED_WRITE else OTHER_ERROR
        if self.flags & HELD:
            return HELD_ONE
        return REORDERED_ONE if self.flags & REORDERED else GOOD_ONE

    @property
    def result(self) -> str:
        """Its answer in words."""
        if self.state != COMPLETE and self.lost:
            return "lost with the daemon"
        if self.status is None:
            return "held" if self.flags & HELD else "waits"
        if self.sense:
            return sense_name(*self.sense)
        return status_name(self.status)

    @property
    def notes(self) -> str:
        """What else happened to it."""
        notes = []
        if self.flags & REORDERED:
            notes.append(f"reordered ({ENDINGS[self.reordered] or 'still'})")
        if self.flags & HELD:
            notes.append(f"held ({ENDINGS[self.held] or 'still'})")
        if self.flags & INJECTED:
            notes.append("answer dropped" if self.flags & DROPPED else "injected")
        if self.flags & RESENT:
            notes.append("resent")
        if self.state == EXECUTED and not self.lost:
            notes.append("answer waits")
        return ", ".join(notes)


def _parse_header(data: bytes | mmap.mmap) -> Header:
    """Raises ValueError unless it is a trace that this reader knows."""
    if len(data) < _HEADER.size:
        raise ValueError("too short")
    fields = dict(zip(_HEADER_FIELDS, _HEADER.unpack_from(data)))
    if fields.pop("magic") != MAGIC:
        raise ValueError("no trace")
    if fields["version"] != VERSION:
        raise ValueError(f"version {fields['version']}, not {VERSION}")
    fields["backstore"] = fields["backstore"].split(b"\0", 1)[0].decode(errors="replace")
    return Header(**{name: fields[name] for name in Header.__dataclass_fields__})


def _parse_record(header: Header, data: bytes) -> Record:
    """A record that is known to be whole."""
    sequence, arrived, completed, lba, pointer, blocks, execution, completion, tag, flags = (
        fields := _RECORD.unpack(data)
    )[:10]
    opcode, action, status, key, asc, ascq, reordered, held = fields[10:]
    offset = header.realtime - header.clock
    executed = sequence & 3 >= EXECUTED
    return Record(
        number=sequence >> 2,
        state=sequence & 3,
        arrived=arrived + offset,
        completed=completed + offset if sequence & 3 == COMPLETE else None,
        opcode=opcode,
        action=action,
        lba=None if lba == NONE else lba,
        blocks=blocks,
        zone=lba // header.zone_size if lba < header.capacity else None,
        write_pointer=None if pointer == NONE else pointer,
        execution=execution,
        completion=completion,
        tag=tag,
        flags=flags,
        status=status if executed else None,
        sense=(key, asc, ascq) if executed and status == CHECK_CONDITION else None,
        reordered=reordered,
        held=held,
        lost=sequence & 3 != COMPLETE and sequence >> 2 < header.first,
    )


class Trace:
    """A trace file that is open."""

    def __init__(self, path: Path) -> None:
        """Raises OSError, or ValueError when the file is no trace."""
        self.path = path
        self._fd = os.open(path, os.O_RDONLY)
        try:
            self._map = mmap.mmap(self._fd, 0, prot=mmap.PROT_READ)
        except BaseException:
            os.close(self._fd)
            raise
        try:
            self.header = _parse_header(self._map)
            end = self.header.size + self.header.count * _RECORD.size
            if self.header.record_size != _RECORD.size or end > len(self._map):
                raise ValueError("too short")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """The file stays as it is."""
        self._map.close()
        os.close(self._fd)

    def refresh(self) -> Header:
        """The header as it is now, which is kept in `header`."""
        self.header = _parse_header(self._map)
        return self.header

    def is_replaced(self) -> bool:
        """Whether the file has no name any more: the LUN was deleted, or its trace turned off or
        given another length."""
        return os.fstat(self._fd).st_nlink == 0

    def record(self, number: int) -> Record | None:
        """The record of a command, or None when it has none any more, or is being written."""
        at = self.header.size + number % self.header.count * _RECORD.size
        data = self._map[at : at + _RECORD.size]
        sequence = _SEQUENCE.unpack_from(data)[0]
        if sequence >> 2 != number or sequence & 3 == WRITING:
            return None
        # Whole if nothing began to write in the meantime.
        if _SEQUENCE.unpack_from(self._map, at)[0] != sequence:
            return None
        return _parse_record(self.header, data)

    def records(self, last: int | None = None) -> Iterator[Record]:
        """The records of the last LAST commands, or of all that are kept, in order of arrival."""
        header = self.refresh()
        count = header.count if last is None else min(last, header.count)
        for number in range(max(1, header.arrivals - count + 1), header.arrivals + 1):
            record = self.record(number)
            if record:
                yield record


def _is_named(header: Header, name: str) -> bool:
    """NAME is a LUN's name, or NAME@user_N where several have the same."""
    hba, _, own = header.backstore.partition("/")
    return name in (own, f"{own}@{hba}")


def find(name: str) -> Trace:
    """The trace of LUN NAME. Raises MemzbcError."""
    for path in sorted(ROOT.glob(f"*/{FILE}")):
        try:
            trace = Trace(path)
        except (OSError, ValueError):  # Another LUN's that is just being made or deleted.
            continue
        if _is_named(trace.header, name):
            return trace
        trace.close()
    raise MemzbcError(
        f"no trace of a LUN '{name}' in {ROOT}: there is no such LUN ('memzbc list'), or its trace"
        f" is off ('memzbc set {name} trace=65536' turns it on)"
    )

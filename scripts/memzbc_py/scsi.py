# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""SCSI commands through /dev/sgN (SG_IO), and the zones that REPORT ZONES tells."""
from __future__ import annotations

import ctypes
import fcntl
import os
import struct
from dataclasses import dataclass
from typing import Iterator

from .units import MemzbcError

SG_IO = 0x2285
SG_DXFER_FROM_DEV = -3
TIMEOUT_MS = 30_000
NO_WRITE_POINTER = (1 << 64) - 1
HEADER = 64
DESCRIPTOR = 64
# 1023 descriptors a command.
CHUNK = 64 * 1024
PARTIAL = 0x80

ZONE_TYPES = {
    1: "conventional",
    2: "sequential write required",
    3: "sequential write preferred",
    4: "sequential or before required",
    5: "gap",
}
GAP = 5
CONDITIONS = {
    0x0: "not write pointer",
    0x1: "empty",
    0x2: "implicitly opened",
    0x3: "explicitly opened",
    0x4: "closed",
    0x5: "inactive",
    0xD: "read only",
    0xE: "full",
    0xF: "offline",
}


class SgIoHdr(ctypes.Structure):
    """struct sg_io_hdr of <scsi/sg.h>."""

    _fields_ = [
        ("interface_id", ctypes.c_int),
        ("dxfer_direction", ctypes.c_int),
        ("cmd_len", ctypes.c_ubyte),
        ("mx_sb_len", ctypes.c_ubyte),
        ("iovec_count", ctypes.c_ushort),
        ("dxfer_len", ctypes.c_uint),
        ("dxferp", ctypes.c_void_p),
        ("cmdp", ctypes.c_void_p),
        ("sbp", ctypes.c_void_p),
        ("timeout", ctypes.c_uint),
        ("flags", ctypes.c_uint),
        ("pack_id", ctypes.c_int),
        ("usr_ptr", ctypes.c_void_p),
        ("status", ctypes.c_ubyte),
        ("masked_status", ctypes.c_ubyte),
        ("msg_status", ctypes.c_ubyte),
        ("sb_len_wr", ctypes.c_ubyte),
        ("host_status", ctypes.c_ushort),
        ("driver_status", ctypes.c_ushort),
        ("resid", ctypes.c_int),
        ("duration", ctypes.c_uint),
        ("info", ctypes.c_uint),
    ]


@dataclass(frozen=True)
class Zone:
    """One zone descriptor; LBAs and lengths in logical blocks."""

    type: int
    condition: int
    length: int
    start: int
    write_pointer: int | None


def sense_text(sense: bytes) -> str:
    """Sense key, ASC and ASCQ of sense data in either format, as in "5/21/04"."""
    descriptor = sense[0] & 0x7F >= 0x72
    key, asc, ascq = (
        (sense[1], sense[2], sense[3]) if descriptor else (sense[2], sense[12], sense[13])
    )
    return f"{key & 0xf:x}/{asc:02x}/{ascq:02x}"


def read_command(fd: int, cdb: bytes, length: int) -> bytes:
    """What the device returns for a CDB that reads LENGTH bytes. Raises MemzbcError unless the
    status is GOOD."""
    data = ctypes.create_string_buffer(length)
    sense = ctypes.create_string_buffer(64)
    command = ctypes.create_string_buffer(cdb, len(cdb))
    header = SgIoHdr(
        interface_id=ord("S"),
        dxfer_direction=SG_DXFER_FROM_DEV,
        cmd_len=len(cdb),
        mx_sb_len=len(sense),
        dxfer_len=length,
        dxferp=ctypes.addressof(data),
        cmdp=ctypes.addressof(command),
        sbp=ctypes.addressof(sense),
        timeout=TIMEOUT_MS,
    )
    fcntl.ioctl(fd, SG_IO, header)
    if header.host_status:
        raise MemzbcError(
            f"command {cdb.hex()} was not executed: host status {header.host_status:#x}"
        )
    if header.status:
        detail = f", sense {sense_text(sense.raw)}" if header.sb_len_wr else ""
        raise MemzbcError(f"command {cdb.hex()} ended with status {header.status:#x}{detail}")
    return data.raw[: length - header.resid]


def parse_zones(report: bytes) -> tuple[int, list[Zone]]:
    """The maximum LBA and the complete zone descriptors in REPORT ZONES parameter data."""
    list_length, max_lba = struct.unpack_from(">I4xQ", report)
    zones = []
    for at in range(HEADER, min(HEADER + list_length, len(report)) - DESCRIPTOR + 1, DESCRIPTOR):
        kind, condition, length, start, pointer = struct.unpack_from(">BB6xQQQ", report, at)
        zones.append(
            Zone(
                kind & 0xF,
                condition >> 4,
                length,
                start,
                None if pointer == NO_WRITE_POINTER else pointer,
            )
        )
    return max_lba, zones


def report_zones(path: str) -> Iterator[Zone]:
    """Every zone of the disk behind an sg node, in order, in as many commands as it takes."""
    fd = os.open(path, os.O_RDONLY)
    try:
        lba, max_lba = 0, 0
        while lba <= max_lba:
            cdb = struct.pack(">BBQIBB", 0x95, 0, lba, CHUNK, PARTIAL, 0)
            max_lba, zones = parse_zones(read_command(fd, cdb, CHUNK))
            if not zones or zones[-1].start + zones[-1].length <= lba:
                raise MemzbcError(
                    f"{path}: REPORT ZONES from LBA {lba:#x} of {max_lba:#x} tells no further zone"
                )
            yield from zones
            lba = zones[-1].start + zones[-1].length
    finally:
        os.close(fd)

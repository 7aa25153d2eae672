# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""Words for the numbers of SCSI: commands, statuses and sense data."""
from __future__ import annotations

# By operation code, and by service action where the code has some.
COMMANDS: dict[tuple[int, int | None], str] = {
    (0x00, None): "TEST UNIT READY",
    (0x03, None): "REQUEST SENSE",
    (0x08, None): "READ(6)",
    (0x0A, None): "WRITE(6)",
    (0x12, None): "INQUIRY",
    (0x15, None): "MODE SELECT(6)",
    (0x1A, None): "MODE SENSE(6)",
    (0x1B, None): "START STOP UNIT",
    (0x25, None): "READ CAPACITY(10)",
    (0x28, None): "READ(10)",
    (0x2A, None): "WRITE(10)",
    (0x2F, None): "VERIFY(10)",
    (0x35, None): "SYNC CACHE(10)",
    (0x41, None): "WRITE SAME(10)",
    (0x4D, None): "LOG SENSE",
    (0x55, None): "MODE SELECT(10)",
    (0x5A, None): "MODE SENSE(10)",
    (0x88, None): "READ(16)",
    (0x8A, None): "WRITE(16)",
    (0x8F, None): "VERIFY(16)",
    (0x91, None): "SYNC CACHE(16)",
    (0x93, None): "WRITE SAME(16)",
    (0x94, 0x01): "CLOSE ZONE",
    (0x94, 0x02): "FINISH ZONE",
    (0x94, 0x03): "OPEN ZONE",
    (0x94, 0x04): "RESET WP",
    (0x95, 0x00): "REPORT ZONES",
    (0x9E, 0x10): "READ CAPACITY(16)",
    (0xA0, None): "REPORT LUNS",
    (0xA3, 0x0C): "REPORT OPCODES",
    (0xA3, 0x0D): "REPORT TMFS",
    (0xA8, None): "READ(12)",
    (0xAA, None): "WRITE(12)",
    (0xAF, None): "VERIFY(12)",
}
_WITH_ACTIONS = {code for code, action in COMMANDS if action is not None}

GOOD, CHECK_CONDITION = 0x00, 0x02
STATUSES = {
    GOOD: "good",
    CHECK_CONDITION: "check condition",
    0x08: "busy",
    0x18: "reservation conflict",
    0x28: "task set full",
}

UNALIGNED_WRITE = (5, 0x21, 0x04)
SENSES = {
    (2, 0x04, 0x01): "becoming ready",
    (2, 0x04, 0x02): "stopped",
    (3, 0x0C, 0x00): "write error",
    (3, 0x11, 0x00): "unrecovered read error",
    (4, 0x44, 0x00): "internal target failure",
    (5, 0x1A, 0x00): "parameter list length",
    (5, 0x20, 0x00): "invalid opcode",
    (5, 0x21, 0x00): "LBA out of range",
    UNALIGNED_WRITE: "unaligned write",
    (5, 0x21, 0x05): "write boundary",
    (5, 0x21, 0x06): "read of unwritten blocks",
    (5, 0x21, 0x07): "read boundary",
    (5, 0x21, 0x09): "gap zone",
    (5, 0x24, 0x00): "invalid field in CDB",
    (5, 0x26, 0x00): "invalid field in parameters",
    (7, 0x27, 0x02): "software write protected",
    (7, 0x27, 0x07): "no memory left",
    (7, 0x27, 0x08): "zone read only",
    (7, 0x2C, 0x0E): "zone offline",
    (7, 0x55, 0x0E): "too many open zones",
    (14, 0x1D, 0x00): "miscompare",
}

# What memzbc calls a command that it does not know.
UNSUPPORTED = "unsupported"


def command_name(opcode: int, action: int | None) -> str:
    """A command in words, as in "WRITE(16)", or by its numbers, as in "94h/1fh". ACTION counts
    where the operation code has service actions."""
    if opcode not in _WITH_ACTIONS:
        return COMMANDS.get((opcode, None), f"{opcode:02x}h")
    return COMMANDS.get((opcode, action), f"{opcode:02x}h/{action or 0:02x}h")


def status_name(status: int) -> str:
    """A status in words."""
    return STATUSES.get(status, f"status {status:02x}h")


def sense_code(key: int, asc: int, ascq: int) -> str:
    """Sense data as in "5/21/04"."""
    return f"{key:x}/{asc:02x}/{ascq:02x}"


def sense_name(key: int, asc: int, ascq: int) -> str:
    """Sense data with words, as in "5/21/04 unaligned write"."""
    words = SENSES.get((key, asc, ascq), "")
    return f"{sense_code(key, asc, ascq)} {words}".rstrip()


def _three_digits(value: float) -> str:
    """A number in three digits, or in as many as it has before the point."""
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


def time_text(nanoseconds: float) -> str:
    """A time in three digits or so, as in "1.25ms"."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{_three_digits(nanoseconds / size)}{unit}"
    return f"{nanoseconds:.0f}ns"


def bytes_text(size: float) -> str:
    """A number of bytes in three digits or so, as in "1.25M"."""
    for power, suffix in ((4, "T"), (3, "G"), (2, "M"), (1, "K")):
        if size >= 1024**power:
            return f"{_three_digits(size / 1024**power)}{suffix}"
    return f"{size:.0f}"

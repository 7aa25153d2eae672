# SPDX-License-Identifier: GPL-2.0-only
"""The LUN under test and the disk that the kernel makes of it. Runs in the guest."""
from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Sequence

from memzbc_py.control import control_request

from .scenarios import LUN_KEYS, LUN_SIZE

NAME = "eh"
CHECK_CONDITION = 2
UNALIGNED_WRITE = (5, 0x21, 0x04)
# What the error handler sends: TEST UNIT READY, START STOP UNIT.
EH_OPCODES = (0x00, 0x1B)


class NoDisk(Exception):
    """There is no disk to test with; the text says why."""


class Lun:
    """A LUN on tcm_loop. Raises NoDisk."""

    name = NAME

    def __init__(self, size: str = LUN_SIZE, keys: Sequence[str] = LUN_KEYS) -> None:
        made = subprocess.run(
            ["memzbc", "create", NAME, "--size", size, "--json", *keys],
            capture_output=True, text=True, check=False,
        )
        if made.returncode:
            raise NoDisk(f"memzbc create: {made.stderr.strip()}")
        disk = json.loads(made.stdout)["exports"][0]["disks"][0]
        self.device: str = disk["hctl"]
        if not disk["block"]:
            raise NoDisk("the kernel makes no block device of a host-managed disk")
        self.node: str = disk["block"]
        self.generic: str = disk["sg"]
        self.queue = Path("/sys/block") / Path(self.node).name / "queue"
        self.sysfs = self.queue.parent / "device"
        if (self.queue / "zoned").read_text().strip() != "host-managed":
            raise NoDisk("the kernel does not take the disk as zoned (CONFIG_BLK_DEV_ZONED)")
        # Each request shall be a command.
        (self.queue / "nomerges").write_text("2")

    def set_queue(self, attribute: str, value: str | int) -> None:
        """Sets an attribute of the queue. Raises NoDisk with the kernel's reason."""
        try:
            (self.queue / attribute).write_text(str(value))
        except OSError as error:
            raise NoDisk(f"{self.queue / attribute} = {value}: {error.strerror}") from None

    @property
    def tags(self) -> int:
        """The queue's number of requests."""
        return int((self.queue / "nr_requests").read_text())

    @property
    def error_counter(self) -> Path:
        """A file with the number of commands that came back with an error."""
        return self.sysfs / "ioerr_cnt"

    @property
    def errors(self) -> int:
        """That number."""
        return int(self.error_counter.read_text(), 0)

    @property
    def write_plugging(self) -> bool:
        """Whether the block layer itself sends one write of a zone at a time."""
        return (Path("/sys/kernel/debug/block") / Path(self.node).name / "zone_wplugs").exists()

    @staticmethod
    def faults(*settings: str) -> None:
        """Has the LUN reorder writes or fail commands."""
        if settings:
            control_request(NAME, "set", *settings)

    @staticmethod
    def resets() -> int:
        """LUN resets that the target has had."""
        count = 0
        for place in Path("/sys/kernel/config/target/core").glob(f"user_*/{NAME}/statistics"):
            count += int((place / "scsi_tgt_dev" / "resets").read_text())
        return count

    @staticmethod
    def count_from_zero() -> None:
        """Resets the LUN's statistics."""
        control_request(NAME, "reset-stats")

    @staticmethod
    def counted() -> dict[str, Any]:
        """What the LUN has seen since: an observer of its own, below the initiator."""
        stats = control_request(NAME, "stats")["stats"]
        return {
            "unaligned": sum(
                sense["count"]
                for sense in stats["senses"]
                if (sense["key"], sense["asc"], sense["ascq"]) == UNALIGNED_WRITE
            ),
            "check_conditions": sum(
                entry["count"]
                for entry in stats["statuses"]
                if entry["status"] == CHECK_CONDITION
            ),
            "eh_commands": sum(
                entry["commands"] for entry in stats["commands"] if entry["opcode"] in EH_OPCODES
            ),
        }

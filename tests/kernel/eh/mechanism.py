# SPDX-License-Identifier: GPL-2.0-only
"""How the mechanism under test is switched on, and how many retries it allows. Runs in the guest.

The judge needs none of this to observe: with mechanism none the kernel is taken as it is.
"""
from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from .lun import Lun

NONE, MODULE, PATCHED = "none", "module", "patched"
ALL = (NONE, MODULE, PATCHED)
# What sd allows any command, and the queue attribute of the patch.
SD_RETRIES = 5
SWITCH = "pipeline_zoned_writes"
HANDLER = "memzbc_eh"


class NoMechanism(Exception):
    """It cannot be switched on; the text says why."""


def _write(place: Path, text: str) -> None:
    try:
        place.write_text(text)
    except OSError as error:
        raise NoMechanism(f"{place}: '{text}': {error.strerror}") from None


class Mechanism:
    """Mechanism none: the kernel as it is."""

    def __init__(self, lun: Lun) -> None:
        self.lun = lun

    def switch(self, on: bool) -> None:
        """Switches it on or off."""

    def allowed(self) -> int | None:
        """Retries of a write, where that is known."""
        return None

    def statistics(self) -> dict[str, str]:
        """What it has counted itself, for the reader."""
        return {}


class Module(Mechanism):
    """The module, whose device handler can be attached, but not detached."""

    def __init__(self, lun: Lun, image: str) -> None:
        super().__init__(lun)
        self.image = image
        self.attached = False

    def switch(self, on: bool) -> None:
        """Attaches the handler to the disk when first asked to."""
        if self.attached or not on:
            return
        loaded = subprocess.run(["insmod", self.image], capture_output=True, text=True, check=False)
        if loaded.returncode:
            raise NoMechanism(f"insmod {Path(self.image).name}: {loaded.stderr.strip()}")
        _write(self.lun.sysfs / "dh_state", HANDLER)
        self.attached = True

    def allowed(self) -> int | None:
        """max_rounds; 0 is sd's, and as many as the queue has requests."""
        place = self.lun.sysfs / HANDLER / "max_rounds"
        return int(place.read_text()) or SD_RETRIES + self.lun.tags

    def statistics(self) -> dict[str, str]:
        """The module's own counters."""
        place = self.lun.sysfs / HANDLER
        return {file.name: file.read_text().strip() for file in sorted(place.glob("*"))}


class Patched(Mechanism):
    """The patched kernel, whose queues have a switch."""

    @property
    def present(self) -> bool:
        """Whether this kernel has it."""
        return (self.lun.queue / SWITCH).exists()

    def switch(self, on: bool) -> None:
        """Sets the queue's switch."""
        if not self.present:
            raise NoMechanism(f"the kernel's queues have no attribute {SWITCH}")
        _write(self.lun.queue / SWITCH, str(int(on)))

    def allowed(self) -> int | None:
        """sd's, and as many as the queue has requests."""
        return SD_RETRIES + self.lun.tags


def of(job: dict[str, Any], lun: Lun) -> Mechanism:
    """The mechanism that the job names."""
    if job["mechanism"] == MODULE:
        return Module(lun, job["module"])
    if job["mechanism"] == PATCHED:
        return Patched(lun)
    return Mechanism(lun)

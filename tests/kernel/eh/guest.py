# SPDX-License-Identifier: GPL-2.0-only
"""Runs scenarios in the guest: guest.py DIRECTORY, where job.json says what to do.

Leaves there NAME.json and NAME.trace of each scenario, and facts.json with what holds for all.
Nothing is judged here.
"""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "scripts")]

from eh import mechanism  # noqa: E402
from eh.lun import Lun, NoDisk  # noqa: E402
from eh.scenarios import (  # noqa: E402
    BY_NAME, FAILURES_FIRST, NEGATIVES, ZONE_BLOCKS, Scenario, negative_faults,
)
from eh.tracing import NoTracing, Tracing  # noqa: E402

# Only for what hangs: nothing is judged by time.
HANG_S = 120.0
POLL_S = 0.005
BESIDE_COUNT = 4
# A bug in the kernel, whatever else it does.
COMPLAINT = re.compile(r"BUG:|WARNING:|Oops|general protection|blocked for more than|UBSAN:")


class Hangs(Exception):
    """Writes that never come back: the disk is lost to further scenarios."""


@dataclass
class Writer:
    """One run of zoned-writer."""

    command: list[str]
    process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def facts(self) -> list[dict[str, Any]]:
        """What it said. Raises Hangs, or NoDisk if it could not run."""
        try:
            out, complaint = self.process.communicate(timeout=HANG_S)
        except subprocess.TimeoutExpired:
            raise Hangs from None
        if self.process.returncode not in (0, 1):
            raise NoDisk(f"{' '.join(self.command)}: {complaint.strip()}")
        return [json.loads(line) for line in out.splitlines()]


class Guest:
    """The disk, the tracer and how scenarios are run with them."""

    def __init__(self, directory: Path, job: dict[str, Any]) -> None:
        self.directory, self.job = directory, job
        self.lun = Lun()
        # The events are there when the modules are.
        self.tracing = Tracing()
        self.mechanism = mechanism.of(job, self.lun)

    def writer(self, *options: str | int) -> Writer:
        """Starts zoned-writer."""
        return Writer([self.job["writer"], self.lun.node, *map(str, options)])

    def run_writes(self, scenario: Scenario, start: int) -> dict[str, Any]:
        """Sends the scenario's writes, from LBA START on."""
        options: list[str | int] = [
            "--verify", "--start", start, "--count", scenario.count, "--order", scenario.order,
            "--threads", scenario.threads, "--zones", scenario.zones, "--stride", ZONE_BLOCKS,
        ]
        before = self.lun.errors
        if scenario.hole:
            options += ["--holes", 0]
        if scenario.late:
            wanted = FAILURES_FIRST * scenario.waiting
            options += ["--late", f"{self.lun.error_counter}:{wanted}"]
        writer = self.writer(*options)
        got: dict[str, Any] = {}
        if scenario.beside is not None:
            while writer.process.poll() is None and self.lun.errors - before < scenario.waiting:
                time.sleep(POLL_S)
            beside = self.writer("--verify", "--start", scenario.beside * ZONE_BLOCKS,
                                 "--count", BESIDE_COUNT)
            got["beside"] = beside.facts()
        got["results"] = writer.facts()
        return got

    def run_negatives(self) -> dict[str, Any]:
        """Sends the commands that are not to be retried, one after the other."""
        self.lun.faults(negative_faults())
        results = []
        for negative in NEGATIVES:
            run = self.writer("--op", negative.op, "--sg", self.lun.generic,
                              "--start", negative.lba)
            results += run.facts()
        return {"results": results}

    def attempt(self, scenario: Scenario, number: int) -> dict[str, Any]:
        """Runs it once; all that was seen."""
        start = scenario.start + number * scenario.count
        resets = self.lun.resets()
        self.lun.count_from_zero()
        self.tracing.clear()
        got: dict[str, Any] = {"start": start, "attempt": number + 1, "hangs": False}
        try:
            got |= self.run_negatives() if scenario.negatives else self.run_writes(scenario, start)
        except Hangs:
            got |= {"results": [], "hangs": True}
        trace = self.tracing.text()
        got["lun"] = self.lun.counted() | {"resets": self.lun.resets() - resets}
        (self.directory / f"{scenario.name}.trace").write_text(trace)
        return got

    def run(self, scenario: Scenario) -> bool:
        """Runs a scenario and keeps what was seen; False if the disk hangs."""
        # The zone locks of mq-deadline would keep the control from failing.
        self.lun.set_queue("scheduler", self.job["scheduler"] if scenario.on else "none")
        self.mechanism.switch(scenario.on)
        self.lun.set_queue("nr_requests", scenario.tags)
        self.lun.faults(*scenario.faults)
        for number in range(scenario.attempts):
            got = self.attempt(scenario, number)
            if got["hangs"] or got["lun"]["unaligned"]:
                break
        if scenario.faults:
            self.lun.faults("reorder=0", "delay=0")
        if scenario.negatives:
            self.lun.faults("error=off")
        got["tags"] = self.lun.tags
        got["allowed"] = self.mechanism.allowed() if scenario.on else None
        (self.directory / f"{scenario.name}.json").write_text(json.dumps(got))
        return not got["hangs"]


def run_all(directory: Path, job: dict[str, Any], facts: dict[str, Any]) -> None:
    """Runs what the job wants. Raises NoDisk, NoTracing or mechanism.NoMechanism."""
    guest = Guest(directory, job)
    facts |= {
        "device": guest.lun.device,
        "missing": guest.tracing.missing,
        "write_plugging": guest.lun.write_plugging,
    }
    for name in job["scenarios"]:
        if not guest.run(BY_NAME[name]):
            break
    facts["statistics"] = guest.mechanism.statistics()


def main() -> int:
    """Runs the job; the exit status is 0 unless this program itself is at fault."""
    directory = Path(sys.argv[1])
    job = json.loads((directory / "job.json").read_text())
    facts: dict[str, Any] = {"release": os.uname().release, "problem": None}
    try:
        run_all(directory, job, facts)
    except (NoDisk, NoTracing, mechanism.NoMechanism) as error:
        facts["problem"] = str(error)
    log = subprocess.run(["dmesg"], capture_output=True, text=True, errors="replace", check=False)
    (directory / "kernel.log").write_text(log.stdout)
    facts["complaints"] = [line for line in log.stdout.splitlines() if COMPLAINT.search(line)]
    (directory / "facts.json").write_text(json.dumps(facts))
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Speed of sequential zoned writes by how they are kept in order. Runs in the guest.

Every way writes the same LUN with the same fio job. Writes are 4 KiB and cannot be merged, so that
writes per second are commands per second. What was written is verified, and one error ends it all.
"""
from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "scripts")]

from eh.lun import Lun  # noqa: E402
from eh.mechanism import Mechanism, Module, Patched  # noqa: E402
from memzbc_py.control import control_request  # noqa: E402

BLOCK = 4096
ZONE = 64 << 20
CONVENTIONAL = 1
SIZE = "2G"
KEYS = (f"zone_size={ZONE >> 20}M", f"conv={CONVENTIONAL}", "lba=4096", "trace=0")
DEPTH = 64
BATCH = 16
CALIBRATION_WRITES = 256
WAKEUPS = Path("/sys/kernel/tracing/events/scsi/scsi_eh_wakeup")
TRACE = Path("/sys/kernel/tracing/trace")


class Failed(Exception):
    """A run that had an error or did not write what it should."""


@dataclass(frozen=True)
class Way:
    """How writes are kept in order: what is set on the queue and on the LUN."""

    name: str
    scheduler: str
    hold: int
    mechanism: str


# The first is what the others are compared with. The module's device handler stays until the LUN
# goes, so its turn is the last.
WAYS = (
    Way("mq-deadline", "mq-deadline", 0, "none"),
    Way("hold", "none", DEPTH, "none"),
    Way("patch", "mq-deadline", 0, "patched"),
    Way("module", "none", 0, "module"),
)


@dataclass
class Speed:
    """What one run showed."""

    way: str
    delay: str
    writes: int
    iops: float
    latency_ms: float
    unaligned: int
    held: int
    wakeups: int


def output_of(*command: str) -> str:
    """Standard output of a command. Raises Failed if it fails."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(command)}: exit status {done.returncode}\n"
                     f"{done.stdout}{done.stderr}")
    return done.stdout


def write(lun: Lun, writes: int) -> tuple[float, float]:
    """Writes so many blocks from the start and reads them back. Writes per second, and their mean
    completion latency in milliseconds. Raises Failed."""
    first = CONVENTIONAL * ZONE
    output_of("blkzone", "reset", "--offset", str(first // 512), lun.node)
    report = json.loads(output_of(
        "fio", "--name=w", f"--filename={lun.node}", "--zonemode=zbd", "--rw=write",
        f"--bs={BLOCK}", "--ioengine=io_uring", "--direct=1", f"--iodepth={DEPTH}",
        f"--iodepth_batch_submit={BATCH}", f"--iodepth_batch_complete_min={BATCH}",
        f"--offset={first}", f"--size={ZONE * 24}", f"--io_size={writes * BLOCK}",
        "--verify=crc32c", "--output-format=json"))
    job = report["jobs"][0]
    written, verified = (job[kind]["total_ios"] for kind in ("write", "read"))
    if job["error"] or written != writes or verified != writes:
        raise Failed(f"error {job['error']}: {written} of {writes} blocks were written, "
                     f"{verified} verified")
    return job["write"]["iops"], job["write"]["clat_ns"]["mean"] / 1e6


def count_wakeups() -> int:
    """How often the kernel's error handler was woken up since the last call."""
    count = TRACE.read_text().count("scsi_eh_wakeup:")
    TRACE.write_text("")
    return count


def measure(lun: Lun, way: Way, delay: str, seconds: int) -> Speed:
    """Two runs: a short one to learn the speed, then one of about so many seconds."""
    control_request(lun.name, "set", f"delay_write={delay}")
    speed, _ = write(lun, CALIBRATION_WRITES)
    writes = max(CALIBRATION_WRITES, int(speed * seconds) // BATCH * BATCH)
    lun.count_from_zero()
    count_wakeups()
    iops, latency = write(lun, writes)
    stats = control_request(lun.name, "stats")["stats"]
    return Speed(way.name, delay, writes, iops, latency, stats["writes"]["unaligned"],
                 stats["held"]["count"], count_wakeups())


def mechanisms(lun: Lun, module: str) -> dict[str, Mechanism]:
    """Those that this kernel has, by name."""
    found: dict[str, Mechanism] = {"none": Mechanism(lun)}
    if Patched(lun).present:
        found["patched"] = Patched(lun)
    if module:
        found["module"] = Module(lun, module)
    return found


def run(job: dict[str, Any]) -> list[Speed]:
    """All ways that this kernel has with all delays."""
    lun = Lun(SIZE, KEYS)
    lun.set_queue("max_sectors_kb", BLOCK // 1024)
    (WAKEUPS / "enable").write_text("1")
    found = mechanisms(lun, job["module"])
    speeds = []
    for way in WAYS:
        if way.mechanism not in found:
            continue
        for mechanism in found.values():
            mechanism.switch(False)
        lun.set_queue("scheduler", way.scheduler)
        control_request(lun.name, "set", f"hold={way.hold}")
        found[way.mechanism].switch(True)
        for delay in job["delays"]:
            print(f"{way.name}, delay {delay}", flush=True)
            speeds.append(measure(lun, way, delay, job["seconds"]))
    return speeds


def main() -> int:
    """Does the job that the directory describes."""
    directory = Path(sys.argv[1])
    speeds = run(json.loads((directory / "job.json").read_text()))
    (directory / "speeds.json").write_text(json.dumps([asdict(speed) for speed in speeds]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0-only
"""The scenarios: what is written, where and how. The guest runs them, the host judges them."""
from __future__ import annotations

from dataclasses import dataclass

BLOCK = 4096
ZONE_BLOCKS = 1024
CONVENTIONAL = 1
LUN_SIZE = "128M"
LUN_KEYS = ("zone_size=4M", f"conv={CONVENTIONAL}", f"lba={BLOCK}")

# Tags of the queue: more than a batch has writes, and few where retries grow with them.
MANY_TAGS, FEW_TAGS = 64, 16
# Commands behind the hole that leave tags free.
WAITING = 12
# Nothing comes back before all of a batch is sent.
TOGETHER = ("delay=20ms",)
# The write that is missing is sent when each other has failed so often.
FAILURES_FIRST = 2

# Offsets in their zones of the negatives, and the sense that they get (none: the LUN's own).
UNALIGNED, OUT_OF_RANGE = "052104", "052100"


@dataclass(frozen=True)
class Scenario:
    """Writes to ZONES zones from ZONE on, or what NEGATIVES says.

    REQUIRED: the kernel cannot be judged without it; others may not happen in a run. BESIDE: a zone
    that is written in order meanwhile. FAULTS: settings of the LUN. ATTEMPTS: so often at most,
    until the LUN has refused a write. ON: whether the mechanism is on. HOLE: request 0 is not sent,
    or LATE.
    """

    name: str
    title: str
    zone: int
    count: int
    order: str = "sequential"
    zones: int = 1
    threads: int = 1
    tags: int = MANY_TAGS
    attempts: int = 1
    hole: bool = False
    late: bool = False
    beside: int | None = None
    faults: tuple[str, ...] = ()
    required: bool = True
    on: bool = True
    negatives: bool = False

    @property
    def shuffled(self) -> bool:
        """Whether the application sends the writes out of order."""
        return self.order != "sequential"

    @property
    def start(self) -> int:
        """The first LBA."""
        return self.zone * ZONE_BLOCKS

    @property
    def waiting(self) -> int:
        """Writes that are sent at once."""
        return self.count - self.hole


SCENARIOS = (
    Scenario("control", "the mechanism is off: 32 writes in shuffled order", 1, 32, "shuffle:1",
             on=False),
    Scenario("batch", "32 writes of a zone, shuffled, one batch", 2, 32, "shuffle:1",
             faults=TOGETHER),
    Scenario("reversed", "32 writes of a zone, in reversed order, one batch", 3, 32, "reversed",
             faults=TOGETHER),
    Scenario("zones", "32 writes of two zones, shuffled, one batch", 4, 32, "shuffle:2", zones=2,
             faults=TOGETHER),
    Scenario("threads", "writes of a zone from all CPUs, in order as far as they can be", 6, 64,
             threads=2, attempts=10, required=False),
    Scenario("device", "24 writes in order, which the LUN executes in another", 7, 24,
             faults=("reorder=4", "reorder_depth=1", "seed=1")),
    Scenario("hole", f"{WAITING} writes behind one that never comes", 8, WAITING + 1,
             tags=FEW_TAGS, hole=True, beside=9),
    Scenario("filler", f"{WAITING} writes behind one that comes late, with tags free", 10,
             WAITING + 1, hole=True, late=True),
    Scenario("tags", f"{FEW_TAGS} writes behind one that comes late, with no tag free", 11,
             FEW_TAGS + 1, tags=FEW_TAGS, hole=True, late=True),
    Scenario("negatives", "what is not to be retried", 12, 1, negatives=True),
)
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


@dataclass(frozen=True)
class Negative:
    """A command that must be sent once only. OP is zoned-writer's; SENSE is injected."""

    name: str
    lba: int
    op: str
    sense: str | None


NEGATIVES = (
    Negative("a READ that gets 21h/04h", 12 * ZONE_BLOCKS, "read", UNALIGNED),
    Negative("a write to a conventional zone that gets 21h/04h", 8, "write", UNALIGNED),
    Negative("a write to a sequential zone that gets 21h/00h", 13 * ZONE_BLOCKS, "write",
             OUT_OF_RANGE),
    Negative("an SG_IO write beyond the write pointer", 14 * ZONE_BLOCKS + 4, "sg-write", None),
)


def negative_faults() -> str:
    """The LUN's setting `error` for the negatives."""
    rules = [
        f"sense{negative.sense}@{negative.op}@lba{negative.lba}"
        for negative in NEGATIVES
        if negative.sense
    ]
    return "error=" + "+".join(rules)

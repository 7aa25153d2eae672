# SPDX-License-Identifier: GPL-2.0-only
"""Which writes were sent again, in which order and in how many rounds: the same for every kernel,
whatever part of it does that.

A round is a run of retries, of writes that had all failed when the first of them was sent. A write
that fails later is sent again in the next round.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Iterable

from .trace import CHECK_CONDITION, DONE, ERROR, GOOD, START, Event


@dataclass
class Attempt:
    """A write that was sent: the NUMBER-th time (from 0), in ROUND (0: not sent again)."""

    lba: int
    number: int
    sent: int
    failed_before: int = -1
    back: int | None = None
    status: str = ""
    round: int = 0

    @property
    def refused(self) -> bool:
        """Whether it came back with CHECK CONDITION."""
        return self.status == CHECK_CONDITION


@dataclass
class History:
    """What happened to the writes of a device: the attempts in the order they were sent."""

    zone_blocks: int
    attempts: list[Attempt] = field(default_factory=list)

    def of(self, lba: int) -> list[Attempt]:
        """The attempts of one write."""
        return [attempt for attempt in self.attempts if attempt.lba == lba]

    @property
    def lbas(self) -> list[int]:
        """The writes, in the order in which they were first sent."""
        return [attempt.lba for attempt in self.attempts if attempt.number == 0]

    @property
    def retries(self) -> list[Attempt]:
        """What was sent again."""
        return [attempt for attempt in self.attempts if attempt.number]

    @property
    def refusals(self) -> int:
        """How many CHECK CONDITIONs there were."""
        return sum(attempt.refused for attempt in self.attempts)

    @property
    def rounds(self) -> int:
        """How many rounds of retries there were."""
        return max((attempt.round for attempt in self.attempts), default=0)

    def in_round(self, number: int) -> list[Attempt]:
        """What was sent in a round, new writes left out; in round 0: what was sent first."""
        return [attempt for attempt in self.attempts
                if attempt.round == number and bool(attempt.number) == bool(number)]

    def descents(self, number: int) -> list[tuple[int, int]]:
        """Pairs of LBAs of a zone that were sent one after the other, the higher one first."""
        found = []
        last: dict[int, int] = {}
        for attempt in self.in_round(number):
            zone = attempt.lba // self.zone_blocks
            if attempt.lba < last.get(zone, -1):
                found.append((last[zone], attempt.lba))
            last[zone] = attempt.lba
        return found

    def sent_times(self) -> Counter[int]:
        """How often each write was sent."""
        return Counter(attempt.lba for attempt in self.attempts)

    @property
    def outstanding(self) -> int:
        """The most writes of a zone that were outstanding at once."""
        most = 0
        ends: dict[int, list[float]] = {}
        for attempt in self.attempts:
            zone = ends.setdefault(attempt.lba // self.zone_blocks, [])
            zone[:] = [end for end in zone if end > attempt.sent]
            zone.append(float("inf") if attempt.back is None else attempt.back)
            most = max(most, len(zone))
        return most

    @property
    def in_flight_together(self) -> bool:
        """Whether every write had been sent once before the first was sent again."""
        first = min((attempt.sent for attempt in self.retries), default=None)
        return first is None or all(a.sent < first for a in self.attempts if not a.number)


def history(events: Iterable[Event], device: str, zone_blocks: int,
            lbas: range | None = None) -> History:
    """The writes of DEVICE, of those at LBAS only."""
    result = History(zone_blocks)
    latest: dict[int, Attempt] = {}
    for event in events:
        if event.device != device or not event.is_write or (lbas and event.lba not in lbas):
            continue
        attempt = latest.get(event.lba)
        if event.kind == START:
            latest[event.lba] = _again(event, attempt)
            result.attempts.append(latest[event.lba])
        elif event.kind == ERROR and attempt:
            # The host adapter took it not: it was not sent.
            result.attempts.remove(attempt)
            latest.pop(event.lba)
            if attempt.number:
                latest[event.lba] = result.of(event.lba)[-1]
        elif event.kind == DONE and attempt:
            attempt.back, attempt.status = event.seq, event.status
    _number_rounds(result)
    return result


def _again(event: Event, before: Attempt | None) -> Attempt:
    """The attempt that EVENT starts; a write that had been good is a new one."""
    if not before or before.status == GOOD:
        return Attempt(event.lba, 0, event.seq)
    failed = before.sent if before.back is None else before.back
    return Attempt(event.lba, before.number + 1, event.seq, failed)


def _number_rounds(result: History) -> None:
    current, began = 0, -1
    for attempt in result.retries:
        if not current or attempt.failed_before > began:
            current, began = current + 1, attempt.sent
        attempt.round = current

# SPDX-License-Identifier: GPL-2.0-only
"""The criteria of a scenario: what has to be seen, what was seen."""
from __future__ import annotations

import errno
from collections import Counter
from dataclasses import dataclass
from typing import Any, Iterator

from .rounds import History, history
from .scenarios import NEGATIVES, ZONE_BLOCKS, Scenario
from .trace import DEVICE_RESET, START, TARGET_RESET, TIMEOUT, WAKEUP, Event

NO_RETRY = "no retry"
ESCALATION = "escalation"
WRONG_ORDER = "wrong order"
WRONG_COUNT = "wrong number of retries"
UNBOUNDED = "unbounded"
ROUNDS = "too many rounds"
LOST = "writes lost"
STRAY_RETRY = "retries what must not be retried"
WAITS = "other zones do not work"
WRONG_ERROR = "wrong error"
COMPLAINTS = "the kernel complains"
# The most telling first: a kernel that escalates, say, may lose writes because of that.
REASONS = (
    NO_RETRY, ESCALATION, WRONG_ORDER, WRONG_COUNT, UNBOUNDED, STRAY_RETRY, ROUNDS, LOST, WAITS,
    WRONG_ERROR, COMPLAINTS,
)
ROUNDS_TOGETHER = 2
EH_MECHANISMS = ("module", "patched")


@dataclass(frozen=True)
class Criterion:
    """PASSED is None where there was nothing to judge. REASON is why the kernel fails by it."""

    name: str
    expected: str
    seen: str
    passed: bool | None
    reason: str


@dataclass
class Run:
    """A scenario as it was run: the trace, zoned-writer's lines, and what else the guest saw."""

    scenario: Scenario
    events: list[Event]
    got: dict[str, Any]
    device: str
    mechanism: str = "none"
    lost_events: int = 0

    @property
    def start(self) -> int:
        """The first LBA of this run."""
        return int(self.got["start"])

    @property
    def writes(self) -> History:
        """The scenario's own writes."""
        end = (self.scenario.zone + self.scenario.zones) * ZONE_BLOCKS
        return history(self.events, self.device, ZONE_BLOCKS, range(self.start, end))

    def lines(self, kind: str) -> list[dict[str, Any]]:
        """zoned-writer's lines of a kind: request, verify, zone, late, end."""
        return [line for line in self.got["results"] if kind in line]

    @property
    def errors(self) -> dict[int, int]:
        """The errno of each write that failed, by its LBA."""
        return {line["lba"]: line["errno"] for line in self.lines("request") if line["errno"]}

    def count(self, kind: str) -> int:
        """Events of a kind."""
        return sum(event.kind == kind for event in self.events)

    @property
    def offset(self) -> int:
        """Where in its zone the first write goes."""
        return self.start % ZONE_BLOCKS


def _numbers(counts: Counter[int]) -> str:
    """Such as '12 writes 22 times'."""
    by_times = Counter(counts.values())
    words = [f"{_writes(n)} {_times(times)}" for times, n in sorted(by_times.items())]
    return ", ".join(words) or "none"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _writes(count: int) -> str:
    return f"{count} write{'' if count == 1 else 's'}"


def ended(run: Run) -> Criterion:
    """Everything comes back."""
    stuck = bool(run.got["hangs"])
    seen = "some never did" if stuck else "all did"
    return Criterion("bounded", "every write comes back", seen, not stuck, UNBOUNDED)


def retried(run: Run, writes: History) -> Criterion:
    """What the LUN refused is sent again. Whether often enough is not judged here."""
    refused = {attempt.lba for attempt in writes.attempts if attempt.refused}
    again = {attempt.lba for attempt in writes.retries}
    only_once = refused - again
    return Criterion(
        "retried", "every write that was refused is sent again",
        f"{len(refused) - len(only_once)} of {len(refused)} were", not only_once, NO_RETRY,
    )


def good(run: Run) -> Criterion:
    """No error reaches the application."""
    bad = Counter(errno.errorcode.get(e, str(e)) for e in run.errors.values())
    total = run.scenario.waiting + (run.scenario.hole and run.scenario.late)
    seen = f"{total - sum(bad.values())} of {total}"
    if bad:
        seen += ", " + ", ".join(f"{count} {name}" for name, count in bad.items())
    return Criterion("good", f"all of {_writes(total)} succeed", seen, not bad, LOST)


def data(run: Run) -> Criterion:
    """What was written can be read."""
    wrong = [line["lba"] for line in run.lines("verify") if not line["good"]]
    right = len(run.lines("verify")) - len(wrong)
    return Criterion(
        "data", "what succeeded is read back as written", f"{right} right, {len(wrong)} wrong",
        not wrong, LOST,
    )


def pointers(run: Run, offset: int) -> Criterion:
    """The write pointers are OFFSET blocks behind the starts of the zones."""
    found = [line["wp"] - line["zone"] for line in run.lines("zone")]
    return Criterion(
        "write pointer", f"{offset} blocks into each zone",
        ", ".join(map(str, found)) or "not read", bool(found) and set(found) == {offset}, LOST,
    )


def order(writes: History) -> Criterion:
    """Within a round, the writes of a zone that had failed are sent in ascending order."""
    total, example = 0, ""
    for number in range(1, writes.rounds + 1):
        pairs = writes.descents(number)
        total += len(pairs)
        if pairs and not example:
            high, low = (lba % ZONE_BLOCKS for lba in pairs[0])
            example = f", the first in round {number}: {high} before {low}"
    seen = f"{total} descents in {len(writes.retries)} retries{example}"
    return Criterion(
        "order", "retries of a round ascend in each zone", seen,
        total == 0 if writes.retries else None, WRONG_ORDER,
    )


def no_escalation(run: Run) -> Criterion:
    """No reset, nothing from the error handler, and no unit attention after one."""
    counted = run.got["lun"]
    check_conditions = sum(
        event.status == "SAM_STAT_CHECK_CONDITION" and event.device == run.device
        for event in run.events
    )
    seen = {
        "LUN resets": max(counted["resets"], run.count(DEVICE_RESET)),
        "target resets": run.count(TARGET_RESET),
        "time-outs": run.count(TIMEOUT),
        "commands of the error handler": counted["eh_commands"],
        "unit attentions": max(0, check_conditions - counted["check_conditions"]),
    }
    text = ", ".join(f"{count} {what}" for what, count in seen.items() if count) or "none"
    return Criterion(
        "no escalation", "no reset, no TEST UNIT READY or START STOP UNIT, no unit attention",
        text, not any(seen.values()), ESCALATION,
    )


def rounds(run: Run, writes: History) -> Criterion:
    """Two rounds are enough for what was in flight together; a write less a round at any rate."""
    most, why = run.scenario.count - 1, "not all in flight together"
    if not run.scenario.shuffled:
        # What is swapped below the initiator once can be swapped there again.
        why = "not reordered by the application"
    elif writes.in_flight_together:
        most, why = ROUNDS_TOGETHER, "all in flight together"
    return Criterion(
        "rounds", f"at most {most} ({why})", str(writes.rounds),
        writes.rounds <= most if writes.retries else None, ROUNDS,
    )


def wakeups(run: Run) -> Criterion:
    """Mechanisms that use the error handler wake it up."""
    seen = run.count(WAKEUP)
    needed = run.mechanism in EH_MECHANISMS
    return Criterion(
        "error handler", "woken up" if needed else "either woken up or not", f"{seen} times",
        seen > 0 if needed else None, NO_RETRY,
    )


def counts(run: Run, writes: History) -> Criterion:
    """Each write behind a hole is sent allowed + 1 times; as often as the others at least."""
    allowed = run.got["allowed"]
    sent = writes.sent_times()
    number = run.scenario.waiting
    if allowed is None:
        return Criterion(
            "number of retries", "the same for each write", _numbers(sent),
            len(set(sent.values())) == 1 if writes.retries else None, WRONG_COUNT,
        )
    seen = (writes.refusals, len(writes.retries))
    wanted = (number * (allowed + 1), number * allowed)
    return Criterion(
        "number of retries",
        f"{allowed} for each of {number} writes: {wanted[0]} check conditions, {wanted[1]} retries",
        f"{seen[0]} check conditions, {seen[1]} retries ({_numbers(sent)})",
        seen == wanted and set(sent.values()) == {allowed + 1}, WRONG_COUNT,
    )


def all_failed(run: Run) -> Criterion:
    """The writes behind a hole end as an unaligned write does, in kernels known to do so."""
    found = Counter(errno.errorcode.get(e, str(e)) for e in run.errors.values())
    seen = ", ".join(f"{count} {name}" for name, count in found.items()) or "none failed"
    known = run.got["allowed"] is not None
    all_fail = sum(found.values()) == run.scenario.waiting
    return Criterion(
        "hole", f"all of {_writes(run.scenario.waiting)} fail{' with EREMOTEIO' if known else ''}",
        seen, all_fail and (not known or list(found) == ["EREMOTEIO"]),
        WRONG_ERROR if all_fail else UNBOUNDED,
    )


def beside(run: Run) -> Criterion:
    """Another zone can be written meanwhile."""
    lines = run.got.get("beside", [])
    bad = sum(bool(line.get("errno")) for line in lines)
    bad += sum(line.get("good") is False for line in lines)
    sent = sum("request" in line for line in lines)
    return Criterion(
        "other zones", "can be written meanwhile", f"{_writes(sent)}, {bad} errors",
        sent > 0 and not bad, WAITS,
    )


def filler(run: Run) -> Criterion:
    """The write that was missing succeeds when it comes."""
    found = [line["errno"] for line in run.lines("request") if line["lba"] == run.start]
    seen = "did not come back" if not found else errno.errorcode.get(found[0], "succeeded")
    return Criterion("late write", "succeeds", seen, found == [0], LOST)


def _negative(run: Run) -> Iterator[Criterion]:
    errors = run.errors
    for negative in NEGATIVES:
        sent = sum(
            event.kind == START and event.device == run.device and event.lba == negative.lba
            for event in run.events
        )
        seen = f"sent {_times(sent)}, " + ("failed" if negative.lba in errors else "succeeded")
        yield Criterion(
            negative.name, "sent once, fails", seen, sent == 1 and negative.lba in errors,
            STRAY_RETRY,
        )


def _control(run: Run, writes: History) -> Iterator[Criterion]:
    remote = sum(e == errno.EREMOTEIO for e in run.errors.values())
    yield Criterion("fails", "some writes fail with EREMOTEIO", str(remote), remote > 0, NO_RETRY)
    yield Criterion(
        "not retried", "no write is sent again", str(len(writes.retries)), not writes.retries,
        NO_RETRY,
    )
    yield Criterion(
        "error handler", "not woken up", f"{run.count(WAKEUP)} times", not run.count(WAKEUP),
        NO_RETRY,
    )


def _reordered(run: Run, writes: History) -> Iterator[Criterion]:
    scenario = run.scenario
    if scenario.shuffled:
        descents = len(writes.descents(0))
        yield Criterion("reordered", "sent out of order at first", f"{descents} descents",
                        descents > 0, NO_RETRY)
    yield retried(run, writes)
    yield order(writes)
    yield no_escalation(run)
    yield wakeups(run)
    yield rounds(run, writes)
    yield good(run)
    yield pointers(run, run.offset + scenario.count // scenario.zones)


def _hole(run: Run, writes: History) -> Iterator[Criterion]:
    scenario = run.scenario
    yield retried(run, writes)
    yield order(writes)
    yield no_escalation(run)
    if not scenario.late:
        yield counts(run, writes)
        yield all_failed(run)
        yield pointers(run, 0)
        yield beside(run)
        return
    yield filler(run)
    if scenario.waiting < scenario.tags:
        yield good(run)
        yield pointers(run, scenario.count)


def reordered(scenario: Scenario, writes: History) -> bool:
    """Whether there is something to judge: a write was refused while others of its zone were
    outstanding. A kernel that sends one write of a zone at a time cannot be blamed for what an
    application sends out of order."""
    if scenario.shuffled and not writes.descents(0):
        return False
    return writes.refusals > 0 and (writes.outstanding > 1 or bool(writes.retries))


def judge_run(run: Run) -> tuple[list[Criterion], bool]:
    """The criteria of a run, and whether it decides."""
    writes = run.writes
    if run.scenario.negatives:
        return [ended(run), no_escalation(run), *_negative(run)], True
    if not reordered(run.scenario, writes) and not run.got["hangs"]:
        return [data(run)], False
    if not run.scenario.on:
        return list(_control(run, writes)), True
    specific = _hole if run.scenario.hole else _reordered
    return [ended(run), *specific(run, writes), data(run)], True

# SPDX-License-Identifier: GPL-2.0-only
"""The verdict as text for people and as JSON for programs."""
from __future__ import annotations

from typing import Any, Iterator, Sequence

from .criteria import Criterion
from .rounds import Attempt, History
from .scenarios import ZONE_BLOCKS
from .verdict import Judged, Verdict

MARKS = {True: "ok  ", False: "FAIL", None: "-   "}
SHOWN_WRITES, SHOWN_ROUNDS = 24, 4


def _sent(attempt: Attempt, history: History) -> str:
    """Where in its zone a write is, with '!' if it was refused; and which of several zones."""
    zones = {a.lba // ZONE_BLOCKS for a in history.attempts}
    place = str(attempt.lba % ZONE_BLOCKS)
    if len(zones) > 1:
        place = f"{attempt.lba // ZONE_BLOCKS - min(zones)}:{place}"
    return place + "!" * attempt.refused


def _round(number: int, history: History) -> str:
    attempts = history.in_round(number)
    words = [_sent(attempt, history) for attempt in attempts[:SHOWN_WRITES]]
    more = len(attempts) - SHOWN_WRITES
    words += [f"... ({more} more)"] if more > 0 else []
    return f"{f'round {number}' if number else 'at first'}: {' '.join(words)}"


def order_lines(history: History) -> Iterator[str]:
    """The order in which writes were sent, round by round, shortened."""
    last = history.rounds
    for number in range(0, min(last, SHOWN_ROUNDS) + 1):
        yield _round(number, history)
    if last > SHOWN_ROUNDS + 1:
        yield f"... ({last - SHOWN_ROUNDS - 1} more rounds)"
    if last > SHOWN_ROUNDS:
        yield _round(last, history)


def _criteria(criteria: Sequence[Criterion]) -> Iterator[str]:
    width = max(len(criterion.name) for criterion in criteria)
    for criterion in criteria:
        yield (f"  {MARKS[criterion.passed]} {criterion.name:{width}}"
               f"  expected: {criterion.expected}; seen: {criterion.seen}")


def _scenario(judged: Judged) -> Iterator[str]:
    run = judged.run
    yield f"{run.scenario.name}: {run.scenario.title}"
    if not judged.decides:
        yield "  -    decides nothing: no reordering reached the LUN"
    yield from _criteria(judged.criteria)
    if not run.scenario.negatives:
        yield from (f"       {line}" for line in order_lines(run.writes))


def text(verdict: Verdict) -> str:
    """All of it, the verdict last."""
    facts = verdict.facts
    lines = [f"Linux {facts.get('release', '?')}, mechanism {facts.get('mechanism')},"
             f" scheduler {facts.get('scheduler')}"]
    if facts.get("missing"):
        lines.append(f"  the kernel does not show: {', '.join(facts['missing'])}")
    for judged in verdict.judged:
        lines += ["", *_scenario(judged)]
    if facts.get("complaints"):
        lines += ["", "The kernel's log has:"] + [f"  {line}" for line in facts["complaints"]]
    lines += ["", "Numbers are blocks from the start of the zone, '!': refused by the LUN."]
    lines += [f"verdict: {verdict.text}"]
    return "\n".join(lines)


def _judged_data(judged: Judged) -> dict[str, Any]:
    writes = judged.run.writes
    return {
        "scenario": judged.run.scenario.name,
        "decides": judged.decides,
        "criteria": [vars(criterion) for criterion in judged.criteria],
        "rounds": [
            [[a.lba, a.status] for a in writes.in_round(number)]
            for number in range(writes.rounds + 1)
        ],
    }


def data(verdict: Verdict) -> dict[str, Any]:
    """For JSON."""
    return {
        "status": verdict.status,
        "verdict": verdict.text,
        "reasons": verdict.reasons,
        "kernel": verdict.facts,
        "scenarios": [_judged_data(judged) for judged in verdict.judged],
    }

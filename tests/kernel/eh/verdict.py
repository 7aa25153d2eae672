# SPDX-License-Identifier: GPL-2.0-only
"""The verdict: what was seen against what has to be seen. Pure functions, no machine needed."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Sequence

from .criteria import COMPLAINTS, REASONS, Criterion, Run, judge_run

SORTS, DOES_NOT, CANNOT_TELL = 0, 1, 2
VERDICTS = {
    SORTS: "sorts failed zoned writes by LBA and sends them again",
    DOES_NOT: "does not sort failed zoned writes and send them again",
    CANNOT_TELL: "could not tell",
}
NOT_REACHED = "no reordering reached the LUN"
PLUGGED = (
    "the block layer sends one write of a zone at a time (zone write plugging, Linux 6.10 and"
    " later), so what an application sends out of order never reaches the LUN out of order"
)
SCHEDULED = "mq-deadline sends one write of a zone at a time"


@dataclass
class Judged:
    """A scenario and what became of its criteria. DECIDES: whether reordering reached the LUN."""

    run: Run
    criteria: list[Criterion]
    decides: bool

    @property
    def failed(self) -> list[Criterion]:
        """The criteria that are not met."""
        return [criterion for criterion in self.criteria if criterion.passed is False]


@dataclass
class Verdict:
    """STATUS is the exit status; REASONS are why, the most telling first."""

    status: int
    reasons: list[str]
    judged: list[Judged]
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """In a sentence."""
        why = f": {'; '.join(self.reasons)}" if self.reasons else ""
        return VERDICTS[self.status] + why


def _why_not_reached(names: Sequence[str], facts: dict[str, Any]) -> str:
    where = f"{NOT_REACHED} in {', '.join(names)}"
    if facts.get("write_plugging"):
        return f"{where}: {PLUGGED}"
    if facts.get("scheduler") == "mq-deadline":
        return f"{where}: {SCHEDULED}"
    return where


def _quiet(judged: Sequence[Judged], facts: dict[str, Any]) -> list[str]:
    """The scenarios in which reordering should have reached the LUN and did not. A scheduler may
    sort what has gathered, so one of the shuffled ones is enough there."""
    sorted_some = facts.get("scheduler") == "mq-deadline" and any(
        one.decides and one.run.scenario.on and one.run.scenario.shuffled for one in judged
    )
    return [
        one.run.scenario.name for one in judged
        if one.run.scenario.required and not one.decides
        and not (sorted_some and one.run.scenario.on and one.run.scenario.shuffled)
    ]


def _undecided(judged: Sequence[Judged], facts: dict[str, Any]) -> list[str]:
    """Why nothing could be told, as far as that is so."""
    reasons = []
    if facts.get("problem"):
        reasons.append(str(facts["problem"]))
    for one in judged:
        if one.run.lost_events:
            lost = f"the trace lost {one.run.lost_events} events"
            reasons.append(f"{one.run.scenario.name}: {lost}")
    quiet = _quiet(judged, facts)
    if quiet:
        reasons.append(_why_not_reached(quiet, facts))
    absent = [name for name in facts.get("scenarios", [])
              if name not in {one.run.scenario.name for one in judged}]
    if absent and not facts.get("problem"):
        reasons.append(f"not run: {', '.join(absent)}")
    return reasons


def _proves_nothing(judged: Sequence[Judged]) -> list[str]:
    """A control that does not fail: whatever the others show is no work of the mechanism."""
    return [
        f"control: {criterion.name}: {criterion.seen}, so the test proves nothing"
        for one in judged
        if not one.run.scenario.on
        for criterion in one.failed
    ]


def _failures(judged: Sequence[Judged], facts: dict[str, Any]) -> list[str]:
    """The reasons of what failed, each once, in the order of REASONS."""
    found = {
        criterion.reason
        for one in judged
        if one.run.scenario.on and not one.run.lost_events
        for criterion in one.failed
    }
    if facts.get("complaints"):
        found.add(COMPLAINTS)
    return [reason for reason in REASONS if reason in found]


def decide(runs: Sequence[Run], facts: dict[str, Any]) -> Verdict:
    """Judges all scenarios that were run."""
    judged = []
    for run in runs:
        criteria, decides = judge_run(run)
        judged.append(Judged(run, criteria, decides))
    control = _proves_nothing(judged)
    if control:
        return Verdict(CANNOT_TELL, control, judged, facts)
    failures = _failures(judged, facts)
    if failures:
        return Verdict(DOES_NOT, failures, judged, facts)
    undecided = _undecided(judged, facts)
    if undecided or not judged:
        return Verdict(CANNOT_TELL, undecided or ["nothing was run"], judged, facts)
    return Verdict(SORTS, [], judged, facts)

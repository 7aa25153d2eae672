# SPDX-License-Identifier: GPL-2.0-only
"""A picture of LBA against the order in which writes were sent, the rounds marked."""
from __future__ import annotations

from pathlib import Path
from typing import Any

from memzbc_py.drawing import GRID, INK, SHADE, pyplot, save

from .rounds import Attempt, History
from .scenarios import ZONE_BLOCKS
from .verdict import Verdict

GOOD, REFUSED, OTHER = "good", "refused: UNALIGNED WRITE COMMAND", "other"
COLOURS = {GOOD: "#4477aa", REFUSED: "#dd2222", OTHER: "#999999"}
SIZE = (10, 4.5)
# More rounds than this have no room for their numbers.
NUMBERED_MAX = 12
# Below the label of the axis.
LEGEND_Y = -0.13


def _outcome(attempt: Attempt) -> str:
    if attempt.refused:
        return REFUSED
    return GOOD if attempt.status == "SAM_STAT_GOOD" else OTHER


def _mark_rounds(axes: Any, history: History) -> None:
    """A band for each round, from the first write that was sent again to the next round's."""
    starts = {}
    for place, attempt in enumerate(history.attempts):
        if attempt.number and attempt.round not in starts:
            starts[attempt.round] = place - 0.5
    ends = [*list(starts.values())[1:], len(history.attempts) - 0.5]
    for (number, start), end in zip(starts.items(), ends):
        axes.axvline(start, color=INK, linewidth=0.8, linestyle="--")
        if number % 2:
            axes.axvspan(start, end, color=SHADE, zorder=0)
        if len(starts) <= NUMBERED_MAX:
            axes.annotate(f"round {number}", (start, 1), xycoords=("data", "axes fraction"),
                          xytext=(3, -3), textcoords="offset points", va="top", color=INK,
                          rotation=90)


def draw(verdict: Verdict, scenario: str, path: Path) -> None:
    """Draws a scenario of the verdict into a file. Raises MemzbcError."""
    run = next((one.run for one in verdict.judged if one.run.scenario.name == scenario), None)
    history = run.writes if run else History(ZONE_BLOCKS)
    figure, axes = pyplot().subplots(figsize=SIZE, layout="constrained")
    for outcome, colour in COLOURS.items():
        for again, marker in ((False, "o"), (True, "D")):
            points = [
                (place, attempt.lba) for place, attempt in enumerate(history.attempts)
                if _outcome(attempt) == outcome and bool(attempt.number) == again
            ]
            if points:
                label = f"{'sent again' if again else 'sent first'}, {outcome}"
                axes.scatter(*zip(*points), s=22, color=colour, marker=marker, label=label,
                             zorder=3)
    _mark_rounds(axes, history)
    axes.set_xlabel("order of dispatch")
    axes.set_ylabel("LBA")
    axes.grid(color=GRID, linewidth=0.4)
    title = run.scenario.title if run else f"{scenario}: was not run"
    axes.set_title(f"Linux {verdict.facts.get('release', '?')}, mechanism"
                   f" {verdict.facts['mechanism']}: {title}")
    if history.attempts:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, LEGEND_Y), ncols=2, frameon=False)
    save(figure, path)

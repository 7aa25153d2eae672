# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""memzbc zones --plot: a picture of the condition and the fill of every zone.

Few zones are bars. Many are the cells of a grid, with rings around the few that are open or bad,
which would be lost among 75,000 otherwise.
"""
from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any, Sequence

from .drawing import GRID, INK, SHADE, pyplot, save
from .names import bytes_text
from .zonemap import (
    CLOSED,
    CONDITIONS,
    CONVENTIONAL,
    EMPTY,
    EXPLICIT,
    FULL,
    IMPLICIT,
    OFFLINE,
    READ_ONLY,
    ZoneView,
)

COLOURS = {
    CONVENTIONAL: "#88ccee",
    EMPTY: "#eeeeee",
    IMPLICIT: "#228833",
    EXPLICIT: "#66cc22",
    CLOSED: "#e09f00",
    FULL: "#4477aa",
    READ_ONLY: "#aa3377",
    OFFLINE: "#dd2222",
}
RINGED = (IMPLICIT, EXPLICIT, CLOSED, READ_ONLY, OFFLINE)
RINGS_MAX = 300
BARS_MAX = 64
# Bins of the lower panel.
BINS = 200


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def colour_of(zone: ZoneView) -> tuple[int, int, int]:
    """The colour of a zone in the grid: that of its condition, paler the less is written."""
    condition = _rgb(COLOURS.get(zone.condition, INK))
    if zone.fill is None or zone.condition == EMPTY:
        return condition
    strength = 0.35 + 0.65 * zone.fill
    paper = _rgb(COLOURS[EMPTY])
    red, green, blue = (round(p + strength * (c - p)) for c, p in zip(condition, paper))
    return red, green, blue


def _bars(axes: Any, zones: Sequence[ZoneView]) -> None:
    """A zone a bar: its frame all of it, what is filled is written."""
    at = [zone.number for zone in zones]
    colours = [COLOURS.get(zone.condition, INK) for zone in zones]
    axes.bar(at, [100] * len(zones), width=0.86, color=SHADE, edgecolor=colours, linewidth=1.2)
    shown = [100 * (1 if zone.fill is None else zone.fill) for zone in zones]
    hatches = [
        "" if zone.fill is not None or zone.condition == CONVENTIONAL else "///" for zone in zones
    ]
    for x, height, colour, hatch in zip(at, shown, colours, hatches):
        axes.bar(x, height, width=0.86, color=colour, hatch=hatch, edgecolor=SHADE, linewidth=0)
    for zone, height in zip(zones, shown):
        if zone.fill and zone.fill < 1 and len(zones) <= 32:
            axes.text(
                zone.number, height + 1, f"{100 * zone.fill:.3g}", ha="center", fontsize=7,
                color=INK,
            )
    axes.set_xlim(zones[0].number - 0.7, zones[-1].number + 0.7)
    axes.set_ylim(0, 104)
    axes.xaxis.get_major_locator().set_params(integer=True)
    if len(zones) <= 40:
        axes.set_xticks(at)
    axes.set_xlabel("zone")
    axes.set_ylabel("written, %" + (" (hatched: not known)" if any(hatches) else ""))


def _grid(axes: Any, zones: Sequence[ZoneView]) -> None:
    """A zone a cell, row by row, the rows as long as a round number of zones."""
    columns = math.ceil(math.sqrt(len(zones) * 2.2))
    step = 10 ** max(1, len(str(columns)) - 1)
    columns = max(step, round(columns / step) * step)
    rows = -(-len(zones) // columns)
    image = [[(255, 255, 255)] * columns for _ in range(rows)]
    for i, zone in enumerate(zones):
        image[i // columns][i % columns] = colour_of(zone)
    axes.imshow(image, interpolation="nearest", aspect="auto")
    if max(columns, rows) <= 60:
        axes.set_xticks([x - 0.5 for x in range(columns)], minor=True)
        axes.set_yticks([y - 0.5 for y in range(rows)], minor=True)
        axes.grid(which="minor", color="white", linewidth=1)
        axes.tick_params(which="minor", length=0)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.yaxis.set_major_formatter(lambda row, _: str(int(row) * columns) if row >= 0 else "")
    axes.set_xlabel(f"a cell is a zone, a row {columns} zones; paler: less is written")
    axes.set_ylabel("first zone of the row")
    _rings(axes, zones, columns)


def _rings(axes: Any, zones: Sequence[ZoneView], columns: int) -> None:
    """Around zones of a condition that few have, when the cells are small."""
    counts = Counter(zone.condition for zone in zones)
    if len(zones) < 2000:
        return
    for condition in RINGED:
        if not 0 < counts[condition] <= RINGS_MAX:
            continue
        places = [i for i, zone in enumerate(zones) if zone.condition == condition]
        for edge, width in (("white", 3.2), (COLOURS[condition], 1.6)):
            axes.scatter(
                [i % columns for i in places], [i // columns for i in places], s=46,
                facecolors="none", edgecolors=edge, linewidths=width,
            )


def _along(axes: Any, zones: Sequence[ZoneView]) -> None:
    """How much is written along the LUN, by and large."""
    bins: list[list[float]] = [[] for _ in range(BINS)]
    for i, zone in enumerate(zones):
        if zone.fill is not None:
            bins[i * BINS // len(zones)].append(zone.fill)
    width = len(zones) / BINS
    axes.bar(
        [(i + 0.5) * width for i in range(BINS)],
        [100 * sum(b) / len(b) if b else 0 for b in bins],
        width=width, color=COLOURS[FULL],
    )
    axes.set_xlim(0, len(zones))
    axes.set_ylim(0, 100)
    axes.set_ylabel("written, %")
    axes.set_xlabel("zone")
    axes.grid(axis="y", color=GRID, linewidth=0.5)


def _legend(axes: Any, zones: Sequence[ZoneView]) -> None:
    from matplotlib.patches import Patch

    counts = Counter(zone.condition for zone in zones)
    handles = [
        Patch(
            facecolor=COLOURS[condition], edgecolor=GRID, label=f"{condition}: {counts[condition]}"
        )
        for condition in CONDITIONS
        if counts[condition]
    ]
    axes.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncol=8, frameon=False,
        borderaxespad=0.2, columnspacing=1.2, handlelength=1.2,
    )


def draw(name: str, zones: Sequence[ZoneView], block_size: int, path: Path) -> None:
    """Draws the zones into a file. Raises MemzbcError."""
    plt = pyplot()
    if len(zones) <= BARS_MAX:
        figure, axes = plt.subplots(figsize=(12, 4.5), layout="constrained")
        _bars(axes, zones)
    else:
        figure, (axes, below) = plt.subplots(
            2, 1, figsize=(12, 8), layout="constrained", height_ratios=(5, 1)
        )
        _grid(axes, zones)
        _along(below, zones)
    _legend(axes, zones)
    known = [zone for zone in zones if zone.fill is not None]
    written = sum(zone.length * (zone.fill or 0) for zone in known) * block_size
    size = sum(zone.length for zone in known) * block_size
    figure.suptitle(
        f"LUN {name}: {len(zones)} zones; {bytes_text(written)} of {bytes_text(size)} written in"
        " sequential ones",
        fontsize=12,
    )
    save(figure, path)

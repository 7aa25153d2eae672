# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""A picture of a trace: LBA against arrival, what became of the commands, and in which order they
were executed.

Few zones are drawn as bands, one above the other, each as large as what was touched of it. Many are
drawn to scale, with what is written of them beside.
"""
from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterable

from . import trace
from .drawing import GRID, INK, SHADE, pyplot, save
from .names import bytes_text, time_text
from .trace import COMPLETE, EXECUTED, OUTCOMES, Header, Record
from .units import MemzbcError, format_size

COLOURS = {
    trace.GOOD_ONE: "#4477aa",
    trace.HELD_ONE: "#228833",
    trace.REORDERED_ONE: "#e09f00",
    trace.UNALIGNED: "#dd2222",
    trace.OTHER_ERROR: "#aa3377",
    trace.INJECTED_ONE: "#222222",
    trace.DROPPED_ONE: "#8c564b",
    trace.OUTSTANDING: "#999999",
    trace.LOST: "#66ccee",
}
ERRORS = (trace.UNALIGNED, trace.OTHER_ERROR, trace.INJECTED_ONE)
READ, WRITE, OTHER = "read", "write", "other"
READ_ALPHA = 0.45
# More zones than this are no bands, and more than that have a common scale.
BANDS_MAX = 40
OWN_SCALE_MAX = 10
# Of so much of a zone the whole is shown.
WHOLE = 0.6
# More commands than this are pixels, also in SVG.
VECTORS_MAX = 4000
MARGIN_BINS = 150


@dataclass(frozen=True)
class Band:
    """A zone that is drawn from BASE to TOP (LBAs) at height AT."""

    zone: int
    base: int
    top: int
    at: int

    def y(self, lba: int) -> float:
        """Where an LBA is."""
        return self.at + 0.06 + 0.88 * (lba - self.base) / (self.top - self.base)


class Scale:
    """Where LBAs are on the vertical axis."""

    def __init__(self, header: Header, records: Iterable[Record]) -> None:
        self.header = header
        touched: dict[int, tuple[int, int]] = {}
        for record in records:
            if record.zone is None or record.lba is None:
                continue
            low, high = touched.get(record.zone, (record.lba, record.lba))
            end = min(record.lba + record.blocks, self._end_of(record.zone))
            pointer = record.write_pointer
            # The pointer is part of the picture, but not the end of a zone that is full.
            if pointer is not None and pointer < self._end_of(record.zone):
                low, high = min(low, pointer), max(high, pointer)
            touched[record.zone] = (min(low, record.lba), max(high, end))
        self.zones = sorted(touched)
        self.common = 1
        self.bands = self._bands(touched) if len(self.zones) <= BANDS_MAX else {}

    def _end_of(self, zone: int) -> int:
        return min((zone + 1) * self.header.zone_size, self.header.capacity)

    def _bands(self, touched: dict[int, tuple[int, int]]) -> dict[int, Band]:
        bands = {}
        size = self.header.zone_size
        longest = max((high - zone * size for zone, (_, high) in touched.items()), default=1)
        self.common = longest if longest < WHOLE * size else size
        for at, zone in enumerate(self.zones):
            low, high = touched[zone]
            if len(self.zones) > OWN_SCALE_MAX:
                low, high = zone * size, zone * size + self.common
            bands[zone] = Band(zone, low, max(high, low + 1), at)
        return bands

    @property
    def own_scales(self) -> bool:
        """Whether each zone shows just what was touched of it."""
        return bool(self.bands) and len(self.zones) <= OWN_SCALE_MAX

    def y(self, lba: int, zone: int) -> float:
        """Where an LBA of a zone is."""
        return self.bands[zone].y(lba) if self.bands else lba / self.header.zone_size

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of the axis."""
        return (0, max(1, len(self.bands))) if self.bands else (0, self.header.zones)


def kind_of(record: Record) -> str:
    """READ, WRITE or OTHER."""
    return READ if record.is_read else WRITE if record.is_write else OTHER


def executed_at(records: list[Record]) -> dict[int, int]:
    """When each command was executed, as the number of the latest arrival before that."""
    result: dict[int, int] = {}
    latest = 0
    for record in sorted((r for r in records if r.execution), key=lambda r: r.execution):
        latest = max(latest, record.number)
        result[record.number] = latest
    return result


def displacements(records: list[Record]) -> dict[int, int]:
    """How many places later than it arrived each command was executed; negative: earlier."""
    executed = [record for record in records if record.execution]
    order = sorted(executed, key=lambda record: record.execution)
    ranks = {record.number: rank for rank, record in enumerate(order)}
    return {record.number: ranks[record.number] - i for i, record in enumerate(executed)}


def pointer_steps(scale: Scale, records: list[Record]) -> dict[int, list[tuple[int, float]]]:
    """The write pointer of each zone: (arrival, height) where it is seen to be."""
    when = executed_at(records)
    steps: dict[int, list[tuple[int, float]]] = defaultdict(list)
    in_order = sorted((r for r in records if r.execution), key=lambda r: r.execution)
    for record in in_order:
        zone, pointer, lba = record.zone, record.write_pointer, record.lba
        if zone is None or pointer is None or lba is None:
            continue
        x = when[record.number]
        steps[zone].append((x, scale.y(pointer, zone)))
        if record.is_write and record.status == 0 and record.blocks:
            steps[zone].append((x, scale.y(lba + record.blocks, zone)))
    return steps


class Picture:
    """The figure as it comes into being."""

    def __init__(self, header: Header, records: list[Record]) -> None:
        self.plt = pyplot()
        self.header, self.records = header, records
        self.scale = Scale(header, records)
        self.raster = len(records) > VECTORS_MAX
        beside = bool(self.scale.zones) and not self.scale.bands
        self.figure = self.plt.figure(figsize=(13, 9), layout="constrained")
        grid = self.figure.add_gridspec(
            3, 2 if beside else 1, height_ratios=(6, 1.2, 1.2),
            width_ratios=(10, 1) if beside else None,
        )
        self.main = self.figure.add_subplot(grid[0, 0])
        self.order = self.figure.add_subplot(grid[1, 0], sharex=self.main)
        self.latency = self.figure.add_subplot(grid[2, 0], sharex=self.main)
        self.side = self.figure.add_subplot(grid[0, 1], sharey=self.main) if beside else None

    def draw(self) -> None:
        """All of it."""
        self._title()
        self._zones()
        self._pointers()
        self._commands()
        self._orders()
        self._latencies()
        self._legend()
        if self.side:
            self._written(self.side)

    def _title(self) -> None:
        first, last = self.records[0], self.records[-1]
        span = time_text(max(1, last.arrived - first.arrived))
        self.figure.suptitle(
            f"LUN {self.header.name or '?'}: commands {first.number} to {last.number}, {span}"
            f" ({self.header.zones} zones of"
            f" {format_size(self.header.zone_size * self.header.lba_size)})",
            fontsize=12,
        )

    def _zones(self) -> None:
        scale, axes = self.scale, self.main
        axes.set_ylim(*scale.limits)
        axes.set_xlim(self.records[0].number - 1, self.records[-1].number + 1)
        axes.tick_params(labelbottom=False)
        if not scale.bands:
            conventional = [(0, self.header.conv)]
            conventional.append((self.header.zones - self.header.conv_end, self.header.zones))
            for low, high in conventional:
                if high > low:
                    axes.axhspan(low, high, color=SHADE, zorder=0)
            axes.grid(axis="y", color=GRID, linewidth=0.5)
            axes.set_ylabel("zone (shaded: conventional)")
            return
        for band in scale.bands.values():
            if self.header.is_conventional(band.zone):
                axes.axhspan(band.at, band.at + 1, color=SHADE, zorder=0)
            axes.axhline(band.at, color=GRID, linewidth=0.8, zorder=1)
        self._band_labels()

    def _band_labels(self) -> None:
        scale, axes, header = self.scale, self.main, self.header
        bands = list(scale.bands.values())
        conventional = any(header.is_conventional(band.zone) for band in bands)
        axes.set_yticks([band.at + 0.5 for band in bands])
        axes.set_yticklabels([f"zone {band.zone}" for band in bands])
        axes.tick_params(axis="y", length=0)
        if scale.own_scales:
            note = "what was touched of each zone"
            for band in bands:
                self._annotate(band, band.base)
                self._annotate(band, band.top)
        elif scale.common == header.zone_size:
            note = "whole zones"
        else:
            note = f"the first {bytes_text(scale.common * header.lba_size)} of each zone"
        axes.set_ylabel(note + (" (shaded: conventional)" if conventional else ""))

    def _annotate(self, band: Band, lba: int) -> None:
        """Writes an LBA beside an end of a band."""
        size = self.header.zone_size
        where = {band.zone * size: " start", (band.zone + 1) * size: " end"}.get(lba, "")
        self.main.annotate(
            f"{lba:#x}{where}", (1, band.y(lba)), xycoords=("axes fraction", "data"),
            xytext=(4, 0), textcoords="offset points", va="center", fontsize=7,
        )

    def _pointers(self) -> None:
        if not self.scale.bands:
            return
        for steps in pointer_steps(self.scale, self.records).values():
            xs, ys = zip(*steps)
            self.main.plot(
                xs, ys, drawstyle="steps-post", color=INK, linewidth=0.9, alpha=0.8, zorder=2,
                rasterized=self.raster,
            )

    def _commands(self) -> None:
        """Bars as long as the commands, errors above all else."""
        groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
        for record in self.records:
            if record.lba is not None and record.zone is not None:
                groups[record.outcome, kind_of(record)].append(record)
        for (outcome, kind), records in groups.items():
            order = 3 + (OUTCOMES.index(outcome) if kind != READ else 0)
            if kind != OTHER:
                self._bars(records, outcome, READ_ALPHA if kind == READ else 1.0, order)
            if kind == OTHER or outcome in ERRORS:
                self._marks(records, outcome, "v" if kind == OTHER else "x", order)

    def _y(self, record: Record, offset: int) -> float:
        assert record.lba is not None and record.zone is not None
        return self.scale.y(record.lba + offset, record.zone)

    def _bars(self, records: list[Record], outcome: str, alpha: float, order: int) -> None:
        width = max(0.8, min(6.0, 2200 / (1 + len(self.records))))
        height = self.scale.limits[1] / (130 if not self.raster else 350)
        lows = [self._y(record, 0) for record in records]
        highs = [max(self._y(r, r.blocks), low + height) for r, low in zip(records, lows)]
        self.main.vlines(
            [record.number for record in records], lows, highs, color=COLOURS[outcome],
            linewidth=width, alpha=alpha, zorder=order, rasterized=self.raster,
        )

    def _marks(self, records: list[Record], outcome: str, marker: str, order: int) -> None:
        size = 4 if self.raster else max(8, min(24, 16000 / len(self.records)))
        self.main.scatter(
            [record.number for record in records], [self._y(record, 0) for record in records],
            marker=marker, s=size, color=COLOURS[outcome], zorder=order,
            linewidths=1.2 if marker == "x" else 0, rasterized=self.raster,
        )

    def _orders(self) -> None:
        places = displacements(self.records)
        axes = self.order
        axes.axhline(0, color=GRID, linewidth=0.8)
        moved = [r for r in self.records if places.get(r.number)]
        axes.vlines(
            [r.number for r in moved], 0, [places[r.number] for r in moved],
            color=[COLOURS[r.outcome] for r in moved], linewidth=1.2, rasterized=self.raster,
        )
        if not moved:
            axes.set_ylim(-1, 1)
            axes.text(
                0.5, 0.6, "executed in the order of arrival", transform=axes.transAxes,
                ha="center", color=INK,
            )
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.set_ylabel("executed\nplaces later")
        axes.tick_params(labelbottom=False)

    def _latencies(self) -> None:
        axes = self.latency
        times = {
            r.number: max(1, r.completed - r.arrived)
            for r in self.records
            if r.completed is not None
        }
        axes.scatter(
            list(times), list(times.values()),
            c=[COLOURS[r.outcome] for r in self.records if r.number in times], s=4, linewidths=0,
            rasterized=self.raster,
        )
        if times and max(times.values()) > 10 * min(times.values()):
            axes.set_yscale("log")
            axes.yaxis.set_minor_formatter(self.plt.NullFormatter())
        else:
            axes.set_ylim(0, 1.2 * max(times.values(), default=1))
        axes.yaxis.set_major_formatter(lambda value, _: time_text(value))
        axes.set_ylabel("answered\nafter")
        axes.set_xlabel("arrival")
        axes.grid(axis="y", color=GRID, linewidth=0.5)

    def _legend(self) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        counts = {outcome: 0 for outcome in OUTCOMES}
        for record in self.records:
            counts[record.outcome] += 1
        handles: list[Any] = [
            Patch(color=COLOURS[outcome], label=f"{outcome}: {count}")
            for outcome, count in counts.items()
            if count
        ]
        kinds = {kind_of(record) for record in self.records if record.lba is not None}
        colour = COLOURS[trace.GOOD_ONE]
        if READ in kinds:
            handles.append(Patch(color=colour, alpha=READ_ALPHA, label="paler: reads"))
        if OTHER in kinds:
            handles.append(
                Line2D(
                    [], [], color=colour, marker="v", linestyle="", label="zone or other command",
                )
            )
        if self.scale.bands:
            handles.append(Line2D([], [], color=INK, linewidth=0.9, label="write pointer"))
        self.main.legend(
            handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncol=8, frameon=False,
            borderaxespad=0.2, columnspacing=1.2, handlelength=1.2,
        )

    def _written(self, axes: Any) -> None:
        """How far the write pointers of the zones that were touched are, by and large."""
        last: dict[int, float] = {}
        for record in sorted(self.records, key=lambda r: r.execution):
            zone, pointer, lba = record.zone, record.write_pointer, record.lba
            if zone is None or pointer is None or lba is None or record.state < EXECUTED:
                continue
            if record.is_write and record.status == 0:
                pointer = lba + record.blocks
            last[zone] = (pointer - zone * self.header.zone_size) / self.header.zone_cap
        sums: dict[int, list[float]] = defaultdict(list)
        for zone, share in last.items():
            sums[zone * MARGIN_BINS // self.header.zones].append(share)
        height = self.header.zones / MARGIN_BINS
        axes.barh(
            [(b + 0.5) * height for b in sums], [100 * sum(s) / len(s) for s in sums.values()],
            height=height, color=COLOURS[trace.GOOD_ONE],
        )
        axes.set_title("write pointer,\n% of the zone", fontsize=8)
        axes.tick_params(labelleft=False)


def draw(header: Header, records: list[Record], path: Path) -> None:
    """Draws the commands into a file. Raises MemzbcError."""
    if not records:
        raise MemzbcError(f"the trace of LUN '{header.name}' has no command yet")
    picture = Picture(header, records)
    picture.draw()
    save(picture.figure, path)

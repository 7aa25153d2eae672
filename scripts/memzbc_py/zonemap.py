# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""memzbc zones --map: condition and fill of every zone in the terminal, be there 20 or 75,000.

Few zones have a line each. Of many, a cell stands for one or several: it shows what is rare among
them, or else how full they are.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Iterable, Sequence

from .names import bytes_text

CONVENTIONAL, EMPTY, FULL = "conventional", "empty", "full"
IMPLICIT, EXPLICIT, CLOSED = "implicitly opened", "explicitly opened", "closed"
READ_ONLY, OFFLINE = "read only", "offline"
# In the order of the legend, with the letter and the ANSI colour of each.
CONDITIONS = {
    CONVENTIONAL: ("-", "36"),
    EMPTY: (".", "90"),
    IMPLICIT: ("i", "32"),
    EXPLICIT: ("E", "92"),
    CLOSED: ("c", "33"),
    FULL: ("#", "34"),
    READ_ONLY: ("R", "35"),
    OFFLINE: ("X", "31"),
}
# Of several zones in a cell, the first of these that is among them is shown.
NOTABLE = (OFFLINE, READ_ONLY, EXPLICIT, IMPLICIT, CLOSED)
# Of these, colour can say which it is, and the character how full.
WITH_FILL = (EXPLICIT, IMPLICIT, CLOSED)
FILL_COLOUR = "34"
SHADES = {True: " ▁▂▃▄▅▆▇█", False: " 123456789"}
BAR = {True: ("█", "░"), False: ("#", ".")}

LINES_MAX = 40
ROWS_MAX = 24
BAR_WIDTH = 30


@dataclass(frozen=True)
class ZoneView:
    """What of a zone is shown. Fill is the written share, None where none can be told."""

    number: int
    condition: str
    fill: float | None
    length: int


def views(zones: Iterable[dict[str, Any]]) -> list[ZoneView]:
    """The zones of 'memzbc zones --json', without gaps."""
    result = []
    for zone in zones:
        if zone["zone"] is None:
            continue
        condition = zone["condition"]
        if condition == "not write pointer":
            condition = CONVENTIONAL
        fill = None
        if zone["write_pointer"] is not None:
            fill = (zone["write_pointer"] - zone["start"]) / zone["length"]
        elif condition == FULL:
            fill = 1.0
        result.append(ZoneView(zone["zone"], condition, fill, zone["length"]))
    return result


@dataclass(frozen=True)
class Style:
    """What the terminal can show."""

    width: int
    colour: bool
    unicode: bool

    def paint(self, text: str, colour: str) -> str:
        """TEXT in an ANSI colour, if there are colours."""
        return f"\x1b[{colour}m{text}\x1b[0m" if self.colour else text


def _line(zone: ZoneView, style: Style, digits: int) -> str:
    """A zone in a line of its own."""
    colour = CONDITIONS.get(zone.condition, ("?", "0"))[1]
    words = style.paint(f"{zone.condition:<17}", colour)
    head = f"{zone.number:>{digits}}  {words}"
    if zone.fill is None:
        return head.rstrip()
    full, rest = BAR[style.unicode]
    done = round(zone.fill * BAR_WIDTH)
    # A zone that is not empty does not look so, nor one that is not full.
    if 0 < zone.fill < 1:
        done = min(max(done, 1), BAR_WIDTH - 1)
    bar = style.paint(full * done, colour) + rest * (BAR_WIDTH - done)
    percent = 100 * zone.fill
    text = f"{percent:.3g}%" if zone.fill else "0%"
    return f"{head}  {bar}  {text}"


def _shade(fill: float, unicode: bool) -> str:
    """How full, as a character: empty and full only for exactly that."""
    shades = SHADES[unicode]
    if fill <= 0:
        return CONDITIONS[EMPTY][0]
    if fill >= 1:
        return shades[-1] if unicode else CONDITIONS[FULL][0]
    return shades[1 + min(len(shades) - 3, int(fill * (len(shades) - 2)))]


def cell(zones: Sequence[ZoneView], style: Style) -> str:
    """One character for some zones. In colour it is how full they are, in the colour of what is
    notable among them; without, the letter of that."""
    conditions = {zone.condition for zone in zones}
    notable = next((condition for condition in NOTABLE if condition in conditions), None)
    if notable == CLOSED and len(zones) > 1:
        notable = None
    fills = [zone.fill for zone in zones if zone.fill is not None]
    if not fills and not notable:
        notable = CONVENTIONAL
    fill = sum(fills) / len(fills) if fills else 0
    if not notable:
        colour = FILL_COLOUR if fill else CONDITIONS[EMPTY][1]
        return style.paint(_shade(fill, style.unicode), colour)
    letter, colour = CONDITIONS[notable]
    if style.colour and notable in WITH_FILL:
        letter = _shade(fill, style.unicode)
    return style.paint(letter, colour)


def _grid(zones: Sequence[ZoneView], style: Style, columns: int, each: int) -> list[str]:
    """Cells of EACH zones in rows, each row with the number of its first zone."""
    digits = len(str(zones[-1].number))
    cells = [cell(zones[i : i + each], style) for i in range(0, len(zones), each)]
    lines = [
        f"{zones[at * each].number:>{digits}}  " + "".join(cells[at : at + columns])
        for at in range(0, len(cells), columns)
    ]
    one = "one zone" if each == 1 else f"{each} zones"
    return [*lines, "", f"a character is {one}, a row {each * columns}"]


def _mark(condition: str, each: int, style: Style) -> str:
    """What stands for a condition in the grid."""
    letter, colour = CONDITIONS[condition]
    if condition == CLOSED and each > 1:
        return " "
    if condition == FULL or (style.colour and condition in WITH_FILL):
        letter = _shade(1, style.unicode)
    return style.paint(letter, colour)


def _legend(zones: Sequence[ZoneView], style: Style, each: int, block_size: int) -> list[str]:
    """How many zones there are of each condition, and how much is written. EACH is 0 when they
    have lines of their own."""
    counts = Counter(zone.condition for zone in zones)
    lines = []
    for condition, (_, colour) in CONDITIONS.items():
        if not counts[condition]:
            continue
        mark = f"{_mark(condition, each, style)} " if each else ""
        lines.append(f"{mark}{style.paint(f'{condition:<17}', colour)}  {counts[condition]}")
    if each:
        lines.append(f"{SHADES[style.unicode][1:-1]}  partly written")
    known = [zone for zone in zones if zone.fill is not None]
    written = sum(zone.length * (zone.fill or 0) for zone in known) * block_size
    size = sum(zone.length for zone in known) * block_size
    if size:
        share = f"{100 * written / size:.3g}%"
        lines.append(
            f"written: {bytes_text(written)} of {bytes_text(size)} of sequential zones, {share}"
        )
    return lines


def draw(zones: Sequence[ZoneView], block_size: int, style: Style) -> str:
    """The map, with its legend."""
    digits = len(str(zones[-1].number))
    each = 0
    if len(zones) <= LINES_MAX:
        lines = [_line(zone, style, digits) for zone in zones]
    else:
        columns = max(10, (style.width - digits - 2) // 10 * 10)
        each = -(-len(zones) // (columns * ROWS_MAX))
        lines = _grid(zones, style, columns, each)
    return "\n".join([*lines, "", *_legend(zones, style, each, block_size)])

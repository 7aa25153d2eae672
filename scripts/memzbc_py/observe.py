# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""The commands that show what a LUN is and does: zones, trace and stats."""
from __future__ import annotations

import argparse
import os
import shutil
import sys
from typing import Any

from . import scsi
from .arguments import AddCommand, named, need_root, picture, positive, typed
from .show import login_commands, print_result, say, table, zone_data, zone_row
from .stats import show_stats
from .tracing import TABLE_LAST, show_trace
from .units import MemzbcError, parse_portal
from .zonemap import Style, views
from .zonemap import draw as draw_map


def sg_node_of(lun: Any) -> str:
    """A generic node of this machine for LUN. Raises MemzbcError with the way to get one."""
    for disk in lun.disks:
        if disk.generic:
            return f"/dev/{disk.generic}"
    for export in lun.exports:
        if export.portals:
            logins = login_commands(export.wwn, parse_portal(export.portals[0]))
            raise MemzbcError(
                f"no disk on this machine leads to LUN '{lun.name}': log in first with\n"
                f"    {logins[0]}"
            )
    raise MemzbcError(
        f"LUN '{lun.name}' is exported by no target: export it with targetcli,"
        f" or delete it (memzbc delete {lun.name}) and create it again"
    )


def terminal_style() -> Style:
    """What standard output can show: colours on a terminal only."""
    return Style(
        width=shutil.get_terminal_size().columns,
        colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ,
        unicode=(sys.stdout.encoding or "").lower().startswith("utf"),
    )


def show_zones(args: argparse.Namespace) -> int:
    """memzbc zones"""
    if args.json and (args.map or args.plot):
        args.parser.error("--json, --map and --plot exclude each other")
    from . import lio

    need_root()
    lun = lio.existing(args.name)
    data: list[dict[str, Any]] = []
    count = 0
    for zone in scsi.report_zones(sg_node_of(lun)):
        # A gap belongs to the zone before it and has no number of its own, as for the kernel.
        gap = zone.type == scsi.GAP
        data.append(zone_data(None if gap else count, zone))
        count += not gap
    if args.plot:
        from . import zoneplot

        zoneplot.draw(lun.name, views(data), lun.block_size, args.plot)
        say(f"wrote {args.plot}")
    elif args.map:
        print(draw_map(views(data), lun.block_size, terminal_style()))
    else:
        head = ["ZONE", "TYPE", "CONDITION", "START LBA", "LENGTH", "WRITE POINTER"]
        result = {"name": lun.name, "block_size": lun.block_size, "zones": data}
        print_result(args, result, table([head, *map(zone_row, data)]))
    return 0


def add_trace(parser: argparse.ArgumentParser) -> None:
    """The arguments of memzbc trace."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--csv", action="store_true", help="print CSV: times in nanoseconds, lengths in blocks"
    )
    form.add_argument(
        "--plot",
        metavar="FILE.svg|png",
        type=typed(picture),
        help="draw LBA against arrival, what became of each command, and in which order they were"
        " executed",
    )
    parser.add_argument(
        "--follow", action="store_true", help="show commands as they complete, until Ctrl-C"
    )
    parser.add_argument(
        "--last",
        metavar="N",
        type=typed(positive),
        help=f"the last N commands only (default: {TABLE_LAST} in the table, none with --follow,"
        " else all that there are)",
    )
    parser.description = (
        "Show the last commands of a LUN: when each arrived, which blocks it named, where the write"
        " pointer of its zone was when it was executed, its answer, its place in the order of"
        " execution (RUN) and of answers (DONE), and the time it took. How many are kept is key"
        " trace."
    )


def add_commands(command: AddCommand) -> None:
    """Adds these commands to the command line."""
    zones = named(command("zones", show_zones, "show the zones of a LUN"))
    form = zones.add_mutually_exclusive_group()
    form.add_argument(
        "--map", action="store_true", help="condition and fill of all zones, drawn with characters"
    )
    form.add_argument(
        "--plot", metavar="FILE.svg|png", type=typed(picture), help="the same as a picture"
    )
    add_trace(named(command("trace", show_trace, "show the last commands of a LUN")))
    stats = named(command("stats", show_stats, "show what a LUN has counted"))
    stats.add_argument(
        "--watch", action="store_true", help="again and again until Ctrl-C, with rates"
    )
    stats.add_argument(
        "--interval",
        metavar="SECONDS",
        default=1,
        type=typed(positive),
        help="from one time to the next, with --watch (1)",
    )

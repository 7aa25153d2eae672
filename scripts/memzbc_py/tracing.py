# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""memzbc trace: the last commands of a LUN as a table, JSON, CSV or a picture, or as they come."""
from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from typing import Any, Callable, Iterable

from . import trace
from .arguments import need_root
from .names import sense_code, time_text
from .show import say, table
from .trace import ENDINGS, Header, Record, Trace
from .units import MemzbcError

Emit = Callable[[Record], None]

# Of the table, unless --last says otherwise.
TABLE_LAST = 40
POLL_S = 0.1

HEAD = "NO TIME COMMAND LBA BLOCKS ZONE POINTER RESULT RUN DONE TOOK".split() + [""]
# Of lines that come one by one: what fits nearly all.
FOLLOW_WIDTHS = (8, 15, 14, 12, 6, 6, 12, 24, 8, 8, 7)


def clock_text(nanoseconds: int) -> str:
    """Local time of day, to the microsecond."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{time.strftime('%H:%M:%S', time.localtime(seconds))}.{rest // 1000:06}"


def row_of(record: Record) -> list[str]:
    """A command as a row of HEAD."""

    def number(value: int | None, form: str = "d") -> str:
        return "-" if value is None else format(value, form)

    took = "-" if record.completed is None else time_text(record.completed - record.arrived)
    return [
        str(record.number),
        clock_text(record.arrived),
        record.command,
        number(record.lba, "#x"),
        number(record.blocks if record.lba is not None else None),
        number(record.zone),
        number(record.write_pointer, "#x"),
        record.result,
        number(record.execution or None),
        number(record.completion or None),
        took,
        record.notes,
    ]


def data_of(record: Record) -> dict[str, Any]:
    """A command as JSON; LBAs and lengths in logical blocks, times in nanoseconds."""
    flags = (
        ("held", trace.HELD),
        ("reordered", trace.REORDERED),
        ("injected", trace.INJECTED),
        ("dropped", trace.DROPPED),
        ("resent", trace.RESENT),
    )
    latency = None if record.completed is None else record.completed - record.arrived
    data: dict[str, Any] = {
        "number": record.number,
        "arrived": record.arrived,
        "completed": record.completed,
        "latency": latency,
        "opcode": record.opcode,
        "service_action": record.action,
        "command": record.command,
        "lba": record.lba,
        "blocks": record.blocks,
        "zone": record.zone,
        "write_pointer": record.write_pointer,
        "status": record.status,
        "sense": sense_code(*record.sense) if record.sense else None,
        "outcome": record.outcome,
        "execution": record.execution or None,
        "completion": record.completion or None,
        "tag": record.tag,
    }
    data |= {name: bool(record.flags & bit) for name, bit in flags}
    return data | {
        "held_until": ENDINGS[record.held] or None,
        "reordered_until": ENDINGS[record.reordered] or None,
    }


def header_data(header: Header) -> dict[str, Any]:
    """The LUN of a trace as JSON, lengths in logical blocks."""
    return {
        "name": header.name,
        "backstore": header.backstore,
        "block_size": header.lba_size,
        "capacity": header.capacity,
        "zone_size": header.zone_size,
        "zone_cap": header.zone_cap,
        "conv": header.conv,
        "conv_end": header.conv_end,
    }


class CsvLines:
    """Commands as lines of CSV, after one with the names of the columns."""

    def __init__(self) -> None:
        self._writer: Any = None

    def __call__(self, record: Record) -> None:
        data = data_of(record)
        if not self._writer:
            self._writer = csv.DictWriter(sys.stdout, list(data), lineterminator="\n")
            self._writer.writeheader()
        self._writer.writerow(
            {key: int(value) if isinstance(value, bool) else value for key, value in data.items()}
        )


class TableLines:
    """Commands as lines of a table whose columns are wide enough for nearly all."""

    def __init__(self) -> None:
        print(self._line(HEAD))

    @staticmethod
    def _line(cells: list[str]) -> str:
        padded = [cell.ljust(width) for cell, width in zip(cells, FOLLOW_WIDTHS)]
        return "  ".join([*padded, cells[-1]]).rstrip()

    def __call__(self, record: Record) -> None:
        print(self._line(row_of(record)))


def json_line(record: Record) -> None:
    """A command as one line of JSON."""
    print(json.dumps(data_of(record)))


class Follower:
    """Hands on commands when they are complete."""

    def __init__(self, source: Trace, last: int) -> None:
        self.source = source
        self.next = max(1, source.header.arrivals - last + 1)
        self.pending: list[int] = []

    def _oldest(self) -> int:
        """Number of the oldest command that still has a record."""
        return self.source.header.arrivals - self.source.header.count + 1

    def poll(self, emit: Emit) -> int:
        """Emits what has become complete since the last time; how many commands were missed,
        because the ring came round before they were looked at."""
        header = self.source.refresh()
        first = max(self.next, self._oldest())
        missed = first - self.next
        waiting = []
        for number in [*self.pending, *range(first, header.arrivals + 1)]:
            record = self.source.record(number)
            if record and (record.state == trace.COMPLETE or record.lost):
                emit(record)
            elif number > self.source.refresh().arrivals - header.count:
                waiting.append(number)
            else:
                missed += 1
        self.pending = waiting
        self.next = header.arrivals + 1
        return missed


def follow(name: str, last: int, emit: Emit) -> int:
    """Emits commands as they complete, until Ctrl-C or until there is no trace any more."""
    source = trace.find(name)
    follower = Follower(source, last)
    try:
        while True:
            missed = follower.poll(emit)
            sys.stdout.flush()
            if missed:
                say(f"{missed} commands missed: the trace is too short for this rate")
            if source.is_replaced():
                source.close()
                source = trace.find(name)
                follower = Follower(source, source.header.count)
            time.sleep(POLL_S)
    except KeyboardInterrupt:
        return 0


def print_all(args: argparse.Namespace, header: Header, records: Iterable[Record]) -> None:
    """The commands in the form that was asked for."""
    if args.json:
        commands = [data_of(record) for record in records]
        print(json.dumps(header_data(header) | {"commands": commands}, indent=1))
    elif args.csv:
        write = CsvLines()
        for record in records:
            write(record)
    elif args.plot:
        from . import traceplot

        traceplot.draw(header, list(records), args.plot)
        say(f"wrote {args.plot}")
    else:
        rows = [row_of(record) for record in records]
        print(table([HEAD, *rows]) if rows else "no command yet")


def emitter(args: argparse.Namespace) -> Emit:
    """What prints commands one by one in the form that was asked for."""
    if args.json:
        return json_line
    if args.csv:
        return CsvLines()
    return TableLines()


def show_trace(args: argparse.Namespace) -> int:
    """memzbc trace"""
    if args.json and (args.csv or args.plot):
        args.parser.error("--json, --csv and --plot exclude each other")
    need_root()
    if args.follow:
        if args.plot:
            raise MemzbcError("--plot and --follow exclude each other")
        return follow(args.name, args.last or 0, emitter(args))
    source = trace.find(args.name)
    in_table = not (args.json or args.csv or args.plot)
    last = TABLE_LAST if args.last is None and in_table else args.last
    print_all(args, source.header, source.records(last))
    source.close()
    return 0

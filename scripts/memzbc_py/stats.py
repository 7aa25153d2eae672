# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""memzbc stats: what a LUN has counted, in words, and how fast it grows."""
from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any, Callable

from .control import control_request
from .names import (
    UNSUPPORTED,
    bytes_text,
    command_name,
    sense_name,
    status_name,
    time_text,
)
from .show import table

BAR_WIDTH = 30
CLEAR = "\x1b[H\x1b[J"
# Why a kept write went on, in words.
ENDINGS = {
    "pointer": "the write pointer arrived",
    "passed": "the pointer passed it, or the zone cannot be written",
    "attempts": "attempts used up",
    "depth": "overtaken as often as wanted",
    "time": "time over",
    "drained": "drained",
    "settings": "turned off",
}

Rows = list[list[str]]


def _per_second(value: float, text: str) -> str:
    """A rate, or nothing for none."""
    return f"{text}/s" if value else ""


def _classes(stats: dict[str, Any], before: dict[str, Any] | None) -> Rows:
    """Commands by class, with their rates since BEFORE, unless the counters were reset since."""
    rows = [["", "COMMANDS", "BYTES", "ERRORS", "RATE", ""]]
    seconds = stats["seconds"] - before["seconds"] if before else 0.0
    for name, counters in stats["classes"].items():
        row = [name, str(counters["commands"]), bytes_text(counters["bytes"]),
               str(counters["errors"])]
        if before and seconds > 0:
            old = before["classes"][name]
            commands = (counters["commands"] - old["commands"]) / seconds
            size = (counters["bytes"] - old["bytes"]) / seconds
            row += [_per_second(commands, f"{commands:.0f}"), _per_second(size, bytes_text(size))]
        else:
            row += ["", ""]
        rows.append(row)
    return rows


def _commands(stats: dict[str, Any]) -> Rows:
    rows = []
    for entry in stats["commands"]:
        opcode = entry["opcode"]
        name = UNSUPPORTED if opcode is None else command_name(opcode, entry["service_action"])
        errors = f"{entry['errors']} errors" if entry["errors"] else ""
        size = bytes_text(entry["bytes"]) if entry["bytes"] else ""
        rows.append([name, str(entry["commands"]), size, errors])
    return rows


def _answers(stats: dict[str, Any]) -> Rows:
    """Statuses and sense data."""
    rows = [[status_name(entry["status"]), str(entry["count"])] for entry in stats["statuses"]]
    senses = sorted(stats["senses"], key=lambda entry: int(entry["count"]), reverse=True)
    rows += [
        [f"  {sense_name(entry['key'], entry['asc'], entry['ascq'])}", str(entry["count"])]
        for entry in senses
    ]
    if stats["senses_other"]:
        rows.append(["  other sense data", str(stats["senses_other"])])
    return rows


def _order(stats: dict[str, Any]) -> Rows:
    """Sequences, and what became of writes that came out of order."""
    rows = []
    for kind, sequence in stats["sequential"].items():
        ratio = sequence["ratio"]
        share = "-" if ratio is None else f"{100 * ratio:.1f}%"
        rows.append(
            [f"sequential {kind}s", share, f"{sequence['sequential']} of {sequence['commands']}"]
        )
    writes = stats["writes"]
    rows.append(["writes out of order", str(writes["out_of_order"]), ""])
    rows.append(["unaligned writes", str(writes["unaligned"]), ""])
    if writes["resent"]:
        rows.append(["writes resent", str(writes["resent"]), "after a restart of tcmu-runner"])
    for what in ("reordered", "held"):
        kept = stats[what]
        if kept["count"]:
            rows.append([f"writes {what}", str(kept["count"]), f"{kept['now']} now"])
        rows += [["", str(n), ENDINGS.get(why, why)] for why, n in kept["ended"].items()]
    rows += [
        ["errors injected", str(count), kind] for kind, count in stats["injected"].items() if count
    ]
    return rows


def _zones(stats: dict[str, Any]) -> Rows:
    zones = stats["zones"]
    rows = [[name, str(count)] for name, count in zones["now"].items() if count]
    opened = zones["now"]["implicitly opened"] + zones["now"]["explicitly opened"]
    rows.append(["open, at most so far", f"{zones['max_open']} ({opened} now)"])
    rows += [
        [f"{t['from']} -> {t['to']}", str(t["count"])] for t in zones["transitions"]
    ]
    return rows


def _class_of_numbers(low: int, high: int) -> str:
    low = max(1, low)
    return str(low) if low == high else f"{low} to {high}"


def _class_of_times(low: int, high: int) -> str:
    return f"below {time_text(high + 1)}" if low else f"below {high + 1}ns"


def _histogram(entries: list[dict[str, int]], name_of: Callable[[int, int], str]) -> Rows:
    """Classes with bars as long as their share."""
    most = max((entry["count"] for entry in entries), default=1)
    rows = []
    for entry in entries:
        bar = "#" * max(1, round(BAR_WIDTH * entry["count"] / most))
        rows.append([name_of(entry["from"], entry["to"]), str(entry["count"]), bar])
    return rows


def _section(title: str, rows: Rows) -> str:
    """Rows below a title; nothing without rows."""
    if not rows:
        return ""
    lines = table(rows).splitlines()
    return "\n".join([title, *(f"  {line}".rstrip() for line in lines)]) + "\n"


def stats_text(name: str, stats: dict[str, Any], before: dict[str, Any] | None = None) -> str:
    """The counters of LUN NAME in words, with rates since BEFORE if that is given."""
    latency, outstanding = stats["latency_ns"], stats["outstanding"]
    head = f"{name}: counted for {stats['seconds']:.1f} s"
    if not stats["counting"]:
        head = f"{name}: not counting ('memzbc set {name} stats=1' has it count)"
    mean, most = time_text(latency["mean"]), time_text(latency["max"])
    times = f"time to the answer: mean {mean}, most {most}"
    depth = f"outstanding commands: {outstanding['now']} now, most {outstanding['max']}"
    memory = stats["memory"]
    sections = [
        _section(head, _classes(stats, before)),
        _section("commands", _commands(stats)),
        _section("answers", _answers(stats)),
        _section("order", _order(stats)),
        _section("sequential zones", _zones(stats)),
        _section(depth, _histogram(outstanding["histogram"], _class_of_numbers)),
        _section(times, _histogram(latency["histogram"], _class_of_times)),
        f"memory for data: {bytes_text(memory['data'])} of {bytes_text(memory['max'])}",
    ]
    return "\n".join(section for section in sections if section)


def watch(name: str, interval: float, as_json: bool) -> int:
    """Shows the counters again and again, until Ctrl-C."""
    before = None
    try:
        while True:
            stats = control_request(name, "stats")["stats"]
            if as_json:
                print(json.dumps(stats))
            else:
                text = stats_text(name, stats, before)
                print((CLEAR if sys.stdout.isatty() else "") + text, flush=True)
            sys.stdout.flush()
            before = stats
            time.sleep(interval)
    except KeyboardInterrupt:
        return 0


def show_stats(args: argparse.Namespace) -> int:
    """memzbc stats"""
    if args.watch:
        return watch(args.name, args.interval, args.json)
    stats = control_request(args.name, "stats")["stats"]
    print(json.dumps(stats, indent=2) if args.json else stats_text(args.name, stats))
    return 0

# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""The commands that look at a LUN and change it while it is in use, through its control socket."""
from __future__ import annotations

import argparse

from .arguments import AddCommand, named
from .control import control_request
from .show import print_result
from .units import MemzbcError, format_size, parse_settings, split_config


def settings_of(name: str) -> dict[str, str]:
    """The settings of LUN NAME in force, as 'memzbc set' takes them. Raises MemzbcError."""
    return split_config(control_request(name, "config")["config"])


def set_keys(args: argparse.Namespace) -> int:
    """memzbc set"""
    try:
        wanted = parse_settings(args.settings)
    except ValueError as error:
        raise MemzbcError(str(error)) from None
    words = [f"{key}={value}" for key, value in wanted.items()]
    settings = control_request(args.name, "set", *words)["settings"]
    print_result(args, {"name": args.name, "settings": settings}, f"{args.name}: {' '.join(words)}")
    return 0


def get_keys(args: argparse.Namespace) -> int:
    """memzbc get"""
    words = [args.key] if args.key else []
    settings = control_request(args.name, "get", *words)["settings"]
    texts = settings_of(args.name)
    if args.key:
        text = texts.get(args.key, str(settings[args.key]))
    else:
        text = "\n".join(f"{key}={value}" for key, value in texts.items())
    print_result(args, {"name": args.name, "settings": settings}, text)
    return 0


def change_zones(args: argparse.Namespace) -> int:
    """memzbc zone"""
    count = control_request(args.name, "zone", args.which, *args.change)["zones"]
    text = f"{args.name}: {count} zone{'s' if count != 1 else ''}: {' '.join(args.change)}"
    print_result(args, {"name": args.name, "zones": count}, text)
    return 0


def lose_power(args: argparse.Namespace) -> int:
    """memzbc power-loss"""
    words = [] if args.count is None else [args.count]
    loss = control_request(args.name, "power-loss", *words)
    writes = f"{loss['writes']} write{'s' if loss['writes'] != 1 else ''}"
    text = f"{args.name}: {writes} vanished, {format_size(loss['bytes'])}"
    print_result(args, {"name": args.name} | loss, text)
    return 0


def reset_statistics(args: argparse.Namespace) -> int:
    """memzbc reset-stats"""
    control_request(args.name, "reset-stats")
    print_result(args, {"name": args.name, "reset": True}, f"{args.name}: statistics from zero")
    return 0


def add_commands(command: AddCommand) -> None:
    """Adds these commands to the command line."""
    named(command("set", set_keys, "change keys of a LUN in use, all or none")).add_argument(
        "settings",
        metavar="KEY=VALUE",
        nargs="+",
        help="keys that may change at any time ('memzbc help' tells which)",
    )
    named(
        command("get", get_keys, "show the keys of a LUN that may change at any time")
    ).add_argument("key", metavar="KEY", nargs="?", help="show the value of this key only")
    zone = named(command("zone", change_zones, "change zones, as a failing drive would"))
    zone.add_argument(
        "which", metavar="FIRST[-LAST]", help="numbers of zones, as 'memzbc zones' shows them"
    )
    zone.add_argument(
        "change",
        metavar="CONDITION|wp=N",
        nargs="+",
        help="empty (data discarded), closed (as it was: empty or full if its write pointer is at"
        " an end), full, readonly, offline (data kept), notwp (a conventional zone is well again);"
        " wp=N moves the write pointer to block N of the zone, alone or after closed",
    )
    named(
        command("power-loss", lose_power, "undo the newest writes that are not durable (key cache)")
    ).add_argument(
        "count",
        metavar="COUNT",
        nargs="?",
        help="how many writes vanish at most (default: all)",
    )
    named(command("reset-stats", reset_statistics, "have a LUN count from zero"))

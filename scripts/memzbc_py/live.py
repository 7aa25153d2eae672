# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""The commands that look at a LUN and change it while it is in use, through its control socket."""
from __future__ import annotations

import argparse
from typing import Callable

from .control import control_request
from .show import print_result
from .units import MemzbcError, parse_settings, split_config

Run = Callable[[argparse.Namespace], int]
AddCommand = Callable[[str, Run, str], argparse.ArgumentParser]


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


def add_commands(command: AddCommand) -> None:
    """Adds these commands to the command line."""
    setting = command("set", set_keys, "change keys of a LUN in use, all or none")
    setting.add_argument("name", metavar="NAME")
    setting.add_argument(
        "settings",
        metavar="KEY=VALUE",
        nargs="+",
        help="keys that may change at any time ('memzbc help' tells which)",
    )
    getting = command("get", get_keys, "show the keys of a LUN that may change at any time")
    getting.add_argument("name", metavar="NAME")
    getting.add_argument("key", metavar="KEY", nargs="?", help="show the value of this key only")

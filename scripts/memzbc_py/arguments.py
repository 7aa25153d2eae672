# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""What commands share about their arguments, and who may use them."""
from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Callable, TypeVar

from .units import MemzbcError

Result = TypeVar("Result")
Run = Callable[[argparse.Namespace], int]
# Adds a command to the command line: its name, its function and what it does.
AddCommand = Callable[[str, Run, str], argparse.ArgumentParser]


def named(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """PARSER, of a command whose first argument is the name of a LUN."""
    parser.add_argument("name", metavar="NAME")
    return parser


def typed(parse: Callable[[str], Result]) -> Callable[[str], Result]:
    """An argparse type whose ValueError text reaches the user."""

    def convert(text: str) -> Result:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def need_root() -> None:
    """Raises MemzbcError unless root runs this."""
    if os.geteuid():
        raise MemzbcError("only root can do this")


def positive(text: str) -> int:
    """A whole number from 1 on. Raises ValueError."""
    if not text.isascii() or not text.isdecimal() or int(text) == 0:
        raise ValueError(f"'{text}': expected a whole number from 1 on")
    return int(text)


def picture(text: str) -> Path:
    """The path of a picture to be made. Raises ValueError."""
    path = Path(text)
    if path.suffix.lower() not in (".svg", ".png"):
        raise ValueError(f"'{text}': expected a name that ends with .svg or .png")
    return path

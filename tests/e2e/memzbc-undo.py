#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""Stops memzbc's making of a LUN after each of its steps, by an error and as Ctrl-C does, and looks
at what is left: nothing. To be run in the virtual machine, with tcmu-runner there."""
import sys
from pathlib import Path
from typing import Any, Callable, Optional

from rtslib_fb import RTSLibError

sys.path.insert(0, "scripts")

from memzbc_py import lio, units  # noqa: E402

LOCAL = units.parse_portal("127.0.0.1")
STEPS = [
    ("_make_storage", None),
    ("Target", None),
    ("TPG", None),
    ("LUN", None),
    ("wait_for_disk", None),
    ("Target", LOCAL),
    ("TPG", LOCAL),
    ("LUN", LOCAL),
    ("NetworkPortal", LOCAL),
    ("find", LOCAL),
]


def listing() -> list[str]:
    """The backstores and targets that there are."""
    return sorted(str(path) for path in lio.CONFIGFS.glob("*/*"))


def stopped_after(step: str, portal: Optional[units.Portal], how: BaseException) -> None:
    """Makes a LUN whose STEP ends with HOW once it is done."""
    real: Callable[..., Any] = getattr(lio, step)

    def stop(*args: Any, **options: Any) -> None:
        setattr(lio, step, real)
        real(*args, **options)
        raise how

    setattr(lio, step, stop)
    try:
        lio.create("z0", "", 1 << 30, 512, portal)
    except (units.MemzbcError, KeyboardInterrupt) as error:
        wanted = KeyboardInterrupt if isinstance(how, KeyboardInterrupt) else units.MemzbcError
        assert isinstance(error, wanted), f"{step}: ended with {error!r}"
    else:
        sys.exit(f"{step}: not stopped")
    finally:
        setattr(lio, step, real)


def main() -> None:
    """Stops each step in both ways."""
    before = listing()
    for step, portal in STEPS:
        for how in (RTSLibError("no"), KeyboardInterrupt()):
            stopped_after(step, portal, how)
            left = set(listing()) - set(before)
            assert not left, f"{step}, {how!r}: left {left}"
            assert not list(Path("/dev").glob("sg*")), f"{step}, {how!r}: a disk is left"
            print(f"stopped after {step} by {how!r}: nothing left")


main()

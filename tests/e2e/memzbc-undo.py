#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""Stops memzbc's making of a LUN after each of its steps: by an error, as Ctrl-C does, by SIGKILL.
Nothing may be left, after SIGKILL once it is deleted. To be run in the virtual machine, with
tcmu-runner there."""
import os
import signal
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


def stop_after(step: str, stop: Callable[[], None]) -> None:
    """The next time that STEP is done, STOP is called."""
    real: Callable[..., Any] = getattr(lio, step)

    def then_stop(*args: Any, **options: Any) -> Any:
        setattr(lio, step, real)
        result = real(*args, **options)
        stop()
        return result

    setattr(lio, step, then_stop)


def make(portal: Optional[units.Portal]) -> None:
    """Makes the LUN."""
    lio.create("z0", "", 1 << 30, 512, portal)


def stopped(step: str, portal: Optional[units.Portal], how: BaseException) -> None:
    """The making ends with HOW after STEP, and clears up itself."""

    def fail() -> None:
        raise how

    stop_after(step, fail)
    try:
        make(portal)
    except (units.MemzbcError, KeyboardInterrupt) as error:
        wanted = KeyboardInterrupt if isinstance(how, KeyboardInterrupt) else units.MemzbcError
        assert isinstance(error, wanted), f"{step}: ended with {error!r}"
    else:
        sys.exit(f"{step}: not stopped")


def killed(step: str, portal: Optional[units.Portal]) -> None:
    """The making is killed after STEP; what it leaves is then removed as delete does it."""
    before = listing()
    child = os.fork()
    if not child:
        stop_after(step, lambda: os.kill(os.getpid(), signal.SIGKILL))
        make(portal)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL, f"{step}: not killed"
    assert listing() != before, f"{step}: nothing was made"
    lio.remove("z0")


def main() -> None:
    """Stops the making after each step in each way."""
    before = listing()
    for step, portal in STEPS:
        for stop, *how in (
            (stopped, RTSLibError("no")),
            (stopped, KeyboardInterrupt()),
            (killed,),
        ):
            stop(step, portal, *how)
            what = f"{step} {'for iSCSI ' if portal else ''}{stop.__name__} {how or ''}"
            assert listing() == before, f"{what}: left {set(listing()) - set(before)}"
            assert not list(Path("/dev").glob("sg*")), f"{what}: a disk is left"
            print(f"{what}: nothing left", flush=True)


main()

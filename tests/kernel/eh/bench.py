# SPDX-License-Identifier: GPL-2.0-only
"""scripts/eh-bench: runs the speed comparison in a virtual machine and prints the table."""
from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, Sequence

from .bench_guest import BATCH, DEPTH, WAYS, Speed
from .cli import Parser, add_kernel_options, boot
from .module import BuildError, build

ABOUT = f"""\
How fast can a zone be written? Compares, in one run on one LUN with a fixed completion latency,
mq-deadline, which sends one write of a zone at a time, with three ways to have many of them in
flight: the LUN's hold, which keeps early writes (scheduler none); the module memzbc_eh (none); and
the patches of tests/kernel/patches (mq-deadline), where the kernel has them. The job is fio's: 4
KiB sequential writes, depth {DEPTH}, batches of {BATCH}, verified.
"""
BASELINE = WAYS[0].name
DELAY = re.compile(r"[0-9]+(us|ms|s)")


def _delays(text: str) -> list[str]:
    delays = text.split(",")
    for delay in delays:
        if not DELAY.fullmatch(delay):
            raise argparse.ArgumentTypeError(f"'{delay}': expected a time such as 100us or 5ms")
    return delays


def _seconds(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 60:
        raise argparse.ArgumentTypeError(f"'{text}': expected 1 to 60 seconds")
    return int(text)


def parser() -> Parser:
    """The command line."""
    result = Parser(prog="eh-bench", description=ABOUT, allow_abbrev=False,
                    formatter_class=argparse.RawDescriptionHelpFormatter,
                    epilog="exit status: 0 done, 1 a run failed, 64 wrong usage")
    add_kernel_options(result)
    add = result.add_argument
    add("--delays", metavar="LIST", type=_delays, default=["100us", "1ms", "5ms"],
        help="completion latencies, with commas between them (100us,1ms,5ms)")
    add("--seconds", metavar="N", type=_seconds, default=3,
        help="about how long each run writes (3)")
    add("--no-module", action="store_true", help="leave the module out")
    add("--json", action="store_true", help="print what was measured as JSON")
    return result


def ratio(speed: Speed, speeds: Sequence[Speed]) -> float:
    """How many times as fast as the first way with the same delay."""
    base = next(s for s in speeds if s.way == BASELINE and s.delay == speed.delay)
    return speed.iops / base.iops


def table(speeds: Sequence[Speed], delays: Sequence[str]) -> str:
    """What was measured, for the reader."""
    lines = [f"{'DELAY':6} {'WAY':12} {'IOPS':>7} {'RATIO':>7} {'LATENCY':>10} {'UNALIGNED':>10} "
             f"{'HELD':>6} {'EH WAKEUPS':>11}"]
    for speed in sorted(speeds, key=lambda s: delays.index(s.delay)):
        lines.append(f"{speed.delay:6} {speed.way:12} {speed.iops:7.0f} "
                     f"{ratio(speed, speeds):6.1f}x {speed.latency_ms:7.2f} ms "
                     f"{speed.unaligned:10} {speed.held:6} {speed.wakeups:11}")
    return "\n".join(lines)


def _measure(args: argparse.Namespace, directory: Path) -> list[Speed]:
    """Runs it. Raises BuildError, or RuntimeError with what the guest said."""
    module = "" if args.no_module else str(build(args, directory))
    job: dict[str, Any] = {"delays": args.delays, "seconds": args.seconds, "module": module}
    (directory / "job.json").write_text(json.dumps(job))
    problem = boot(args, directory, "bench_guest.py")
    if problem:
        raise RuntimeError(problem)
    return [Speed(**speed) for speed in json.loads((directory / "speeds.json").read_text())]


def main(argv: Sequence[str]) -> int:
    """Runs the command line; the exit status."""
    args = parser().parse_args(argv)
    args.mutant = None
    with tempfile.TemporaryDirectory(prefix="eh-bench-") as name:
        try:
            speeds = _measure(args, Path(name))
        except (BuildError, RuntimeError) as error:
            print(f"eh-bench: {error}", file=sys.stderr)
            return 1
    if args.json:
        print(json.dumps([vars(speed) | {"ratio": ratio(speed, speeds)} for speed in speeds],
                         indent=2))
    else:
        print(table(speeds, args.delays))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

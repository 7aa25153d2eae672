# SPDX-License-Identifier: GPL-2.0-only
"""scripts/eh-test: runs the scenarios in a virtual machine and prints the verdict."""
from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Sequence

from memzbc_py.units import MemzbcError

from . import report
from .criteria import Run
from .mechanism import ALL, MODULE, NONE
from .module import BuildError, build
from .plot import draw
from .scenarios import BY_NAME, SCENARIOS
from .trace import lost_events, parse
from .verdict import CANNOT_TELL, Verdict, decide

REPO = Path(__file__).resolve().parents[3]
SCHEDULERS = ("none", "mq-deadline")
WRONG_USAGE = 64
VM_S = 540

ABOUT = """\
Does this kernel sort zoned writes that failed with UNALIGNED WRITE COMMAND by LBA, and send them
again? Boots the kernel in a virtual machine (scripts/vm) with a zoned LUN in memory, has writes
arrive out of order, and judges the order and the number of what the kernel sends then.
"""
ENDS = """\
scenarios: {names}

exit status: 0 it does, 1 it does not (with the reason), 2 could not tell, 64 wrong usage
"""


def _scenarios(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in BY_NAME:
            raise argparse.ArgumentTypeError(
                f"'{name}' is no scenario: {', '.join(BY_NAME)}"
            )
    return [scenario.name for scenario in SCENARIOS if scenario.name in names]


def _picture(text: str) -> Path:
    path = Path(text)
    if path.suffix not in (".svg", ".png"):
        raise argparse.ArgumentTypeError(f"'{text}': expected a name that ends with .svg or .png")
    return path


def _file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"'{text}': no such file")
    return path.resolve()


def _modules(text: str) -> Path:
    path = Path(text)
    if not (path / "lib" / "modules").is_dir():
        raise argparse.ArgumentTypeError(f"'{text}' has no lib/modules")
    return path.resolve()


class Parser(argparse.ArgumentParser):
    """Wrong usage has a status of its own: 2 means something else here."""

    def error(self, message: str) -> Any:
        """Says what is wrong."""
        self.print_usage(sys.stderr)
        self.exit(WRONG_USAGE, f"{self.prog}: {message}\n")


def add_kernel_options(result: argparse.ArgumentParser) -> None:
    """The options that name the kernel and what belongs to it."""
    add = result.add_argument
    add("--kernel", metavar="IMAGE", type=_file,
        help="the kernel, as for scripts/vm (the newest of Debian's that are installed)")
    add("--modules", metavar="DIR", type=_modules,
        help="its modules are in DIR/lib/modules (/)")
    add("--headers", metavar="DIR", type=Path,
        help="its build tree or headers, for the module (build in its modules' directory)")


def parser() -> Parser:
    """The command line."""
    names = ", ".join(BY_NAME)
    result = Parser(
        prog="eh-test", description=ABOUT, epilog=ENDS.format(names=names), allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_kernel_options(result)
    add = result.add_argument
    add("--mechanism", choices=ALL, default=NONE,
        help="none: the kernel as it is (the default); module: with memzbc_eh.ko attached to the"
        " disk; patched: with queue/pipeline_zoned_writes set")
    add("--scheduler", choices=SCHEDULERS, default="none", help="of the disk (none)")
    add("--scenarios", metavar="LIST", type=_scenarios, default=list(BY_NAME),
        help="only these, with commas between them")
    add("--mutant", metavar="PATCH", type=_file,
        help="a patch of tests/kernel/module that is applied to a copy of it first")
    add("--json", action="store_true", help="print the verdict as JSON")
    add("--plot", metavar="FILE", type=_picture,
        help="draw LBA against dispatch order, .svg or .png")
    add("--plot-scenario", metavar="NAME", choices=list(BY_NAME), default="batch",
        help="which one (batch)")
    add("--keep", metavar="DIR", nargs="?", const="", help="keep all raw data, in DIR if given")
    return result


def _job(args: argparse.Namespace, directory: Path) -> dict[str, Any]:
    """What the guest is to do; builds the module if it needs it. Raises BuildError."""
    names = list(args.scenarios)
    if args.mechanism == NONE:
        names = [name for name in names if BY_NAME[name].on]
    job = {
        "scenarios": names,
        "mechanism": args.mechanism,
        "scheduler": args.scheduler,
        "writer": str(directory / "zoned-writer"),
    }
    shutil.copy(os.environ["MEMZBC_ZONED_WRITER"], job["writer"])
    if args.mechanism == MODULE:
        job["module"] = str(build(args, directory))
    (directory / "job.json").write_text(json.dumps(job))
    return job


def boot(args: argparse.Namespace, directory: Path, script: str) -> str | None:
    """Runs a script of this package in the guest, for DIRECTORY; why it could not, if so."""
    command = [str(REPO / "scripts/vm"), "--share", str(directory), "--timeout", str(VM_S),
               "--log", str(directory / "console.log")]
    for option in ("kernel", "modules"):
        if getattr(args, option):
            command += [f"--{option}", str(getattr(args, option))]
    guest = str(REPO / "tests/kernel/eh" / script)
    command += ["--", "/usr/bin/python3", guest, str(directory)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)
    (directory / "vm.log").write_text(done.stdout)
    if done.returncode:
        tail = "\n".join(done.stdout.splitlines()[-20:])
        return f"the virtual machine ended with status {done.returncode}:\n{tail}"
    return None


def read(directory: Path, job: dict[str, Any]) -> tuple[list[Run], dict[str, Any]]:
    """What the guest left in DIRECTORY: the runs, and what holds for all of them."""
    place = directory / "facts.json"
    facts = json.loads(place.read_text()) if place.exists() else {}
    facts |= {key: job[key] for key in ("scenarios", "mechanism", "scheduler")}
    runs = []
    for name in job["scenarios"]:
        if not (directory / f"{name}.json").exists():
            continue
        text = (directory / f"{name}.trace").read_text()
        got = json.loads((directory / f"{name}.json").read_text())
        runs.append(Run(BY_NAME[name], parse(text.splitlines()), got, facts.get("device", ""),
                        job["mechanism"], lost_events(text)))
    return runs, facts


def judge(args: argparse.Namespace, directory: Path) -> Verdict:
    """Runs and judges all of it."""
    try:
        job = _job(args, directory)
    except BuildError as error:
        facts = {"mechanism": args.mechanism, "scheduler": args.scheduler, "problem": str(error)}
        return decide([], facts)
    problem = boot(args, directory, "guest.py")
    runs, facts = read(directory, job)
    if problem:
        facts["problem"] = problem
    return decide(runs, facts)


def _work_directory(args: argparse.Namespace) -> Path:
    if args.keep:
        directory = Path(args.keep).resolve()
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            parser().error(f"--keep {args.keep}: the directory is not empty")
        return directory
    return Path(tempfile.mkdtemp(prefix="eh-test-"))


def _plot(verdict: Verdict, args: argparse.Namespace) -> None:
    """Draws the picture; a verdict without one is a verdict."""
    try:
        draw(verdict, args.plot_scenario, args.plot)
    except MemzbcError as error:
        print(f"eh-test: {error}", file=sys.stderr)


def main(argv: Sequence[str]) -> int:
    """Runs the command line; the exit status."""
    args = parser().parse_args(argv)
    if args.mutant and args.mechanism != MODULE:
        parser().error("--mutant is for --mechanism module")
    directory = _work_directory(args)
    try:
        verdict = judge(args, directory)
        print(json.dumps(report.data(verdict), indent=2) if args.json else report.text(verdict))
        if args.plot:
            _plot(verdict, args)
        if args.keep is not None:
            print(f"raw data: {directory}", file=sys.stderr)
        return verdict.status
    finally:
        if args.keep is None:
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

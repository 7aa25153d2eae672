#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""Runs the recipes of README's page "Make it misbehave" as written, each on a LUN as it is made
there, and expects the output that is printed there.

Numbers that differ from run to run may be others. Output that README leaves out may come between.
"""
from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"
RECIPES = 10
COMMAND_S = 120
# Goes on with the LUN of the one before.
CONTINUES = (2,)
PROMPT = "$ "

# What differs from run to run, and what is compared instead.
VOLATILE = (
    (r"\d\d:\d\d:\d\d\.\d+", "TIME"),
    (r"\b[\d.]+ s, [\d.]+ [kM]?B/s", "SPEED"),
    (r"\b\d+(\.\d+)?(us|ms)\b", "TOOK"),
    (r"\bpid=\d+", "PID"),
    (r"\boffset=\d+", "OFFSET"),
    (r"'(count|pointer|out_of_order)': \d+", r"'\1': N"),
    (r"\b(\w+):\d+ memzbc/", r"\1:N memzbc/"),
    (r"bash: line \d+:", "bash:"),
)
# A line of the trace: what the kernel sent when is its own affair.
TRACE_LINE = re.compile(r"^\d+ +TIME .*")
NUMBER = re.compile(r"\b(0x[0-9a-f]+|\d+)\b(?!/)")


@dataclass
class Step:
    """A command and what README shows of its output."""

    command: str
    output: list[str] = field(default_factory=list)


def recipes() -> list[list[Step]]:
    """The steps of each recipe."""
    text = README.read_text(encoding="utf-8")
    page = text.partition("## Make it misbehave")[2].partition("### See what happened")[0]
    found: list[list[Step]] = []
    for part in re.split(r"^\*\*\d+\. ", page, flags=re.MULTILINE)[1:]:
        lines = [line for block in part.split("```\n")[1::2]
                 for line in block.replace("\\\n", "").splitlines()]
        steps: list[Step] = []
        for line in lines:
            if line.startswith(PROMPT):
                steps.append(Step(line.removeprefix(PROMPT)))
            elif line != "...":
                steps[-1].output.append(line)
        found.append(steps)
    return found


def setting() -> str:
    """The command that makes the LUN, as README says it."""
    made = re.search(r"The LUN is `(memzbc create z0 [^`]*)`", README.read_text(encoding="utf-8"))
    assert made, "README does not say how the LUN is made"
    return made[1]


def stable(line: str) -> str:
    """A line of output without what differs from run to run."""
    for pattern, instead in VOLATILE:
        line = re.sub(pattern, instead, line)
    line = re.sub(r"\s+", " ", line).strip()
    if TRACE_LINE.match(line):
        line = NUMBER.sub("N", re.sub(r"5/21/04", "UNALIGNED", line))
    return line


def run(command: str) -> list[str]:
    """The lines that a command prints, both kinds, whatever its exit status."""
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, timeout=COMMAND_S,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout.decode(errors="replace").splitlines()


def compare(step: Step, printed: list[str]) -> None:
    """README's lines have to be among those that were printed, in that order."""
    rest = iter([stable(line) for line in printed])
    for line in step.output:
        if not any(stable(line) in other for other in rest):
            shown = "\n    ".join(printed)
            sys.exit(f"FAILED: {step.command}\n  README shows: {line}\n  printed:\n    {shown}")


def fresh_lun() -> None:
    """The LUN of README, in place of the one of the recipe before."""
    run("memzbc delete z0")
    make = f"{setting()} >/dev/null && echo none >/sys/block/sda/queue/scheduler"
    subprocess.run(["bash", "-c", make], check=True)


def main() -> None:
    """Run them all."""
    found = recipes()
    assert len(found) == RECIPES and all(steps for steps in found), "README has other recipes"
    job = ""
    for number, steps in enumerate(found, 1):
        print(f"== recipe {number}", flush=True)
        if number not in CONTINUES:
            fresh_lun()
        for step in steps:
            # "fio ..." stands for the same job at another depth.
            command = step.command.replace("fio ...", job)
            if step.command.startswith("fio --"):
                job = re.sub(r"--iodepth=\d+ ", "", command)
            compare(step, run(command))


if __name__ == "__main__":
    main()

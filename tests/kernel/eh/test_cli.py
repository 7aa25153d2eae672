#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""scripts/eh-test without a machine: its options, what it reads, its output."""
from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "scripts")]

from eh import cli, plot  # noqa: E402
from eh.scenarios import BY_NAME, ZONE_BLOCKS  # noqa: E402
from eh.verdict import CANNOT_TELL, DOES_NOT  # noqa: E402

DEVICE = "0:0:1:0"


def line(seq: int, event: str, offset: int, rest: str = "") -> str:
    """A line of a trace about a write of scenario batch."""
    lba = BY_NAME["batch"].start + offset
    return (f" writer-1 [000] .....  {seq}: {event}: host_no=0 channel=0 id=1 lun=0"
            f" cmnd=(WRITE_16 lba={lba} raw=8a 00 {lba.to_bytes(8, 'big').hex(' ')}"
            f" 00 00 00 01 00 00){rest}\n")


def stock_trace() -> str:
    """Writes 1 and 0; 1 is refused and not sent again."""
    done, bad = "scsi_dispatch_cmd_done", " result=(host=DID_OK status=SAM_STAT_CHECK_CONDITION)"
    good = " result=(host=DID_OK status=SAM_STAT_GOOD)"
    return "".join([
        line(0, "scsi_dispatch_cmd_start", 1), line(1, "scsi_dispatch_cmd_start", 0),
        line(2, done, 1, bad), line(3, done, 0, good),
    ])


GOT: dict[str, Any] = {
    "start": 2 * ZONE_BLOCKS, "hangs": False, "allowed": None, "attempt": 1, "tags": 64,
    "lun": {"unaligned": 1, "check_conditions": 1, "eh_commands": 0, "resets": 0},
    "results": [
        {"request": 1, "lba": 2049, "errno": 121}, {"request": 0, "lba": 2048, "errno": 0},
        {"verify": 0, "lba": 2048, "good": True}, {"zone": 2048, "type": 2, "wp": 2049},
    ],
}


class CommandLine(unittest.TestCase):
    """The whole command, with a machine that is made up."""

    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.directory = Path(place.name)
        writer = self.directory / "writer"
        writer.touch()
        patch = mock.patch.dict(os.environ, {"MEMZBC_ZONED_WRITER": str(writer)})
        patch.start()
        self.addCleanup(patch.stop)

    def run_main(self, *argv: str) -> tuple[int, str, str]:
        """Exit status, output, complaints."""
        out, complaints = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(complaints):
            try:
                status = cli.main(argv)
            except SystemExit as end:
                status = int(str(end.code))
        return status, out.getvalue(), complaints.getvalue()

    def machine(self, trace: str) -> Any:
        """scripts/vm that leaves this trace of scenario batch."""

        def fake(_: Any, directory: Path, script: str) -> None:
            self.assertEqual(script, "guest.py")
            (directory / "batch.trace").write_text(trace)
            (directory / "batch.json").write_text(json.dumps(GOT))
            (directory / "facts.json").write_text(json.dumps(
                {"device": DEVICE, "release": "6.1", "missing": [], "problem": None}))

        return mock.patch.object(cli, "boot", fake)

    def test_wrong_options_name_what_is_taken(self) -> None:
        """With the exit status of wrong usage, which is no verdict."""
        for argv, said in (
            (["--mechanism", "magic"], "'none', 'module', 'patched'"),
            (["--scheduler", "bfq"], "'none', 'mq-deadline'"),
            (["--scenarios", "batch,hol"], "'hol' is no scenario: control, batch, "),
            (["--plot", "x.gif"], ".svg or .png"),
            (["--kernel", "/nowhere"], "no such file"),
            (["--modules", str(self.directory)], "no lib/modules"),
            (["--mutant", __file__], "for --mechanism module"),
            (["--keep", str(self.directory)], "not empty"),
            (["--keepall"], "unrecognized arguments"),
        ):
            status, out, complaints = self.run_main(*argv)
            self.assertEqual((status, out), (cli.WRONG_USAGE, ""), argv)
            self.assertIn(said, complaints)

    def test_stock_kernel(self) -> None:
        """The verdict as text and as JSON, and what is kept."""
        keep = self.directory / "kept"
        with self.machine(stock_trace()):
            status, out, _ = self.run_main("--scenarios", "batch", "--keep", str(keep))
            as_json = self.run_main("--scenarios", "batch", "--json")
        self.assertEqual(status, DOES_NOT)
        self.assertIn("verdict: does not sort failed zoned writes and send them again: no retry",
                      out)
        self.assertIn("at first: 1! 0\n", out)
        self.assertEqual((keep / "batch.trace").read_text(), stock_trace())
        self.assertEqual(as_json[0], DOES_NOT)
        told = json.loads(as_json[1])
        self.assertEqual(told["reasons"][0], "no retry")
        self.assertEqual(told["scenarios"][0]["rounds"], [
            [[2049, "SAM_STAT_CHECK_CONDITION"], [2048, "SAM_STAT_GOOD"]]])

    def test_without_mechanism_there_is_no_control(self) -> None:
        """Nothing could be switched off."""
        with self.machine(stock_trace()):
            keep = self.directory / "kept"
            self.run_main("--keep", str(keep))
        job = json.loads((keep / "job.json").read_text())
        self.assertEqual(job["scenarios"], [name for name in BY_NAME if name != "control"])

    def test_machine_that_fails(self) -> None:
        """That is no verdict on the kernel."""
        with mock.patch.object(cli, "boot", return_value="status 125: panic"):
            status, out, _ = self.run_main()
        self.assertEqual(status, CANNOT_TELL)
        self.assertIn("could not tell: status 125: panic", out)

    def test_picture(self) -> None:
        """Both formats, and a scenario that was not run."""
        for name, scenario in (("a.svg", "batch"), ("b.png", "batch"), ("c.svg", "hole")):
            with self.machine(stock_trace()):
                picture = self.directory / name
                self.run_main("--scenarios", "batch", "--plot", str(picture),
                              "--plot-scenario", scenario)
            self.assertTrue(picture.stat().st_size)
        drawn = (self.directory / "a.svg").read_text()
        self.assertIn(f"sent first, {plot.REFUSED}", drawn)
        self.assertNotIn("sent again", drawn)
        self.assertIn("hole: was not run", (self.directory / "c.svg").read_text())

    def test_picture_that_cannot_be_written(self) -> None:
        """The verdict is the same."""
        with self.machine(stock_trace()):
            status, _, complaints = self.run_main("--scenarios", "batch", "--plot", "/no/a.svg")
        self.assertEqual(status, DOES_NOT)
        self.assertIn("cannot write /no/a.svg", complaints)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""memzbc trace: files laid out as memzbc/observe.h says, and what becomes of them."""
import csv
import io
import json
import os
import struct
import sys
import tempfile
import unittest
from argparse import Namespace
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

from memzbc_py import trace, tracing  # noqa: E402
from memzbc_py.names import bytes_text, command_name, time_text  # noqa: E402
from memzbc_py.units import MemzbcError  # noqa: E402

ONES = (1 << 64) - 1
READ_16, WRITE_16, TEST_UNIT_READY = 0x88, 0x8A, 0x00
ZONE = 0x1000
# 1.5 s on the clock of the records is 2001-09-09 01:46:40 UTC.
CLOCK, REALTIME = 1_500_000_000, 10**18


class File:
    """A trace file in the making: 16 zones of 1000h blocks, two of them conventional."""

    def __init__(self, path: Path, count: int = 16, backstore: str = "user_0/z0") -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.count = path, count
        self.header: dict[str, Any] = {
            "magic": b"memzbcTR", "version": 1, "arrivals": 0, "first": 1, "backstore": backstore,
        }
        path.write_bytes(bytes(4096 + 64 * count))
        self.write_header()

    def write(self, at: int, data: bytes) -> None:
        """In place, as the plugin does."""
        with open(self.path, "r+b") as out:
            out.seek(at)
            out.write(data)

    def write_header(self, **changes: Any) -> None:
        """The header with some fields changed."""
        self.header |= changes
        h = self.header
        fixed = struct.pack("<8sIIII", h["magic"], h["version"], 4096, 64, self.count)
        numbers = (h["arrivals"], 0, 0, h["first"], 7, CLOCK, REALTIME, 16 * ZONE, ZONE, ZONE, 2, 0)
        name = h["backstore"].encode().ljust(280, b"\0")
        self.write(0, fixed + struct.pack("<12Q", *numbers) + struct.pack("<II", 512, 4096) + name)

    def add(self, number: int, state: int = 3, **fields: Any) -> None:
        """A record; the header counts it."""
        f: dict[str, Any] = {
            "arrived": CLOCK + number * 1000, "completed": CLOCK + number * 1000 + 2500,
            "lba": ONES, "pointer": ONES, "blocks": 0, "execution": number, "completion": number,
            "tag": 0, "flags": 0, "opcode": TEST_UNIT_READY, "action": 0, "status": 0,
            "sense": (0, 0, 0), "reordered": 0, "held": 0,
        } | fields  # fmt: skip
        data = struct.pack("<QQQQQ", number << 2 | state, f["arrived"], f["completed"], f["lba"],
                           f["pointer"])
        data += struct.pack("<III", f["blocks"], f["execution"], f["completion"])
        data += struct.pack("<HHBBB", f["tag"], f["flags"], f["opcode"], f["action"], f["status"])
        data += bytes(f["sense"]) + bytes([f["reordered"], f["held"]])
        assert len(data) == 64
        self.write(4096 + 64 * (number % self.count), data)
        self.write_header(arrivals=max(number, self.header["arrivals"]))

    def write_16(self, number: int, lba: int, pointer: int, **fields: Any) -> None:
        """A record of a WRITE(16) of 8 blocks."""
        self.add(number, opcode=WRITE_16, lba=lba, pointer=pointer, blocks=8, **fields)


class WithFiles(unittest.TestCase):
    """A place for state directories"""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        patch = mock.patch.object(trace, "ROOT", self.root)
        patch.start()
        self.addCleanup(patch.stop)

    def file(self, directory: str = "uio0-1", **options: Any) -> File:
        """A new trace file."""
        return File(self.root / directory / "trace", **options)

    def open(self, file: File) -> trace.Trace:
        """Opened, and closed after the test."""
        opened = trace.Trace(file.path)
        self.addCleanup(opened.close)
        return opened


class Reading(WithFiles):
    """trace.Trace"""

    def test_fields(self) -> None:
        file = self.file()
        file.write_16(
            1, 0x2008, 0x2000, status=2, sense=(5, 0x21, 4), tag=0xABCD, flags=1, held=5,
            execution=3, completion=2,
        )  # fmt: skip
        record = next(self.open(file).records())
        self.assertEqual(record.number, 1)
        self.assertEqual(record.arrived, REALTIME + 1000)
        self.assertEqual(record.completed, REALTIME + 3500)
        self.assertEqual((record.lba, record.blocks, record.zone), (0x2008, 8, 2))
        self.assertEqual(record.write_pointer, 0x2000)
        self.assertEqual((record.execution, record.completion), (3, 2))
        self.assertEqual((record.status, record.sense), (2, (5, 0x21, 4)))
        self.assertEqual(record.tag, 0xABCD)
        self.assertEqual(record.command, "WRITE(16)")
        self.assertEqual(record.result, "5/21/04 unaligned write")
        self.assertEqual(record.notes, "held (time)")
        self.assertEqual(record.outcome, "unaligned write")

    def test_what_is_not_there(self) -> None:
        file = self.file()
        file.add(1)
        file.add(2, state=1, flags=1, execution=0, completion=0)
        file.add(3, opcode=READ_16, lba=16 * ZONE + 5, blocks=1, status=2, sense=(5, 0x21, 0))
        first, second, third = self.open(file).records()
        self.assertEqual((first.lba, first.zone, first.write_pointer), (None, None, None))
        self.assertEqual((first.status, first.sense), (0, None))
        self.assertEqual((second.status, second.completed), (None, None))
        self.assertEqual((second.result, second.notes), ("held", "held (still)"))
        self.assertEqual((third.lba, third.zone), (16 * ZONE + 5, None))

    def test_ring(self) -> None:
        file = self.file()
        for number in range(1, 41):
            file.add(number)
            numbers = [record.number for record in self.open(file).records()]
            self.assertEqual(numbers, list(range(max(1, number - 15), number + 1)))
        numbers = [record.number for record in self.open(file).records(3)]
        self.assertEqual(numbers, [38, 39, 40])
        self.assertEqual(len(list(self.open(file).records(100))), 16)

    def test_record_that_is_being_written(self) -> None:
        file = self.file()
        for number in (1, 2, 3):
            file.add(number)
        file.write(4096 + 64 * 2, bytes(8))
        opened = self.open(file)
        self.assertEqual([record.number for record in opened.records()], [1, 3])
        self.assertIsNone(opened.record(2))
        self.assertIsNone(opened.record(17))

    def test_record_that_changes_while_it_is_read(self) -> None:
        file = self.file()
        file.add(1)
        opened = self.open(file)
        with mock.patch.object(trace, "_SEQUENCE") as sequence:
            sequence.unpack_from.side_effect = [(1 << 2 | 3,), (17 << 2 | 3,)]
            self.assertIsNone(opened.record(1))

    def test_lost_with_the_daemon(self) -> None:
        file = self.file()
        file.add(1)
        file.add(2, state=1, completion=0)
        file.add(3, state=2)
        file.write_header(first=3)
        first, second, third = self.open(file).records()
        self.assertFalse(first.lost)
        self.assertEqual((second.outcome, second.result), ("lost with the daemon",) * 2)
        self.assertEqual(third.outcome, "no answer yet")

    def test_outcomes(self) -> None:
        file = self.file()
        cases: tuple[tuple[str, dict[str, Any]], ...] = (
            ("good", {}),
            ("held, good", {"flags": 0x01, "held": 1}),
            ("reordered, good", {"flags": 0x02, "reordered": 4}),
            ("held, good", {"flags": 0x03, "held": 1, "reordered": 4}),
            ("unaligned write", {"status": 2, "sense": (5, 0x21, 4)}),
            ("unaligned write", {"status": 2, "sense": (5, 0x21, 4), "flags": 0x01}),
            ("other error", {"status": 2, "sense": (5, 0x21, 5)}),
            ("other error", {"status": 8}),
            ("injected error", {"status": 8, "flags": 0x04}),
            ("answer dropped", {"flags": 0x0C}),
            ("no answer yet", {"state": 1}),
            ("no answer yet", {"state": 2, "status": 2, "sense": (3, 0x11, 0)}),
        )
        for number, (outcome, fields) in enumerate(cases, 1):
            with self.subTest(number):
                file.add(number, **fields)
                record = self.open(file).record(number)
                assert record
                self.assertEqual(record.outcome, outcome)

    def test_not_a_trace(self) -> None:
        cases: tuple[tuple[str, dict[str, Any]], ...] = (
            ("no trace", {"magic": b"memzbcLU"}),
            ("version 2, not 1", {"version": 2}),
        )
        for what, change in cases:
            with self.subTest(what):
                file = self.file()
                file.write_header(**change)
                with self.assertRaisesRegex(ValueError, what):
                    trace.Trace(file.path)
        file = self.file()
        os.truncate(file.path, 4096 + 64 * 15)
        with self.assertRaisesRegex(ValueError, "too short"):
            trace.Trace(file.path)
        os.truncate(file.path, 0)
        with self.assertRaises(ValueError):
            trace.Trace(file.path)


class Finding(WithFiles):
    """trace.find"""

    def test_by_name(self) -> None:
        self.file("uio0-1", backstore="user_0/z0")
        self.file("uio1-2", backstore="user_0/z1")
        self.file("uio2-3", backstore="user_1/z1")
        (self.root / "uio3-4").mkdir()
        (self.root / "uio3-4" / "trace").write_bytes(b"half made")
        for name, backstore in (
            ("z0", "user_0/z0"),
            ("z1@user_1", "user_1/z1"),
            ("z1@user_0", "user_0/z1"),
            ("z1", "user_0/z1"),
        ):
            with self.subTest(name):
                found = trace.find(name)
                self.assertEqual(found.header.backstore, backstore)
                self.assertEqual(found.header.name, name.split("@")[0])
                found.close()

    def test_none(self) -> None:
        self.file()
        for name in ("z", "z00", "user_0/z0", "", "z0@user_1"):
            with self.subTest(name), self.assertRaisesRegex(MemzbcError, "no trace of a LUN"):
                trace.find(name)

    def test_replaced(self) -> None:
        file = self.file()
        opened = self.open(file)
        self.assertFalse(opened.is_replaced())
        file.path.unlink()
        self.assertTrue(opened.is_replaced())


@unittest.skipIf(os.geteuid(), "the trace is root's")
class Printing(WithFiles):
    """The forms of memzbc trace"""

    def setUp(self) -> None:
        super().setUp()
        self.trace = self.file(count=64)
        self.trace.write_16(1, 0x2000, 0x2000)
        self.trace.write_16(2, 0x2010, 0x2008, status=2, sense=(5, 0x21, 4))
        self.trace.add(3)

    def run_trace(self, **options: Any) -> str:
        """What 'memzbc trace z0' prints."""
        args = {"name": "z0", "json": False, "csv": False, "plot": None, "follow": False,
                "last": None} | options  # fmt: skip
        out = io.StringIO()
        with redirect_stdout(out), mock.patch.dict(os.environ, {"TZ": "UTC"}):
            self.assertEqual(tracing.show_trace(Namespace(**args)), 0)
        return out.getvalue()

    def test_table(self) -> None:
        lines = self.run_trace().splitlines()
        self.assertEqual(len(lines), 4)
        self.assertEqual(lines[0].split(), "NO TIME COMMAND LBA BLOCKS ZONE POINTER RESULT RUN"
                         " DONE TOOK".split())
        self.assertEqual(
            lines[2].split()[2:], "WRITE(16) 0x2010 8 2 0x2008 5/21/04 unaligned write 2 2"
            " 2.5us".split(),
        )
        self.assertEqual(lines[3].split()[2:], "TEST UNIT READY - - - - good 3 3 2.5us".split())
        self.assertRegex(lines[1].split()[1], r"^\d\d:46:40\.000001$")

    def test_table_of_many(self) -> None:
        for number in range(4, 64):
            self.trace.add(number)
        self.assertEqual(len(self.run_trace().splitlines()), 41)
        self.assertEqual(len(self.run_trace(last=5).splitlines()), 6)
        self.assertEqual(len(self.run_trace(csv=True).splitlines()), 64)
        self.assertEqual(len(self.run_trace(csv=True, last=5).splitlines()), 6)

    def test_nothing_yet(self) -> None:
        self.file("uio9-9", backstore="user_0/new")
        self.assertEqual(self.run_trace(name="new"), "no command yet\n")
        self.assertEqual(json.loads(self.run_trace(name="new", json=True))["commands"], [])

    def test_csv(self) -> None:
        rows = list(csv.DictReader(io.StringIO(self.run_trace(csv=True))))
        self.assertEqual(rows[1]["command"], "WRITE(16)")
        self.assertEqual(rows[1]["lba"], str(0x2010))
        self.assertEqual(rows[1]["sense"], "5/21/04")
        self.assertEqual(rows[1]["latency"], "2500")
        self.assertEqual(rows[1]["held"], "0")
        self.assertEqual(rows[2]["lba"], "")

    def test_json(self) -> None:
        data = json.loads(self.run_trace(json=True))
        self.assertEqual(data["name"], "z0")
        self.assertEqual(data["zone_size"], ZONE)
        second = data["commands"][1]
        self.assertEqual(
            {key: second[key] for key in ("number", "opcode", "lba", "zone", "write_pointer",
                                          "status", "sense", "outcome", "held", "arrived")},
            {"number": 2, "opcode": WRITE_16, "lba": 0x2010, "zone": 2, "write_pointer": 0x2008,
             "status": 2, "sense": "5/21/04", "outcome": "unaligned write", "held": False,
             "arrived": REALTIME + 2000},
        )  # fmt: skip
        self.assertIsNone(data["commands"][2]["lba"])


class Following(WithFiles):
    """tracing.Follower"""

    def setUp(self) -> None:
        super().setUp()
        self.trace = self.file()
        for number in (1, 2, 3):
            self.trace.add(number)
        self.seen: list[int] = []

    def emit(self, record: trace.Record) -> None:
        """Remembers."""
        self.seen.append(record.number)

    def test_when_complete(self) -> None:
        follower = tracing.Follower(self.open(self.trace), 1)
        self.assertEqual(follower.poll(self.emit), 0)
        self.assertEqual(self.seen, [3])
        self.trace.add(4, state=1)
        self.trace.add(5)
        follower.poll(self.emit)
        self.assertEqual(self.seen, [3, 5])
        self.trace.add(4, state=2)
        follower.poll(self.emit)
        self.trace.add(4)
        follower.poll(self.emit)
        follower.poll(self.emit)
        self.assertEqual(self.seen, [3, 5, 4])

    def test_nothing_of_before(self) -> None:
        follower = tracing.Follower(self.open(self.trace), 0)
        follower.poll(self.emit)
        self.assertEqual(self.seen, [])

    def test_missed(self) -> None:
        self.trace.add(4, state=1)
        follower = tracing.Follower(self.open(self.trace), 0)
        follower.poll(self.emit)
        self.trace.add(5, state=1)
        follower.poll(self.emit)
        for number in range(6, 26):
            self.trace.add(number)
        # 5 waits and is gone by now, and so are 6 to 9.
        self.assertEqual(follower.poll(self.emit), 5)
        self.assertEqual(self.seen, list(range(10, 26)))

    def test_ends_with_the_lun(self) -> None:
        def go_on(_seconds: float) -> None:
            self.trace.path.unlink(missing_ok=True)

        with mock.patch("time.sleep", go_on), redirect_stderr(io.StringIO()):
            with self.assertRaisesRegex(MemzbcError, "no trace of a LUN 'z0'"):
                tracing.follow("z0", 3, self.emit)
        self.assertEqual(self.seen, [1, 2, 3])

    def test_goes_on_with_another_length(self) -> None:
        steps = iter((True, False, False))

        def go_on(_seconds: float) -> None:
            step = next(steps, None)
            if step is None:
                raise KeyboardInterrupt
            if step:
                self.trace.path.unlink()
                self.trace = self.file(count=32)
                self.trace.add(1, opcode=WRITE_16)

        with mock.patch("time.sleep", go_on):
            self.assertEqual(tracing.follow("z0", 1, self.emit), 0)
        self.assertEqual(self.seen, [3, 1])


class Words(unittest.TestCase):
    """names"""

    def test_times(self) -> None:
        for time, text in (
            (0, "0ns"), (999, "999ns"), (1000, "1us"), (1234, "1.23us"), (80123, "80.1us"),
            (999999, "1000us"), (5_000_000, "5ms"), (1_500_000_000, "1.5s"),
            (30_000_000_000, "30s"), (3_600_000_000_000, "3600s"),
        ):  # fmt: skip
            with self.subTest(time):
                self.assertEqual(time_text(time), text)

    def test_sizes(self) -> None:
        for size, text in (
            (0, "0"), (512, "512"), (1023, "1023"), (1024, "1K"), (1536, "1.5K"),
            (1 << 20, "1M"), (1023 << 20, "1023M"), (20 << 40, "20T"),
        ):  # fmt: skip
            with self.subTest(size):
                self.assertEqual(bytes_text(size), text)

    def test_commands(self) -> None:
        for opcode, action, name in (
            (0x8A, 0, "WRITE(16)"), (0x8A, 0x18, "WRITE(16)"), (0x94, 4, "RESET WP"),
            (0x94, 0x1F, "94h/1fh"), (0x42, 0, "42h"), (0x00, None, "TEST UNIT READY"),
        ):  # fmt: skip
            with self.subTest(name):
                self.assertEqual(command_name(opcode, action), name)


if __name__ == "__main__":
    unittest.main()

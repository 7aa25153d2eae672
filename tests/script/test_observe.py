#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""What memzbc makes of zones and counters: maps, words, and pictures of them and of traces."""
import builtins
import json
import re
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

from memzbc_py import drawing, stats, trace, traceplot, zonemap, zoneplot  # noqa: E402
from memzbc_py.trace import Header, Record  # noqa: E402
from memzbc_py.units import MemzbcError  # noqa: E402
from memzbc_py.zonemap import Style, ZoneView  # noqa: E402

try:
    from matplotlib import image
except ImportError:
    image = None

ZONE = 0x1000
PLAIN = Style(80, colour=False, unicode=False)
COLOUR = Style(80, colour=True, unicode=True)


def zone(number: int | None, condition: str, written: int | None = None) -> dict[str, Any]:
    """A zone as 'memzbc zones --json' has it, of 4096 blocks."""
    start = (number or 0) * ZONE
    return {
        "zone": number, "type": "any", "condition": condition, "start": start, "length": ZONE,
        "write_pointer": None if written is None else start + written,
    }  # fmt: skip


def many(count: int, **others: int) -> list[ZoneView]:
    """Conventional zones, full ones, empty ones, and the others at given numbers."""
    views = []
    for number in range(count):
        condition = "conventional" if number < 4 else "full" if number < count // 2 else "empty"
        fill = None if number < 4 else float(condition == "full")
        views.append(ZoneView(number, condition, fill, ZONE))
    for condition, number in others.items():
        condition = condition.replace("_", " ")
        fill = None if condition in ("offline", "read only") else 0.5
        views[number] = ZoneView(number, condition, fill, ZONE)
    return views


class Maps(unittest.TestCase):
    """zonemap"""

    def test_views(self) -> None:
        views = zonemap.views(
            [
                zone(0, "not write pointer"),
                zone(None, "not write pointer"),
                zone(1, "empty", 0),
                zone(2, "implicitly opened", ZONE // 4),
                zone(3, "full", ZONE),
                zone(4, "read only"),
            ]
        )
        self.assertEqual(
            [(view.number, view.condition, view.fill) for view in views],
            [
                (0, "conventional", None), (1, "empty", 0), (2, "implicitly opened", 0.25),
                (3, "full", 1), (4, "read only", None),
            ],
        )  # fmt: skip

    def test_few_zones_have_lines(self) -> None:
        lines = zonemap.draw(many(20, implicitly_opened=12, offline=13), 512, PLAIN).splitlines()
        self.assertEqual(lines[0], " 0  conventional")
        self.assertEqual(lines[4], " 4  full               " + "#" * 30 + "  100%")
        self.assertEqual(lines[12], "12  implicitly opened  " + "#" * 15 + "." * 15 + "  50%")
        self.assertEqual(lines[13], "13  offline")
        self.assertEqual(lines[14], "14  empty              " + "." * 30 + "  0%")
        self.assertEqual(lines[20], "")
        self.assertIn("full               6", lines)
        # 6.5 of 15 zones of 2 MiB: one is offline.
        self.assertEqual(lines[-1], "written: 13M of 30M of sequential zones, 43.3%")

    def test_nearly_empty_and_nearly_full(self) -> None:
        views = [ZoneView(0, "closed", 1e-6, ZONE), ZoneView(1, "closed", 1 - 1e-6, ZONE)]
        first, second = zonemap.draw(views, 512, PLAIN).splitlines()[:2]
        self.assertIn("  #" + "." * 29 + "  ", first)
        self.assertIn("  " + "#" * 29 + ".  ", second)

    def test_a_character_a_zone(self) -> None:
        views = many(200, implicitly_opened=110, explicitly_opened=111, closed=112, read_only=113,
                     offline=114)
        lines = zonemap.draw(views, 512, PLAIN).splitlines()
        rows = lines[: lines.index("")]
        cells = "".join(row[5:] for row in rows)
        self.assertEqual(len(cells), 200)
        self.assertEqual(cells[:6], "----##")
        self.assertEqual(cells[100:116], "." * 10 + "iEcRX.")
        self.assertEqual([row[:3] for row in rows], ["  0", " 70", "140"])
        self.assertIn("a character is one zone, a row 70", lines)

    def test_75000_zones(self) -> None:
        views = many(75000, implicitly_opened=60000, offline=70000, closed=50000)
        for style in (PLAIN, COLOUR, Style(200, False, True), Style(20, False, False)):
            with self.subTest(style=style):
                text = re.sub(r"\x1b\[\d+m", "", zonemap.draw(views, 512, style))
                lines = text.splitlines()
                rows = lines[: lines.index("")]
                self.assertLessEqual(len(rows), 24)
                self.assertLessEqual(max(map(len, rows)), style.width)
                cells = "".join(row[7:] for row in rows)
                said = re.search(r"a character is (\d+) zones", text)
                assert said
                each = int(said[1])
                self.assertEqual(len(cells), -(-75000 // each))
                self.assertEqual(cells[70000 // each], "X")
                self.assertIn("offline            1", text)

    def test_what_is_rare_wins(self) -> None:
        full, empty = ZoneView(0, "full", 1.0, ZONE), ZoneView(1, "empty", 0.0, ZONE)
        half = ZoneView(1, "implicitly opened", 0.5, ZONE)
        offline = ZoneView(2, "offline", None, ZONE)
        conventional = ZoneView(3, "conventional", None, ZONE)
        closed = ZoneView(4, "closed", 0.5, ZONE)
        for zones, plain in (
            ([full, full], "#"),
            ([empty, empty], "."),
            ([full, empty], "5"),
            ([full] * 99 + [empty], "8"),
            ([empty] * 99 + [full], "1"),
            ([full, half, empty], "i"),
            ([half, offline], "X"),
            ([conventional], "-"),
            ([conventional, empty], "."),
            ([closed], "c"),
            ([closed, empty], "3"),
        ):
            with self.subTest(zones):
                self.assertEqual(zonemap.cell(zones, PLAIN), plain)
        self.assertEqual(zonemap.cell([half], COLOUR), "\x1b[32m▄\x1b[0m")
        self.assertEqual(zonemap.cell([offline], COLOUR), "\x1b[31mX\x1b[0m")

    def test_colours_on_terminals_only(self) -> None:
        for views in (many(20), many(1000)):
            self.assertNotIn("\x1b", zonemap.draw(views, 512, PLAIN))
            self.assertIn("\x1b[34m", zonemap.draw(views, 512, COLOUR))
            self.assertTrue(zonemap.draw(views, 512, PLAIN).isascii())


# As a device printed it.
SAMPLE: dict[str, Any] = json.loads(
    """{"counting":true,"seconds":3.015339,"classes":{
"read":{"commands":754,"bytes":395313152,"errors":0},
"write":{"commands":2211,"bytes":39059456,"errors":2154},
"zone":{"commands":35,"bytes":0,"errors":2},"sync":{"commands":0,"bytes":0,"errors":0},
"other":{"commands":1,"bytes":0,"errors":1}},
"commands":[{"opcode":136,"service_action":null,"commands":754,"bytes":395313152,"errors":0},
{"opcode":138,"service_action":null,"commands":2211,"bytes":39059456,"errors":2154},
{"opcode":148,"service_action":4,"commands":35,"bytes":0,"errors":2},
{"opcode":null,"service_action":null,"commands":1,"bytes":0,"errors":1}],
"statuses":[{"status":0,"count":844},{"status":2,"count":2156}],
"senses":[{"key":4,"asc":68,"ascq":0,"count":155},{"key":5,"asc":33,"ascq":4,"count":1999}],
"senses_other":2,"sequential":{"read":{"commands":754,"sequential":0,"ratio":0.0000},
"write":{"commands":2211,"sequential":128,"ratio":0.0579}},
"writes":{"unaligned":1999,"out_of_order":84,"resent":0},
"reordered":{"count":61,"now":0,"ended":{"depth":60,"time":1}},
"held":{"count":1767,"now":1,"ended":{"time":1766}},
"injected":{"medium":0,"partial":0,"sense":18,"status":0,"drop":0},
"outstanding":{"now":0,"max":52,"histogram":[{"from":0,"to":1,"count":3},
{"from":2,"to":3,"count":7},{"from":32,"to":63,"count":2928}]},
"latency_ns":{"mean":213212,"max":10300185,"histogram":[{"from":0,"to":1,"count":1},
{"from":65536,"to":131071,"count":756},{"from":262144,"to":524287,"count":1730}]},
"zones":{"now":{"empty":10,"implicitly opened":8,"explicitly opened":0,"closed":0,"read only":0,
"full":0,"offline":0},"max_open":9,"max_explicitly_opened":0,"max_implicitly_opened":9,
"min_empty":9,"emptied":8,"failed_explicit_opens":0,"read_rule_violations":0,
"write_rule_violations":1999,"transitions":[
{"from":"empty","to":"implicitly opened","count":16},
{"from":"implicitly opened","to":"empty","count":8}]},
"memory":{"data":30932992,"max":12638251008}}"""
)


class Counters(unittest.TestCase):
    """stats.stats_text"""

    def text(self, before: dict[str, Any] | None = None, **changes: Any) -> str:
        """The sample in words, with single blanks."""
        return re.sub(" +", " ", stats.stats_text("z0", SAMPLE | changes, before))

    def test_words(self) -> None:
        text = self.text()
        for line in (
            "z0: counted for 3.0 s",
            " read 754 377M 0",
            " WRITE(16) 2211 37.2M 2154 errors",
            " RESET WP 35 2 errors",
            " unsupported 1 1 errors",
            " check condition 2156",
            " 5/21/04 unaligned write 1999",
            " other sense data 2",
            " sequential writes 5.8% 128 of 2211",
            " writes out of order 84",
            " writes held 1767 1 now",
            " 1766 time over",
            " 60 overtaken as often as wanted",
            " errors injected 18 sense",
            " implicitly opened 8",
            " open, at most so far 9 (8 now)",
            " empty -> implicitly opened 16",
            "outstanding commands: 0 now, most 52",
            " 1 3 #",
            " 2 to 3 7 #",
            " 32 to 63 2928 ##############################",
            "time to the answer: mean 213us, most 10.3ms",
            " below 2ns 1 #",
            " below 524us 1730 ##############################",
            "memory for data: 29.5M of 11.8G",
        ):
            self.assertIn(f"{line}\n", f"{text}\n", line)
        self.assertNotIn("/s", text)
        # The more frequent sense data first
        self.assertLess(text.index("5/21/04"), text.index("4/44/00"))

    def test_no_ratio_without_commands(self) -> None:
        none = {"commands": 0, "sequential": 0, "ratio": None}
        self.assertIn(
            " sequential reads - 0 of 0", self.text(sequential={"read": none, "write": none})
        )

    def test_not_counting(self) -> None:
        self.assertIn("not counting ('memzbc set z0 stats=1'", self.text(counting=False))

    def test_rates(self) -> None:
        before = json.loads(json.dumps(SAMPLE))
        before["seconds"] -= 2
        before["classes"]["write"]["commands"] -= 1000
        before["classes"]["write"]["bytes"] -= 4 << 20
        text = self.text(before)
        self.assertIn(" write 2211 37.2M 2154 500/s 2M/s\n", text)
        self.assertIn(" read 754 377M 0\n", text)
        # The counters were reset in between.
        before["seconds"] = SAMPLE["seconds"] + 1
        self.assertNotIn("/s", self.text(before))


HEADER = Header(
    count=65536, arrivals=0, first=1, clock=0, realtime=0, capacity=20 * ZONE, zone_size=ZONE,
    zone_cap=ZONE, conv=2, conv_end=0, lba_size=512, backstore="user_0/z0", size=4096,
    record_size=64,
)  # fmt: skip


def write(number: int, lba: int | None, **fields: Any) -> Record:
    """A WRITE(16) of 8 blocks that went well, at the write pointer."""
    values: dict[str, Any] = {
        "number": number, "state": 3, "arrived": number * 1000, "completed": number * 1000 + 500,
        "opcode": 0x8A, "action": 0, "lba": lba, "blocks": 8,
        "zone": None if lba is None else lba // ZONE, "write_pointer": lba,
        "execution": number, "completion": number, "tag": 0, "flags": 0, "status": 0,
        "sense": None, "reordered": 0, "held": 0, "lost": False,
    }  # fmt: skip
    return Record(**(values | fields))


class Orders(unittest.TestCase):
    """What the picture of a trace tells of order and of write pointers"""

    # Arrivals 1, 2, 3, 4; 2 is executed last but one, 3 before it.
    RECORDS = [
        write(1, 2 * ZONE),
        write(2, 2 * ZONE + 16, write_pointer=2 * ZONE + 16, execution=3),
        write(3, 2 * ZONE + 8, execution=2),
        write(4, 2 * ZONE + 24),
    ]

    def test_displacements(self) -> None:
        self.assertEqual(traceplot.displacements(self.RECORDS), {1: 0, 2: 1, 3: -1, 4: 0})

    def test_executed_at(self) -> None:
        self.assertEqual(traceplot.executed_at(self.RECORDS), {1: 1, 3: 3, 2: 3, 4: 4})

    def test_write_pointer(self) -> None:
        scale = traceplot.Scale(HEADER, self.RECORDS)
        steps = traceplot.pointer_steps(scale, self.RECORDS)[2]
        at = [(x, round((y - 0.06) / 0.88 * 32)) for x, y in steps]
        self.assertEqual(
            at, [(1, 0), (1, 8), (3, 8), (3, 16), (3, 16), (3, 24), (4, 24), (4, 32)]
        )

    def test_bands(self) -> None:
        few = traceplot.Scale(HEADER, self.RECORDS)
        self.assertEqual(few.bands[2], traceplot.Band(2, 2 * ZONE, 2 * ZONE + 32, 0))
        more = traceplot.Scale(HEADER, [write(i, i * ZONE) for i in range(20)])
        self.assertEqual(len(more.bands), 20)
        self.assertFalse(more.own_scales)
        header = replace(HEADER, capacity=75000 * ZONE)
        many_zones = traceplot.Scale(header, [write(i, i * ZONE) for i in range(100)])
        self.assertEqual(many_zones.bands, {})
        self.assertEqual(many_zones.y(3 * ZONE + ZONE // 2, 3), 3.5)


class WithoutMatplotlib(unittest.TestCase):
    """Pictures say what is missing"""

    def test_message(self) -> None:
        real = builtins.__import__

        def fails(name: str, *args: Any, **kwargs: Any) -> Any:
            if name.startswith("matplotlib"):
                raise ImportError(name)
            return real(name, *args, **kwargs)

        with mock.patch.object(builtins, "__import__", fails):
            with self.assertRaisesRegex(MemzbcError, "apt-get install python3-matplotlib"):
                drawing.pyplot()


@unittest.skipUnless(image, "needs matplotlib")
class Pictures(unittest.TestCase):
    """Files that are pictures, with the colours of what is in them"""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def colours(self, path: Path) -> set[str]:
        """Colours of which a picture has at least 4 pixels."""
        pixels = image.imread(path)[:, :, :3]
        counts: dict[str, int] = {}
        for red, green, blue in (255 * pixels.reshape(-1, 3)).round().astype(int).tolist():
            name = f"#{red:02x}{green:02x}{blue:02x}"
            counts[name] = counts.get(name, 0) + 1
        return {name for name, count in counts.items() if count >= 4}

    def test_zones(self) -> None:
        for count in (20, 1000):
            with self.subTest(count):
                views = many(count, implicitly_opened=count // 2 + 1, offline=count - 1)
                path = self.directory / f"{count}.png"
                zoneplot.draw("z0", views, 512, path)
                colours = self.colours(path)
                for condition in ("conventional", "empty", "full", "offline"):
                    self.assertIn(zoneplot.COLOURS[condition], colours, condition)
                self.assertNotIn(zoneplot.COLOURS["explicitly opened"], colours)

    def test_one_bad_zone_of_75000_is_seen(self) -> None:
        path = self.directory / "many.png"
        zoneplot.draw("z0", many(75000, offline=70000), 512, path)
        self.assertIn(zoneplot.COLOURS["offline"], self.colours(path))

    def test_trace(self) -> None:
        bad = {"status": 2, "sense": (5, 0x21, 4)}
        header = replace(HEADER, capacity=75000 * ZONE)
        for zones in (1, 20, 500):
            records = [write(i, (2 + i % zones) * ZONE + i // zones * 8) for i in range(1, 1000)]
            records.append(write(1000, 2 * ZONE + 64, **bad))
            records.append(write(1001, 2 * ZONE, opcode=0x94, action=4, blocks=1))
            records.append(write(1002, None, opcode=0))
            with self.subTest(zones):
                path = self.directory / f"{zones}.png"
                traceplot.draw(header, records, path)
                colours = self.colours(path)
                self.assertIn(traceplot.COLOURS[trace.GOOD_ONE], colours)
                self.assertIn(traceplot.COLOURS[trace.UNALIGNED], colours)
                self.assertNotIn(traceplot.COLOURS[trace.HELD_ONE], colours)

    def test_svg(self) -> None:
        path = self.directory / "trace.svg"
        traceplot.draw(HEADER, Orders.RECORDS, path)
        text = path.read_text()
        for word in ("LUN z0: commands 1 to 4", "zone 2", "0x2000 start", "write pointer",
                     "good: 4"):
            self.assertIn(word, text)

    def test_nothing_with_blocks(self) -> None:
        traceplot.draw(HEADER, [write(1, None, opcode=0)], self.directory / "none.png")
        with self.assertRaisesRegex(MemzbcError, "no command yet"):
            traceplot.draw(HEADER, [], self.directory / "empty.png")

    def test_place_that_cannot_be_written(self) -> None:
        with self.assertRaisesRegex(MemzbcError, "cannot write .*nowhere"):
            zoneplot.draw("z0", many(4), 512, self.directory / "nowhere" / "a.png")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""The parts of memzbc that need no kernel: text to values, warnings, REPORT ZONES data, usage."""
import errno
import io
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr
from pathlib import Path
from unittest import mock

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

from memzbc_py import cli, keys, scsi, show, units  # noqa: E402

BUILD = Path(os.environ.get("MEMZBC_BUILD", SCRIPTS.parent / "build"))


class Sizes(unittest.TestCase):
    """parse_size and format_size"""

    def test_powers_of_1024(self) -> None:
        for text, size in (
            ("0", 0),
            ("4096", 4096),
            ("1K", 1024),
            ("96M", 100663296),
            ("96m", 100663296),
            ("16G", 17179869184),
            ("20T", 21990232555520),
        ):
            with self.subTest(text):
                self.assertEqual(units.parse_size(text), size)

    def test_refused(self) -> None:
        for text in ("", "M", "1.5G", "-1", "1P", "1GB", "1 G", "0x10", "1_000", "١"):
            with self.subTest(text), self.assertRaisesRegex(ValueError, "K, M, G, T"):
                units.parse_size(text)

    def test_shortest_exact_text(self) -> None:
        for size, text in (
            (0, "0"),
            (512, "512"),
            (1536, "1536"),
            (100663296, "96M"),
            (21990232555520, "20T"),
            (2251799813685248, "2048T"),
            (4294967296 + 512, "4294967808"),
        ):
            with self.subTest(size):
                self.assertEqual(units.format_size(size), text)


class Names(unittest.TestCase):
    """check_name and iqn_of"""

    def test_accepted(self) -> None:
        for name in ("z0", "Z_0.a-b", "0", "a" * 64):
            self.assertEqual(units.check_name(name), name)

    def test_refused(self) -> None:
        for name in ("", "-a", ".", "..", "a/b", "a b", "a,b", "a:b", "ä", "a" * 65, "a\n"):
            with self.subTest(name), self.assertRaisesRegex(ValueError, "1 to 64 letters"):
                units.check_name(name)

    def test_iqn_has_neither_capitals_nor_underscores(self) -> None:
        self.assertEqual(units.iqn_of("Z_0"), "iqn.2003-01.org.linux-iscsi.memzbc:z-0")


class Portals(unittest.TestCase):
    """parse_portal"""

    def test_forms(self) -> None:
        for text, portal in (
            ("10.0.0.1", "10.0.0.1:3260"),
            ("10.0.0.1:3261", "10.0.0.1:3261"),
            ("::1", "[::1]:3260"),
            ("[::1]", "[::1]:3260"),
            ("[fe80::1]:99", "[fe80::1]:99"),
            ("0.0.0.0", "0.0.0.0:3260"),
            ("[::]:3260", "[::]:3260"),
        ):
            with self.subTest(text):
                self.assertEqual(str(units.parse_portal(text)), portal)

    def test_refused(self) -> None:
        for text in (
            "",
            "localhost",
            "10.0.0.256",
            "10.0.0.1:0",
            "10.0.0.1:65536",
            "10.0.0.1:",
            "[10.0.0.1]",
            "[::1",
            "[::1]:x",
            "::1:3260:",
        ):
            with self.subTest(text), self.assertRaisesRegex(ValueError, "ADDRESS"):
                units.parse_portal(text)


class Logins(unittest.TestCase):
    """login_commands"""

    def test_all_addresses_where_they_cannot_be_told(self) -> None:
        with mock.patch("subprocess.run", side_effect=FileNotFoundError):
            lines = show.login_commands("iqn.x", units.parse_portal("0.0.0.0:99"))
        self.assertEqual(len(lines), 1)
        self.assertIn(" -p 127.0.0.1:99 --login", lines[0])


class Settings(unittest.TestCase):
    """parse_settings, join_config and split_config"""

    def test_there_and_back(self) -> None:
        settings = units.parse_settings(["zone_size=96M", "conv=4"])
        self.assertEqual(units.join_config(settings), "zone_size=96M/conv=4")
        self.assertEqual(units.split_config("zone_size=96M/conv=4"), settings)
        self.assertEqual(units.join_config({}), "")
        self.assertEqual(units.split_config(""), {})

    def test_refused(self) -> None:
        for setting, why in (
            ("zone_size", "KEY=VALUE"),
            ("=1", "KEY=VALUE"),
            ("conv=", "KEY=VALUE"),
            ("conv=1,2", "','"),
            ("conv=1/2", "'/'"),
            ("a=b:c", "':'"),
            ("a=b c", "' '"),
            ("conv=4;tcmur_cmd_time_out=5", "';'"),
            ("a='b'", "\"?'"),
        ):
            with self.subTest(setting), self.assertRaisesRegex(ValueError, why):
                units.parse_settings([setting])

    def test_twice(self) -> None:
        with self.assertRaisesRegex(ValueError, "conv: given twice"):
            units.parse_settings(["conv=1", "conv=2"])

    def test_length(self) -> None:
        # "memzbc/" and "k=" are 9 of the 255 characters.
        self.assertEqual(len(units.join_config({"k": "x" * 246})), 248)
        with self.assertRaisesRegex(ValueError, "256 characters.*at most 255"):
            units.join_config({"k": "x" * 247})


class Warnings(unittest.TestCase):
    """What stock Linux refuses is said, with the way out"""

    @staticmethod
    def warnings(zone_size: str, zone_cap: str, urswrz: int = 1) -> list[str]:
        return keys.kernel_warnings(
            {
                "zone_size": units.parse_size(zone_size),
                "zone_cap": units.parse_size(zone_cap),
                "urswrz": urswrz,
            }
        )

    def test_fit_for_linux(self) -> None:
        for zone_size, zone_cap in (("256M", "256M"), ("128M", "96M"), ("1T", "512")):
            with self.subTest(zone_size):
                self.assertEqual(self.warnings(zone_size, zone_cap), [])

    def test_zone_size(self) -> None:
        for zone_size, zone_cap, way_out in (
            ("96M", "96M", "zone_size=128M zone_cap=96M"),
            ("96M", "64M", "zone_size=128M zone_cap=64M"),
            ("129K", "129K", "zone_size=256K zone_cap=129K"),
        ):
            with self.subTest(zone_size):
                warnings = self.warnings(zone_size, zone_cap)
                self.assertEqual(len(warnings), 1)
                self.assertIn(way_out, warnings[0])
                self.assertIn("/dev/sgN", warnings[0])

    def test_urswrz(self) -> None:
        warnings = self.warnings("96M", "96M", urswrz=0)
        self.assertEqual(len(warnings), 2)
        self.assertIn("urswrz=0", warnings[1])


def descriptor(kind: int, condition: int, length: int, start: int, pointer: int) -> bytes:
    """A zone descriptor, byte for byte as ZBC lays it out."""
    return struct.pack(">BB6xQQQ32x", kind, condition << 4, length, start, pointer)


class Zones(unittest.TestCase):
    """parse_zones and sense_text"""

    REPORT = (
        struct.pack(">IB3xQQ40x", 3 * 64, 0, 0xFFFF, 0x8000)
        + descriptor(1, 0x0, 0x8000, 0, 0xFFFFFFFFFFFFFFFF)
        + descriptor(2, 0x2, 0x6C00, 0x8000, 0x8008)
        + descriptor(5, 0x0, 0x1400, 0xEC00, 0xFFFFFFFFFFFFFFFF)
    )

    def test_descriptors(self) -> None:
        self.assertEqual(
            scsi.parse_zones(self.REPORT),
            (
                0xFFFF,
                [
                    scsi.Zone(1, 0, 0x8000, 0, None),
                    scsi.Zone(2, 2, 0x6C00, 0x8000, 0x8008),
                    scsi.Zone(5, 0, 0x1400, 0xEC00, None),
                ],
            ),
        )

    def test_only_whole_descriptors(self) -> None:
        self.assertEqual(len(scsi.parse_zones(self.REPORT[:-1])[1]), 2)
        self.assertEqual(len(scsi.parse_zones(self.REPORT + bytes(64))[1]), 3)

    def test_sense(self) -> None:
        fixed = bytes([0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x21, 4, 0, 0, 0, 0])
        self.assertEqual(scsi.sense_text(fixed), "5/21/04")
        self.assertEqual(scsi.sense_text(bytes([0x72, 7, 0x27, 7, 0, 0, 0, 0])), "7/27/07")


class CommandLine(unittest.TestCase):
    """Usage errors and refusals that come before anything is touched"""

    def memzbc(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [SCRIPTS / "memzbc", *args],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"MEMZBC_LIBEXEC": str(BUILD)},
        )

    def test_usage(self) -> None:
        for args, why in (
            ((), "COMMAND"),
            (("fly",), "fly"),
            (("create", "z0"), "--size"),
            (("create", "a b", "--size", "4G"), "name 'a b'"),
            (("create", "z0", "--size", "4X"), "size '4X'"),
            (("create", "z0", "--size", "4G", "--fast"), "--fast"),
            (("create", "z0", "--size", "4G", "--portal", "1.2.3.4"), "--portal needs --iscsi"),
            (("create", "z0", "--size", "4G", "--iscsi", "--portal", "x"), "portal 'x'"),
            (("zones",), "NAME"),
            (("zone", "z0"), "FIRST[-LAST]"),
            (("zone", "z0", "4"), "CONDITION"),
            (("delete", "a", "b"), "b"),
        ):
            with self.subTest(args):
                done = self.memzbc(*args)
                self.assertEqual(done.returncode, 2)
                self.assertIn(why, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_every_command_explains_itself(self) -> None:
        commands = re.findall(r"(?m)^    ([a-z-]+)", self.memzbc("--help").stdout)
        self.assertIn("zone", commands)
        for command in commands:
            with self.subTest(command):
                done = self.memzbc(command, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(f"usage: memzbc {command} ", done.stdout)

    @unittest.skipIf(os.geteuid(), "create wants root")
    def test_refused_before_anything_is_made(self) -> None:
        for args, why in (
            (("zone_size",), "expected KEY=VALUE"),
            (("conv=1", "conv=2"), "conv: given twice"),
            (("conv=" + "1" * 250,), "at most 255"),
            (("color=red",), "unknown key 'color'"),
            (("conv=many",), "conv=many: no whole number; accepted: 0 to"),
            (("zone_size=96M", "conv=43"), "conv=43"),
            (("--size", "4097"), "size of 4097 bytes"),
            (("--size", "0"), "size of 0 bytes"),
        ):
            with self.subTest(args):
                done = self.memzbc("create", "z0", "--size", "4G", *args)
                self.assertEqual(done.returncode, 1)
                self.assertIn(why, done.stderr)

    def test_help_tells_what_memzbc_config_tells(self) -> None:
        told = subprocess.run(
            [BUILD / "memzbc-config", "--json"], capture_output=True, text=True, check=True
        )
        table = json.loads(told.stdout)
        self.assertIn("zone_size", [key["name"] for key in table])
        text = self.memzbc("help").stdout
        for key in table:
            self.assertRegex(text, rf"(?m)^{key['name']} ")
        self.assertEqual(json.loads(self.memzbc("help", "--json").stdout), table)
        self.assertEqual(json.loads(self.memzbc("help", "--json", "model").stdout), table[0])
        self.assertIn("256M", self.memzbc("help", "zone_size").stdout)
        self.assertEqual(self.memzbc("help", "color").returncode, 1)

    def test_system_errors_are_told(self) -> None:
        error = OSError(errno.EACCES, "Permission denied", "/dev/sg0")
        words = mock.patch.object(sys, "argv", ["memzbc", "help"])
        with words, mock.patch.object(keys, "load_keys", side_effect=error):
            with redirect_stderr(io.StringIO()) as told:
                self.assertEqual(cli.main(), 1)
        self.assertEqual(told.getvalue(), "memzbc: [Errno 13] Permission denied: '/dev/sg0'\n")

    def test_without_memzbc_config(self) -> None:
        with tempfile.TemporaryDirectory() as nothing:
            done = subprocess.run(
                [SCRIPTS / "memzbc", "help"],
                capture_output=True,
                text=True,
                check=False,
                env=os.environ | {"MEMZBC_LIBEXEC": nothing},
            )
        self.assertEqual(done.returncode, 1)
        self.assertIn("build or install memzbc", done.stderr)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""What memzbc sends to control sockets, and what it makes of the answers."""
import io
import json
import socket
import sys
import tempfile
import threading
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

from memzbc_py import cli, control  # noqa: E402
from memzbc_py.units import MemzbcError  # noqa: E402


class Paths(unittest.TestCase):
    """socket_path: the same names as the plugin's (see memzbc/control.h)"""

    def test_names(self) -> None:
        for name, file in (
            ("z0", "z0.sock"),
            ("My-disk_0.x", "My-disk_0.x.sock"),
            ("..", "%2E..sock"),
            (".hidden", "%2Ehidden.sock"),
            ("a b", "a%20b.sock"),
            ("a%20b", "a%2520b.sock"),
            ("ä\n", "%C3%A4%0A.sock"),
            ("z0@user_12", "z0@user_12.sock"),
            ("z0@elsewhere", "z0%40elsewhere.sock"),
        ):
            with self.subTest(name):
                self.assertEqual(control.socket_path(name), Path("/run/memzbc", file))


class Served(unittest.TestCase):
    """Commands with a server that gives answers in turn"""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        patch = mock.patch.object(control, "DIRECTORY", Path(directory.name))
        patch.start()
        self.addCleanup(patch.stop)
        self.requests: list[str] = []
        self.answers: list[bytes] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.listener.close)
        self.listener.bind(str(control.socket_path("z0")))
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        """Answers one request a connection, until the listener is closed."""
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            with connection, connection.makefile("rb") as lines:
                self.requests.append(lines.readline().decode())
                connection.sendall(self.answers.pop(0))

    def run_memzbc(self, *words: str) -> str:
        """What memzbc prints with this command line."""
        out = io.StringIO()
        with mock.patch.object(sys, "argv", ["memzbc", *words]), redirect_stdout(out):
            args = cli.parse_arguments()
            self.assertEqual(args.run(args), 0)
        return out.getvalue()

    def test_set(self) -> None:
        self.answers = [b'{"ok":true,"settings":{"reorder":16,"hold":0}}\n'] * 2
        self.assertEqual(
            self.run_memzbc("set", "z0", "reorder=16", "hold=0"), "z0: reorder=16 hold=0\n"
        )
        self.assertEqual(self.requests, ["set reorder=16 hold=0\n"])
        result = json.loads(self.run_memzbc("set", "z0", "reorder=16", "--json", "hold=0"))
        self.assertEqual(result, {"name": "z0", "settings": {"reorder": 16, "hold": 0}})
        self.assertEqual(self.requests[1], "set reorder=16 hold=0\n")

    def test_get(self) -> None:
        get = b'{"ok":true,"settings":{"cache":1048576}}\n'
        self.answers = [get, b'{"ok":true,"config":"reorder=0/cache=1M"}\n'] * 2
        self.assertEqual(self.run_memzbc("get", "z0", "cache"), "1M\n")
        self.assertEqual(self.requests, ["get cache\n", "config\n"])
        self.assertEqual(self.run_memzbc("get", "z0"), "reorder=0\ncache=1M\n")

    def test_zone(self) -> None:
        self.answers = [b'{"ok":true,"zones":3}\n', b'{"ok":true,"zones":1}\n']
        self.assertEqual(
            self.run_memzbc("zone", "z0", "4-6", "offline"), "z0: 3 zones: offline\n"
        )
        self.assertEqual(
            self.run_memzbc("zone", "z0", "4", "closed", "wp=8"), "z0: 1 zone: closed wp=8\n"
        )
        self.assertEqual(self.requests, ["zone 4-6 offline\n", "zone 4 closed wp=8\n"])

    def test_power_loss(self) -> None:
        self.answers = [b'{"ok":true,"writes":3,"bytes":12288}\n'] * 2
        self.assertEqual(self.run_memzbc("power-loss", "z0"), "z0: 3 writes vanished, 12K\n")
        result = json.loads(self.run_memzbc("power-loss", "z0", "--json", "3"))
        self.assertEqual(result, {"name": "z0", "writes": 3, "bytes": 12288})
        self.assertEqual(self.requests, ["power-loss\n", "power-loss 3\n"])

    def test_refusal_is_told(self) -> None:
        self.answers = [b'{"ok":false,"error":"hold=many: no whole number"}\n']
        with self.assertRaisesRegex(MemzbcError, "^hold=many: no whole number$"):
            self.run_memzbc("set", "z0", "hold=many")

    def test_connection_lost(self) -> None:
        for answer in (b"", b'{"ok":true,'):
            self.answers = [answer]
            with self.subTest(answer), self.assertRaisesRegex(MemzbcError, "went away"):
                self.run_memzbc("get", "z0")

    def test_words_stay_words(self) -> None:
        for word in ("4 offline", "4\nset", "4\tfull", ""):
            with self.subTest(word), self.assertRaisesRegex(MemzbcError, "no word"):
                self.run_memzbc("zone", "z0", word, "full")
        with self.assertRaisesRegex(MemzbcError, "hold"):
            self.run_memzbc("set", "z0", "hold=1 reorder=2")
        self.assertEqual(self.requests, [])


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""The host's end of scripts/vm: starts QEMU, asks the guest to run one command, passes its output
and exit status through, and ends QEMU.

Four virtio-serial ports join the two: the terminal (only with --terminal), standard output,
standard error, and control. On control, the host sends one line, the request, and the guest answers
with the exit status. The end of each output is marked by a random text: only in-band can the host
know that it has everything, as QEMU does not tell when a port is closed or drained.

Everything goes through sockets and pipes that end with this process: no file is made.
"""

import argparse
import base64
import collections
import os
import pathlib
import re
import secrets
import selectors
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import tty
from types import FrameType
from typing import BinaryIO, Callable, NoReturn, Optional

FAILED = 125
TIMED_OUT = 124
LOG_LINES = 80
CHUNK = 65536
ESCAPE = b"\x1d"  # Ctrl-]
GUEST_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
KERNEL_ARGUMENTS = ("console=ttyS0 quiet panic=-1 mitigations=off nokaslr audit=0 apparmor=0 "
                    "cryptomgr.notests tsc=reliable no_timer_check rcupdate.rcu_expedited=1 "
                    "rdinit=/init")
# Under emulation the kernel may measure the TSC wrong when the machine is busy, and its clock would
# then run away. This one need not be measured.
EMULATION_ARGUMENTS = "clocksource=acpi_pm"
# Holds this host's processors awake for as long as it is open with a latency of 0 in it
# (the kernel's Documentation/power/pm_qos_interface.rst).
CPU_LATENCY = "/dev/cpu_dma_latency"


class Ended(Exception):
    """The machine is to be ended, with this exit status; `why` goes to the user."""

    def __init__(self, status: int, why: str = "") -> None:
        super().__init__(why)
        self.status = status
        self.why = why


def say(text: str) -> None:
    """Tell the user on standard error."""
    os.write(2, f"vm: {text}\n".encode(errors="surrogateescape"))


def write_all(fd: int, data: bytes) -> None:
    """Write all of data; a reader who went away ends the machine as it would end a command."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view):]
    except BrokenPipeError:
        raise Ended(128 + signal.SIGPIPE) from None


class Output:
    """One output of the command: passes bytes on until the mark comes."""

    def __init__(self, fd: int, mark: bytes) -> None:
        self.fd = fd
        self.mark = mark
        self.kept = b""
        self.complete = False

    def feed(self, data: bytes) -> None:
        """Pass data on, but keep back what may be the beginning of the mark."""
        data = self.kept + data
        place = data.find(self.mark)
        if place >= 0:
            self.complete = True
            keep = len(data) - place
        else:
            longest = min(len(self.mark) - 1, len(data))
            keep = next((n for n in range(longest, 0, -1) if data.endswith(self.mark[:n])), 0)
        self.kept = data[len(data) - keep:]
        write_all(self.fd, data[:len(data) - keep])

    def flush(self) -> None:
        """The mark will not come any more."""
        if not self.complete:
            write_all(self.fd, self.kept)


class Log:
    """The machine's console and QEMU's own messages: the last lines, and all of it in a file."""

    def __init__(self, path: Optional[str]) -> None:
        self.tail: collections.deque[bytes] = collections.deque([b""], maxlen=LOG_LINES)
        self.file = open(path, "wb", buffering=0) if path else None

    def feed(self, data: bytes) -> None:
        """Add data."""
        if self.file:
            self.file.write(data)
        first, *rest = data.replace(b"\r", b"").split(b"\n")
        self.tail[-1] += first
        self.tail.extend(rest)

    def show(self) -> None:
        """Print the last lines for the user."""
        lines = [line for line in self.tail if line.strip()]
        if lines:
            say("the last lines of the machine's console:")
            os.write(2, b"".join(b"    " + line + b"\n" for line in lines))


class Machine:
    """QEMU and the sockets to it."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.mark = secrets.token_hex(16).encode()
        self.outputs = [Output(1, self.mark), Output(2, self.mark)]
        self.log = Log(arguments.log)
        self.answer = b""
        self.sockets: dict[str, socket.socket] = {}
        self.selector = selectors.DefaultSelector()
        self.process: Optional[subprocess.Popen[bytes]] = None
        self.awake: Optional[BinaryIO] = None

    def start(self) -> None:
        """Start QEMU and send the request."""
        names = ["out", "err", "control", "log"] + ["terminal"] * self.arguments.terminal
        theirs = {}
        for name in names:
            self.sockets[name], theirs[name] = socket.socketpair()
        # A session of its own keeps the terminal's Ctrl-C away; setpriv has the kernel end QEMU
        # should this process be killed.
        fds = {name: end.fileno() for name, end in theirs.items()}
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *self.qemu(fds)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            pass_fds=list(fds.values()), start_new_session=True)
        for end in theirs.values():
            end.close()
        self.sockets["control"].sendall(base64.b64encode(self.request()) + b"\n")
        if self.arguments.steady:
            self.keep_awake()
            self.pin_processors()

    def keep_awake(self) -> None:
        """Have no processor of this host sleep, where the host lets us."""
        try:
            self.awake = open(CPU_LATENCY, "wb", buffering=0)
            self.awake.write(struct.pack("=i", 0))
        except OSError as error:
            say(f"this host's processors may sleep: {error}")

    def pin_processors(self) -> None:
        """Give each processor of the machine one of this host's: the scheduler may put two on one
        for milliseconds."""
        assert self.process
        hosts = sorted(os.sched_getaffinity(0))
        while len(threads := self.processors()) < int(self.arguments.cpus):
            if self.process.poll() is not None:
                return  # run() tells why
            time.sleep(0.01)
        for number, thread in threads.items():
            os.sched_setaffinity(thread, {hosts[number % len(hosts)]})

    def processors(self) -> dict[int, int]:
        """QEMU's threads of the machine's processors, named "CPU 0/TCG" and so on."""
        assert self.process
        threads = {}
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            processor = re.match(r"CPU (\d+)/", (task / "comm").read_text(errors="replace"))
            if processor:
                threads[int(processor[1])] = int(task.name)
        return threads

    def qemu(self, fds: dict[str, int]) -> list[str]:
        """QEMU's command line."""
        given = self.arguments
        line = ["qemu-system-x86_64", "-machine", "q35", "-nodefaults", "-no-user-config",
                "-display", "none", "-no-reboot", "-smp", str(given.cpus), "-m", given.memory]
        kvm = given.accel == "kvm"
        line += (["-accel", "kvm", "-cpu", "host"] if kvm
                 else ["-accel", "tcg,thread=multi", "-cpu", "max"])
        if given.steady:
            line += ["-name", "memzbc,debug-threads=on"]
        words = [KERNEL_ARGUMENTS, "" if kvm else EMULATION_ARGUMENTS, given.append]
        line += ["-kernel", given.kernel, "-initrd", given.initrd,
                 "-append", " ".join(filter(None, words)),
                 "-device", "virtio-rng-pci", "-device", "virtio-serial-pci"]
        for name, fd in fds.items():
            line += ["-chardev", f"socket,id={name},fd={fd}"]
        line += ["-serial", "chardev:log"]
        if given.terminal:
            line += ["-device", "virtconsole,nr=0,chardev=terminal"]
        for number, name in enumerate(("out", "err", "control"), start=1):
            line += ["-device", f"virtserialport,nr={number},chardev={name},name={name}"]
        line += self.shared("root", "/", ",readonly=on")
        for number, directory in enumerate(given.share):
            line += self.shared(f"share{number}", directory, "")
        return line

    @staticmethod
    def shared(tag: str, directory: str, options: str) -> list[str]:
        """The part of QEMU's command line that shares a directory; a comma in it is doubled."""
        path = directory.replace(",", ",,")
        options = f"security_model=none,multidevs=remap{options}"
        return ["-fsdev", f"local,id={tag},path={path},{options}",
                "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]

    def request(self) -> bytes:
        """What the guest is to do: shell assignments, and the command as a script."""
        given = self.arguments
        columns, rows = shutil.get_terminal_size()
        values = {
            "mark": self.mark.decode(), "current": os.getcwd(), "repo": given.repo,
            "build": given.build, "modules": given.modules,
            "terminal": "yes" if given.terminal else "", "rows": str(rows), "columns": str(columns),
            "shares": "\n".join(f"share{n} {d}" for n, d in enumerate(given.share)),
        }
        command = (f"cd {shlex.quote(os.getcwd())} || exit {FAILED}\n"
                   f"exec /usr/bin/env -i {shlex.join(self.environment() + given.command)}\n")
        text = "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
        text += f"printf %s {shlex.quote(command)} >/run/vm/command\n"
        return os.fsencode(text)

    def environment(self) -> list[str]:
        """The command's environment."""
        given = self.arguments
        values = {"PATH": GUEST_PATH, "HOME": "/root", "USER": "root", "LOGNAME": "root",
                  "SHELL": "/bin/bash", "TERM": os.environ.get("TERM", "dumb"),
                  "LC_ALL": "C.UTF-8", "MEMZBC_VM": "1", "MEMZBC_BUILD": given.build}
        for setting in given.env:
            name, equals, value = setting.partition("=")
            if equals or name in os.environ:
                values[name] = value if equals else os.environ[name]
        return [f"{name}={value}" for name, value in values.items()]

    def run(self) -> int:
        """Serve the sockets until the command has ended; return its exit status."""
        assert self.process and self.process.stdout
        feeds: dict[str, Callable[[bytes], None]] = {
            "out": self.outputs[0].feed, "err": self.outputs[1].feed,
            "terminal": self.outputs[0].feed, "control": self.take_answer, "log": self.log.feed}
        sources = {end.fileno(): feeds[name] for name, end in self.sockets.items()}
        sources[self.process.stdout.fileno()] = self.log.feed
        if self.arguments.terminal:
            self.selector.register(0, selectors.EVENT_READ, self.take_keys)
        for source, feed in sources.items():
            self.selector.register(source, selectors.EVENT_READ, feed)
        left = len(sources)
        while left:
            for key, _ in self.selector.select():
                data = read_some(key.fd)
                if data:
                    key.data(data)
                else:
                    self.selector.unregister(key.fd)
                    left -= key.fd != 0
                if self.command_ended():
                    return int(self.answer)
        for output in self.outputs:
            output.flush()
        raise Ended(FAILED, "the machine stopped before the command ended")

    def command_ended(self) -> bool:
        """Whether the status and all output are here."""
        return self.answer.endswith(b"\n") and (
            self.arguments.terminal or all(output.complete for output in self.outputs))

    def take_answer(self, data: bytes) -> None:
        """The guest's words on the control port."""
        self.answer += data

    def take_keys(self, data: bytes) -> None:
        """What the user types, for the guest's terminal."""
        if ESCAPE in data:
            raise Ended(128 + signal.SIGTERM, "switched off by Ctrl-]")
        self.sockets["terminal"].sendall(data)

    def stop(self) -> None:
        """End QEMU."""
        if self.process:
            self.process.kill()
            self.process.wait()
        if self.awake:
            self.awake.close()


def read_some(fd: int) -> bytes:
    """Read what is there; a connection that was cut has ended."""
    try:
        return os.read(fd, CHUNK)
    except OSError:
        return b""


def on_signal(number: int, _frame: Optional[FrameType]) -> NoReturn:
    """A signal ends the machine."""
    if number == signal.SIGALRM:
        raise Ended(TIMED_OUT, "time-out: the command had not ended in time")
    raise Ended(128 + number)


def positive(text: str) -> float:
    """A number of seconds above 0."""
    value = float(text)
    if not 0 < value < 1e8:
        raise ValueError
    return value


def parse_arguments() -> argparse.Namespace:
    """Read the command line; scripts/vm explains the options to the user."""
    parser = argparse.ArgumentParser(description="Run one command in a virtual machine.")
    for name in ("accel", "cpus", "memory", "kernel", "initrd", "repo", "build"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--timeout", type=positive, required=True)
    for name in ("append", "modules", "log"):
        parser.add_argument(f"--{name}", default="")
    for name in ("share", "env"):
        parser.add_argument(f"--{name}", action="append", default=[])
    for name in ("terminal", "steady"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def main() -> int:
    """Run the machine once; return the exit status."""
    arguments = parse_arguments()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, on_signal)
    machine = Machine(arguments)
    saved = termios.tcgetattr(0) if arguments.terminal else None
    try:
        signal.setitimer(signal.ITIMER_REAL, arguments.timeout)
        machine.start()
        if saved:
            tty.setraw(0)
        return machine.run()
    except Ended as end:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if saved:
            termios.tcsetattr(0, termios.TCSADRAIN, saved)
        if end.why:
            say(end.why)
        if end.status in (FAILED, TIMED_OUT):
            machine.log.show()
        return end.status
    except OSError as error:
        say(f"the machine cannot be run: {error}")
        return FAILED
    finally:
        machine.stop()
        if saved:
            termios.tcsetattr(0, termios.TCSADRAIN, saved)


if __name__ == "__main__":
    sys.exit(main())

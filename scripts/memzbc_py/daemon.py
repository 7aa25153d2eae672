# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""What a LUN needs running: kernel modules, the system bus, tcmu-runner with our handler."""
from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Callable

import dbus

from .units import SUBTYPE, MemzbcError

BUS_SOCKET = "/run/dbus/system_bus_socket"
BUS_NAME = "org.kernel.TCMUService1"
SERVICE = "/org/kernel/TCMUService1"
UNIT = "tcmu-runner.service"
LOG = Path("/var/log/tcmu-runner.log")
MODULES = ("target_core_mod", "target_core_user", "sg", "sd_mod")
START_WAIT_S = 60.0
POLL_S = 0.1


def _run(*command: str) -> None:
    """Runs a command; raises MemzbcError with what it printed."""
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError as error:
        raise MemzbcError(f"'{' '.join(command)}' cannot be run: {error.strerror}") from None
    if done.returncode:
        raise MemzbcError(f"'{' '.join(command)}' failed: {(done.stderr or done.stdout).strip()}")


def _wait(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + START_WAIT_S
    while not condition():
        if time.monotonic() > end:
            raise MemzbcError(f"{what} after {START_WAIT_S:.0f} s")
        time.sleep(POLL_S)


def under_systemd() -> bool:
    """Whether systemd runs this machine (as sd_booted(3) finds out)."""
    return Path("/run/systemd/system").is_dir()


def load_modules(fabric_module: str) -> None:
    """Loads LIO, the fabric and the disk drivers. Raises MemzbcError."""
    missing = [name for name in (*MODULES, fabric_module) if not Path("/sys/module", name).is_dir()]
    if not missing:
        return
    try:
        _run("modprobe", "-a", *missing)
    except MemzbcError as error:
        raise MemzbcError(
            f"{error}\nThis kernel ({os.uname().release}) lacks LIO's modules: use a kernel with"
            " CONFIG_TCM_USER2, or a virtual machine (scripts/vm of the source)"
        ) from None


def log_size() -> int:
    """The present end of tcmu-runner's log, for log_since()."""
    try:
        return LOG.stat().st_size
    except FileNotFoundError:
        return 0


def log_since(offset: int) -> str:
    """What tcmu-runner logged since log_size(), indented; only our handler's lines if any."""
    try:
        with LOG.open("rb") as log:
            log.seek(offset)
            lines = log.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return ""
    ours = [line for line in lines if SUBTYPE in line]
    return "\n".join(f"    {line}" for line in (ours or lines)[-5:])


def _bus_answers() -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(BUS_SOCKET) == 0


def _start_bus() -> None:
    if _bus_answers():
        return
    if under_systemd():
        _run("systemctl", "start", "dbus.socket")
    else:
        os.makedirs(os.path.dirname(BUS_SOCKET), exist_ok=True)
        _run("dbus-uuidgen", "--ensure")
        # No pid file: one left by a bus that was killed would stop the new one.
        _run("dbus-daemon", "--system", "--fork", "--nopidfile")
    _wait(_bus_answers, f"no system bus at {BUS_SOCKET}")


def is_running() -> bool:
    """Whether a tcmu-runner owns its name on the system bus."""
    return _bus_answers() and bool(dbus.SystemBus().name_has_owner(BUS_NAME))


def _start_runner() -> None:
    """Starts tcmu-runner and waits until it answers. Raises MemzbcError."""
    offset = log_size()
    if under_systemd():
        _run("systemctl", "start", UNIT)
    else:
        runner = shutil.which("tcmu-runner")
        if not runner:
            raise MemzbcError("tcmu-runner is not installed (Debian package tcmu-runner)")
        # A session of its own, so that Ctrl-C here does not end it.
        process = subprocess.Popen(
            [runner],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        _wait(
            lambda: is_running() or process.poll() is not None,
            "tcmu-runner does not answer on the bus",
        )
        if not is_running():
            raise MemzbcError(
                f"tcmu-runner ended with status {process.returncode}:\n{log_since(offset)}"
            )
    _wait(is_running, "tcmu-runner does not answer on the bus")


def _stop_runner() -> None:
    """Stops tcmu-runner and waits until it is gone. Raises MemzbcError."""
    if under_systemd():
        _run("systemctl", "stop", UNIT)
    if is_running():  # One that systemd did not start.
        bus = dbus.SystemBus()
        pid = int(
            bus.call_blocking(
                "org.freedesktop.DBus",
                "/",
                "org.freedesktop.DBus",
                "GetConnectionUnixProcessID",
                "s",
                (BUS_NAME,),
            )
        )
        os.kill(pid, signal.SIGTERM)
    _wait(lambda: not is_running(), "tcmu-runner does not stop")


def _handlers() -> list[str]:
    """Subtypes of the handlers that the running tcmu-runner has loaded."""
    service = dbus.Interface(
        dbus.SystemBus().get_object(BUS_NAME, SERVICE), "org.freedesktop.DBus.ObjectManager"
    )
    return [str(path).rsplit("/", 1)[-1] for path in service.GetManagedObjects()]


def ensure_running(may_restart: bool) -> None:
    """Brings up the bus and tcmu-runner with our handler. A tcmu-runner that was started before the
    handler was installed is restarted, but only when MAY_RESTART (it serves nobody). Raises
    MemzbcError."""
    _start_bus()
    if not is_running():
        _start_runner()
    if SUBTYPE in _handlers():
        return
    if may_restart:
        _stop_runner()
        _start_runner()
        if SUBTYPE in _handlers():
            return
        raise MemzbcError(
            f"tcmu-runner has no handler '{SUBTYPE}': install handler_{SUBTYPE}.so into its handler"
            f" directory ({LOG} may tell why it was not loaded)"
        )
    raise MemzbcError(
        f"the running tcmu-runner has no handler '{SUBTYPE}', and serves other LUNs, so it is not"
        " restarted here: restart it yourself once memzbc is installed"
    )


def check_config(config: str) -> None:
    """Has the handler in the running tcmu-runner judge a config string. Raises MemzbcError with its
    reason."""
    try:
        handler = dbus.SystemBus().get_object(BUS_NAME, f"{SERVICE}/{SUBTYPE}")
        good, reason = handler.CheckConfig(f"{SUBTYPE}/{config}", dbus_interface=BUS_NAME)
    except dbus.DBusException as error:
        raise MemzbcError(f"tcmu-runner does not answer: {error}") from None
    if not good:
        raise MemzbcError(str(reason))

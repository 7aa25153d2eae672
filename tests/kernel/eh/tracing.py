# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's trace, in an instance of its own, with plain tracefs. Runs in the guest."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path

INSTANCE = "eh_test"
GROUP = "eh_test"
BUFFER_KB = 8192
# Whether a command was sent and what it came back with: nothing can be told without them.
NEEDED = ("scsi_dispatch_cmd_start", "scsi_dispatch_cmd_done")
WELCOME = ("scsi_eh_wakeup", "scsi_dispatch_cmd_error", "scsi_dispatch_cmd_timeout")
PROBES = {
    "queue_insert": "scsi_queue_insert",
    "device_reset": "tcm_loop_device_reset",
    "target_reset": "tcm_loop_target_reset",
}


class NoTracing(Exception):
    """The kernel cannot show what is needed; the text says what is missing."""


def _tracefs() -> Path:
    place = Path("/sys/kernel/tracing")
    if not place.is_dir():
        raise NoTracing("the kernel has no tracefs (CONFIG_FTRACE, CONFIG_ENABLE_DEFAULT_TRACERS)")
    if not (place / "trace").exists():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", str(place)], check=False)
    if not (place / "events" / "scsi").is_dir():
        raise NoTracing("tracefs has no events/scsi: the kernel was built without event tracing")
    return place


class Tracing:
    """Tracing of the SCSI events that the verdict needs. Raises NoTracing."""

    def __init__(self) -> None:
        root = _tracefs()
        self.missing: list[str] = []
        self._probe(root)
        self.place = root / "instances" / INSTANCE
        try:
            self.place.mkdir()
            # No clock, but a number: the order on several CPUs is sure.
            (self.place / "trace_clock").write_text("counter")
            (self.place / "buffer_size_kb").write_text(str(BUFFER_KB))
        except OSError as error:
            raise NoTracing(f"tracefs gives no instance with a counter as clock: {error}") from None
        for event in NEEDED + WELCOME:
            self._enable(f"scsi/{event}", event)
        for probe, function in PROBES.items():
            self._enable(f"{GROUP}/{probe}", f"kprobe on {function}")
        lacking = [event for event in NEEDED if event in self.missing]
        if lacking:
            raise NoTracing(f"the kernel has no tracepoint {' and '.join(lacking)}")

    @staticmethod
    def _probe(root: Path) -> None:
        for probe, function in PROBES.items():
            try:
                # Appended to, or the probes of others go.
                out = os.open(root / "kprobe_events", os.O_WRONLY | os.O_APPEND)
                try:
                    os.write(out, f"p:{GROUP}/{probe} {function}\n".encode())
                finally:
                    os.close(out)
            except OSError:  # No kprobes, or no such function: seen when it is enabled.
                pass

    def _enable(self, event: str, name: str) -> None:
        try:
            (self.place / "events" / event / "enable").write_text("1")
        except OSError:
            self.missing.append(name)

    def clear(self) -> None:
        """Forgets what was traced."""
        (self.place / "trace").write_text("\n")

    def text(self) -> str:
        """What was traced since."""
        return (self.place / "trace").read_text(errors="replace")

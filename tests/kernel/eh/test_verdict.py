#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The verdict, from traces of kernels that are made up: each criterion fails once."""
from __future__ import annotations

import errno
import sys
import unittest
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from eh import criteria, report, verdict  # noqa: E402
from eh.criteria import Criterion, Run, judge_run  # noqa: E402
from eh.rounds import history  # noqa: E402
from eh.scenarios import (  # noqa: E402
    BY_NAME, FEW_TAGS, NEGATIVES, SCENARIOS, ZONE_BLOCKS, Scenario,
)
from eh.trace import lost_events, parse  # noqa: E402

DEVICE = "0:0:1:0"
ADDRESS = "host_no=0 channel=0 id=1 lun=0"
GOOD, REFUSED = "SAM_STAT_GOOD", "SAM_STAT_CHECK_CONDITION"
ALLOWED = 5 + FEW_TAGS
READ, WRITE = 0x88, 0x8A


class Trace:
    """A trace in the making, as tracefs prints it."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, event: str, text: str) -> None:
        """Any event."""
        head = f"     kworker/1:2-90      [001] .....  {len(self.lines):11}: "
        self.lines.append(f"{head}{event}: {text}")

    def _command(self, event: str, lba: int, opcode: int, result: str = "") -> None:
        raw = bytes([opcode, 0]) + lba.to_bytes(8, "big") + (1).to_bytes(4, "big") + bytes(2)
        self.add(event, f"{ADDRESS} data_sgl=1 prot_sgl=0 prot_op=SCSI_PROT_NORMAL driver_tag=1"
                        f" scheduler_tag=-1 cmnd=(WRITE_16 lba={lba} txlen=1 protect=0"
                        f" raw={raw.hex(' ')}){result}")

    def sent(self, lba: int, opcode: int = WRITE) -> None:
        """A command goes out."""
        self._command("scsi_dispatch_cmd_start", lba, opcode)

    def back(self, lba: int, status: str, opcode: int = WRITE) -> None:
        """It comes back."""
        self._command("scsi_dispatch_cmd_done", lba, opcode,
                      f" result=(driver=DRIVER_OK host=DID_OK message=COMMAND_COMPLETE"
                      f" status={status})")

    def not_taken(self, lba: int) -> None:
        """The host adapter was busy."""
        self._command("scsi_dispatch_cmd_error", lba, WRITE, " rtn=4181")

    def wakeup(self) -> None:
        """The error handler gets up."""
        self.add("scsi_eh_wakeup", "host_no=0")


@dataclass
class Kernel:
    """A kernel that is made up: how it orders retries, how many it allows, what it forgets."""

    order: Callable[[list[int]], list[int]] = sorted
    allowed: int = ALLOWED
    handler: bool = True
    one_at_a_time: bool = False
    all_refused: int = 0
    trace: Trace = field(default_factory=Trace)
    pointers: dict[int, int] = field(default_factory=dict)
    results: list[dict[str, Any]] = field(default_factory=list)

    def send(self, lbas: Sequence[int]) -> list[int]:
        """Sends all, then gets all back; those that were refused."""
        for lba in lbas:
            self.trace.sent(lba)
        refused = []
        self.all_refused -= 1
        for lba in lbas:
            zone = lba // ZONE_BLOCKS
            pointer = self.pointers.setdefault(zone, zone * ZONE_BLOCKS)
            if pointer == lba and self.all_refused < 0:
                self.pointers[zone] += 1
                self.trace.back(lba, GOOD)
                self.result(lba, 0)
            else:
                self.trace.back(lba, REFUSED)
                refused.append(lba)
        return refused

    def result(self, lba: int, error: int) -> None:
        """The application hears of it."""
        self.results.append({"request": 0, "lba": lba, "errno": error})
        if not error:
            self.results.append({"verify": 0, "lba": lba, "good": True})

    def write(self, lbas: Sequence[int], late: int | None = None) -> None:
        """Writes and retries, as far as allowed. LATE is sent after a round."""
        refused = self.send(lbas)
        for number in range(self.allowed):
            if not refused:
                break
            if self.handler:
                self.trace.wakeup()
            if number == 1 and late is not None:
                assert not self.send([late])
                late = None
            again = self.order(list(refused))
            if self.one_at_a_time:
                refused = self.send(again[:1]) + again[1:]
            else:
                refused = self.send(again)
        for lba in refused:
            self.result(lba, errno.EREMOTEIO)
        if late is not None:
            self.send([late])


def lbas_of(scenario: Scenario) -> list[int]:
    """What the scenario writes, backwards where it is not to be in order."""
    lbas = [scenario.start + i % scenario.zones * ZONE_BLOCKS + i // scenario.zones
            for i in range(scenario.hole, scenario.count)]
    return lbas if scenario.order == "sequential" else lbas[::-1]


def lines_of_zones(kernel: Kernel, scenario: Scenario) -> list[dict[str, Any]]:
    """What REPORT ZONES tells."""
    zones = [scenario.zone + i for i in range(scenario.zones)]
    return [{"zone": zone * ZONE_BLOCKS, "type": 2,
             "wp": kernel.pointers.get(zone, zone * ZONE_BLOCKS)} for zone in zones]


def negatives(kernel: Kernel, times: dict[int, int]) -> None:
    """Sends those, each once unless TIMES tells by number."""
    for number, negative in enumerate(NEGATIVES):
        opcode = READ if negative.op == "read" else WRITE
        for _ in range(times.get(number, 1)):
            kernel.trace.sent(negative.lba, opcode)
            kernel.trace.back(negative.lba, REFUSED, opcode)
        kernel.result(negative.lba, errno.EREMOTEIO)


def run(name: str, kernel: Kernel | None = None, mechanism: str = "patched", **changes: Any) -> Run:
    """A scenario on that kernel; CHANGES are of what the guest has seen."""
    scenario, kernel = BY_NAME[name], kernel or Kernel()
    if not scenario.on:
        kernel = replace(kernel, allowed=0)
    if scenario.negatives:
        negatives(kernel, changes.pop("times", {}))
    else:
        lbas = lbas_of(scenario)
        if name in ("threads", "device"):
            # The first two swap.
            lbas[:2] = lbas[1::-1]
        kernel.write(lbas, scenario.start if scenario.late else None)
    refused = sum(REFUSED in line for line in kernel.trace.lines)
    lun = {"unaligned": refused, "check_conditions": refused, "eh_commands": 0, "resets": 0}
    got: dict[str, Any] = {
        "start": scenario.start, "hangs": False, "allowed": ALLOWED if scenario.on else None,
        "lun": lun | changes.pop("lun", {}), "results": kernel.results,
        "beside": [{"request": 0, "lba": 0, "errno": 0}],
    }
    got["results"] = got["results"] + lines_of_zones(kernel, scenario)
    if mechanism == "none":
        got["allowed"] = None
    return Run(scenario, parse(kernel.trace.lines), got | changes, DEVICE, mechanism)


def runs(mechanism: str = "patched", **knobs: Any) -> list[Run]:
    """All scenarios on a kernel with these knobs."""
    return [run(scenario.name, Kernel(**knobs), mechanism) for scenario in SCENARIOS
            if scenario.on or mechanism != "none"]


def names(of: Sequence[Criterion]) -> list[str]:
    """The criteria that are not met."""
    return [criterion.name for criterion in of if criterion.passed is False]


class Verdicts(unittest.TestCase):
    """The verdict over all scenarios."""

    def expect(self, of: Sequence[Run], status: int, first: str | None = None,
               **facts: Any) -> verdict.Verdict:
        """The verdict has this status, and a first reason like that."""
        found = verdict.decide(of, facts)
        self.assertEqual((found.status, found.reasons), (status, found.reasons), report.text(found))
        self.assertIn(first or "", found.reasons[0] if found.reasons else "", found.reasons)
        return found

    def test_a_kernel_that_sorts_and_retries(self) -> None:
        """Every mechanism; the one without error handler as well."""
        self.assertEqual(self.expect(runs(), verdict.SORTS).reasons, [])
        self.expect(runs("module"), verdict.SORTS)
        self.expect(runs("none", handler=False), verdict.SORTS)
        self.expect([run("batch", Kernel(handler=False, one_at_a_time=True, allowed=99), "none")],
                    verdict.SORTS)

    def test_no_retry(self) -> None:
        """The stock kernel."""
        found = self.expect(runs("none", allowed=0), verdict.DOES_NOT, criteria.NO_RETRY)
        self.assertNotIn(criteria.WRONG_ORDER, found.reasons)
        self.assertNotIn(criteria.WRONG_COUNT, found.reasons)

    def test_order_of_failure_and_descending(self) -> None:
        """Without the sort, and with a requeue at the head."""
        for order in (list, lambda lbas: sorted(lbas, reverse=True)):
            found = self.expect(runs(order=order), verdict.DOES_NOT, criteria.WRONG_ORDER)
            self.assertNotIn(criteria.WRONG_COUNT, found.reasons)

    def test_escalation(self) -> None:
        """Each of its signs alone."""
        for lun in ({"resets": 1}, {"eh_commands": 2}, {"check_conditions": 0}):
            self.expect([run("batch", lun=lun)], verdict.DOES_NOT, criteria.ESCALATION)
        for event in ("device_reset", "target_reset"):
            kernel = Kernel()
            kernel.trace.add(event, f"(tcm_loop_{event}+0x0/0xb0 [tcm_loop])")
            self.expect([run("batch", kernel)], verdict.DOES_NOT, criteria.ESCALATION)

    def test_retries_counted_twice(self) -> None:
        """Half as many as allowed."""
        self.expect(runs(allowed=ALLOWED // 2), verdict.DOES_NOT, criteria.WRONG_COUNT)
        self.expect(runs(allowed=ALLOWED + 1), verdict.DOES_NOT, criteria.WRONG_COUNT)

    def test_unbounded(self) -> None:
        """A write that never comes back."""
        self.expect([run("hole", hangs=True)], verdict.DOES_NOT, criteria.UNBOUNDED)

    def test_control_that_succeeds_proves_nothing(self) -> None:
        """Also when all else is well."""
        control = run("batch")
        control.scenario = BY_NAME["control"]
        control.got["allowed"] = None
        found = self.expect([control, *runs()[1:]], verdict.CANNOT_TELL, "control: ")
        self.assertIn("proves nothing", found.text)

    def test_reordering_that_never_reached_the_lun(self) -> None:
        """Zone write plugging, a scheduler, or luck: no verdict, and the reason why."""
        quiet = run("batch")
        quiet.events = [event for event in quiet.events if event.status != REFUSED]
        self.expect([quiet], verdict.CANNOT_TELL, verdict.NOT_REACHED)
        self.expect([quiet], verdict.CANNOT_TELL, "zone write plugging", write_plugging=True)
        self.expect([quiet], verdict.CANNOT_TELL, "mq-deadline", scheduler="mq-deadline")

    def test_one_write_at_a_time_is_no_reordering(self) -> None:
        """The first of a batch is refused, and the block layer fails the others itself."""
        kernel, start = Kernel(), BY_NAME["reversed"].start
        for lba in (start + 31, start + 30):
            kernel.trace.sent(lba)
            kernel.trace.back(lba, REFUSED)
        alone = replace_events(run("reversed"), kernel.trace.lines)
        self.expect([alone], verdict.CANNOT_TELL, verdict.NOT_REACHED)

    def test_a_scheduler_may_sort_a_batch(self) -> None:
        """As long as one is reordered."""
        kernel = Kernel(allowed=0)
        kernel.write(sorted(lbas_of(BY_NAME["batch"])))
        quiet = replace_events(run("batch"), kernel.trace.lines)
        self.expect([quiet, run("reversed")], verdict.SORTS, scheduler="mq-deadline")
        self.expect([quiet, run("reversed")], verdict.CANNOT_TELL, scheduler="none")

    def test_a_batch_in_order_proves_nothing(self) -> None:
        """The dispatch order of a batch has to descend somewhere."""
        kernel, start = Kernel(), BY_NAME["batch"].start
        for lba in (start, start + 1):
            kernel.trace.sent(lba)
        for lba in (start, start + 1):
            kernel.trace.back(lba, REFUSED)
        quiet = replace_events(run("batch"), kernel.trace.lines)
        self.expect([quiet], verdict.CANNOT_TELL, verdict.NOT_REACHED)

    def test_the_kernel_complains(self) -> None:
        """All else is well."""
        self.expect(runs(), verdict.DOES_NOT, criteria.COMPLAINTS,
                    complaints=["BUG: KASAN: use-after-free"])

    def test_threads_may_keep_the_order(self) -> None:
        """That scenario does not decide then."""
        quiet = run("threads")
        quiet.events = [event for event in quiet.events if event.status != REFUSED]
        self.expect([run("batch"), quiet], verdict.SORTS)

    def test_what_could_not_be_run(self) -> None:
        """A problem, a scenario that is missing, a trace with holes."""
        self.expect([], verdict.CANNOT_TELL, "nothing was run")
        self.expect(runs(), verdict.CANNOT_TELL, "no tracefs", problem="no tracefs")
        self.expect([run("batch")], verdict.CANNOT_TELL, "not run: hole",
                    scenarios=["batch", "hole"])
        holes = run("batch", Kernel(allowed=0))
        holes.lost_events = 3
        self.expect([holes], verdict.CANNOT_TELL, "lost 3 events")


class Criteria(unittest.TestCase):
    """Each criterion is met by a good kernel, and fails where that is due."""

    def failing(self, of: Run) -> list[str]:
        """The criteria that are not met."""
        found, decides = judge_run(of)
        self.assertTrue(decides)
        return names(found)

    def test_all_are_met(self) -> None:
        """Every scenario."""
        for scenario in SCENARIOS:
            self.assertEqual(self.failing(run(scenario.name)), [], scenario.name)

    def test_too_many_rounds(self) -> None:
        """The right order does not help at first."""
        found = self.failing(run("batch", Kernel(all_refused=3)))
        self.assertEqual(found, ["rounds"])

    def test_error_handler_sleeps(self) -> None:
        """Where the mechanism is one of the error handler."""
        self.assertEqual(self.failing(run("batch", Kernel(handler=False))), ["error handler"])

    def test_lost_and_wrong_data(self) -> None:
        """A write that fails, data that differ, a pointer elsewhere."""
        bad = run("batch")
        bad.got["results"][0]["errno"] = errno.EREMOTEIO
        self.assertEqual(self.failing(bad), ["good"])
        wrong = run("batch")
        wrong.lines("verify")[5]["good"] = False
        self.assertEqual(self.failing(wrong), ["data"])
        pointer = run("zones")
        pointer.lines("zone")[1]["wp"] += 1
        self.assertEqual(self.failing(pointer), ["write pointer"])

    def test_hole(self) -> None:
        """Other errors, a pointer that moved, another zone that waits, unequal numbers."""
        other = run("hole")
        other.lines("request")[3]["errno"] = errno.EIO
        self.assertEqual(self.failing(other), ["hole"])
        moved = run("hole")
        moved.lines("zone")[0]["wp"] += 1
        self.assertEqual(self.failing(moved), ["write pointer"])
        blocked = run("hole", beside=[{"request": 0, "lba": 0, "errno": errno.EIO}])
        self.assertEqual(self.failing(blocked), ["other zones"])
        unequal = Kernel()
        unequal.order = lambda lbas: sorted(lbas)[1:] if len(unequal.trace.lines) > 400 else lbas
        self.assertIn("number of retries", self.failing(run("hole", unequal, "none")))

    def test_filler(self) -> None:
        """The late write has to succeed, with and without tags to spare."""
        for name in ("filler", "tags"):
            late = run(name)
            start = BY_NAME[name].start
            for line in late.lines("request"):
                if line["lba"] == start:
                    line["errno"] = errno.EIO
            self.assertIn("late write", self.failing(late))

    def test_negatives(self) -> None:
        """Each that is sent twice."""
        for number, negative in enumerate(NEGATIVES):
            self.assertEqual(self.failing(run("negatives", times={number: 2})), [negative.name])

    def test_control(self) -> None:
        """It is retried, or wakes the error handler up."""
        kernel = Kernel()
        kernel.trace.wakeup()
        self.assertEqual(self.failing(run("control", kernel)), ["error handler"])


def replace_events(of: Run, lines: list[str]) -> Run:
    """The same run with another trace."""
    of.events = parse(lines)
    return of


class Rounds(unittest.TestCase):
    """What is a round, and what is in order."""

    def setUp(self) -> None:
        self.trace = Trace()

    def rounds(self) -> list[list[int]]:
        """The LBAs of each round, that of first attempts first."""
        found = history(parse(self.trace.lines), DEVICE, ZONE_BLOCKS)
        return [[a.lba for a in found.in_round(n)] for n in range(found.rounds + 1)]

    def refuse(self, *lbas: int) -> None:
        """Sends and gets back refused."""
        for lba in lbas:
            self.trace.sent(lba)
        for lba in lbas:
            self.trace.back(lba, REFUSED)

    def test_a_write_that_fails_later_is_in_the_next_round(self) -> None:
        """Write 1 fails when the round of 3 and 5 has begun."""
        self.refuse(5, 3)
        self.trace.sent(1)
        self.trace.sent(3)
        self.trace.back(1, REFUSED)
        self.trace.sent(5)
        self.trace.back(3, GOOD)
        self.trace.back(5, GOOD)
        self.trace.sent(1)
        self.assertEqual(self.rounds(), [[5, 3, 1], [3, 5], [1]])

    def test_a_new_write_may_join_a_round(self) -> None:
        """It is no retry, so it has no place in the order."""
        self.refuse(5, 3)
        for lba in (3, 1, 5):
            self.trace.sent(lba)
        self.assertEqual(self.rounds(), [[5, 3, 1], [3, 5]])

    def test_zones_have_an_order_each(self) -> None:
        """A lower zone after a higher one is no descent."""
        high = ZONE_BLOCKS + 1
        self.refuse(2, 1, high + 1, high)
        for lba in (high, 1, high + 1, 2):
            self.trace.sent(lba)
        found = history(parse(self.trace.lines), DEVICE, ZONE_BLOCKS)
        self.assertEqual(found.descents(1), [])
        self.assertEqual(found.descents(0), [(2, 1), (high + 1, high)])

    def test_a_command_that_was_not_taken_was_not_sent(self) -> None:
        """The host adapter says busy, the block layer tries again: no retry."""
        self.trace.sent(1)
        self.trace.not_taken(1)
        self.refuse(1)
        self.trace.sent(1)
        self.trace.not_taken(1)
        self.trace.sent(1)
        found = history(parse(self.trace.lines), DEVICE, ZONE_BLOCKS)
        self.assertEqual([(a.number, a.round) for a in found.attempts], [(0, 0), (1, 1)])


class Parsing(unittest.TestCase):
    """tracefs's text."""

    def test_other_devices_and_lines_are_left_out(self) -> None:
        """Only this disk counts."""
        trace = Trace()
        trace.lines = ["# tracer: nop", "CPU:1 [LOST 3 EVENTS]"]
        trace.sent(7)
        trace.lines.append(trace.lines[-1].replace("host_no=0", "host_no=1"))
        events = parse(trace.lines)
        self.assertEqual([(e.device, e.lba, e.blocks) for e in events],
                         [(DEVICE, 7, 1), ("1:0:1:0", 7, 1)])
        self.assertEqual(history(events, DEVICE, ZONE_BLOCKS).lbas, [7])

    def test_lost_events(self) -> None:
        """The head of the trace tells."""
        self.assertEqual(lost_events("# entries-in-buffer/entries-written: 24/30   #P:2"), 6)
        self.assertEqual(lost_events("# entries-in-buffer/entries-written: 24/24   #P:2"), 0)


if __name__ == "__main__":
    unittest.main()

"""The known bugs of `eos verify`: each must be found where it is, must not where it was mended, and be carried out."""

import time
from collections.abc import Iterable, Iterator
from typing import Final

from model_tests.bugs.judged import JudgedBug, judged
from model_tests.verify.results import Control, PartResult, RunEffort
from spec.bugs.bug import Bug
from spec.bugs.catalogue import BUGS

QUICKEST: Final = ("KAFKA-17507", "KAFKA-15784", "KAFKA-14920")
"""Those that take the least time, of three systems and two coordinators."""

SECONDS: Final = {RunEffort.DEFAULT: 38.0, RunEffort.QUICK: 5.0}
"""After so much time no more bugs are begun; a deep run takes its time."""


def evidence(effort: RunEffort) -> PartResult:
    """Find the known bugs, as many as the effort has time for."""
    chosen = tuple(BUGS[name] for name in QUICKEST) if effort is RunEffort.QUICK else tuple(BUGS.values())
    found = tuple(_in_time(chosen, SECONDS.get(effort), unrolls=effort is RunEffort.DEEP))
    return PartResult(
        name="bugs",
        controls=tuple(control for each in found for control in controls(each)),
        extra={
            "bugs": len(found),
            "cases": sum(len(each.found) for each in found),
            "carried_out": sum(each.replay is not None and each.replay.shown for each in found),
            "entries": [entry for each in found for entry in each.entries()],
        },
        failures=tuple(failure for each in found for failure in each.failures),
        sampled="" if len(found) == len(BUGS) else f"ran {len(found)} of {len(BUGS)} bugs",
    )


def controls(of: JudgedBug) -> Iterator[Control]:
    """The case of a bug in which its rule must be violated; that mended ones hold is not a control but a verdict."""
    found = of.found[0]
    name = f"{of.bug.name} in {found.case.profile}: {of.bug.title}"
    by = "explicit and bounded search" if of.unrolled else "explicit search"
    yield Control(name, of.bug.rule, str(found.case.expected), str(found.got), f"depth {found.depth} by {by}")


def _in_time(bugs: Iterable[Bug], seconds: float | None, *, unrolls: bool) -> Iterator[JudgedBug]:
    started = time.monotonic()
    for bug in bugs:
        if seconds is not None and time.monotonic() - started > seconds:
            return
        yield judged(bug, unrolls=unrolls)

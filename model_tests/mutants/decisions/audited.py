"""The audit of logs as places: each bundled recording, and the logs with known defects."""

import atexit
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from model_tests.mutants.decisions.occasions import Place
from model_tests.traces.audit import run_here
from model_tests.traces.audit_recordings import CLUSTER, DEFECTS, KAFKA_3_9, KAFKA_4_0, journal, unpacked

AUDITED: Final = (DEFECTS, KAFKA_4_0, CLUSTER, KAFKA_3_9)
"""The quick ones first."""

Told: TypeAlias = frozenset[tuple[str, str, int, int]]
"""Findings: rule, partition, offset and producer."""


def audited() -> Iterator[Place]:
    """The logs, each with what its clients were told, where that was written down."""
    return (Place(f"audit of {name}", Audited(name)) for name in AUDITED)


class Audited:
    """A recording, and what the audit finds in it with nothing broken."""

    def __init__(self, name: str) -> None:
        """The recording is unpacked when it is first audited."""
        self._name = name
        self._true: Told | None = None

    def __call__(self) -> tuple[str, ...]:
        """The rules that are named where they hold, or no longer named where they do not."""
        told = self._findings()
        if self._true is None:
            self._true = told
        return tuple(sorted({rule for rule, *_ in told ^ self._true}))

    def _findings(self) -> Told:
        history = "" if self._name == DEFECTS else journal(self._name)
        report = run_here([_logs() / self._name], history=history)
        return frozenset((one.rule.id, log.path, one.offset, one.producer_id) for log, one in report.findings)


@cache
def _logs() -> Path:
    """Where the recordings are unpacked, until the process ends."""
    kept = ExitStack()
    atexit.register(kept.close)
    return kept.enter_context(unpacked())

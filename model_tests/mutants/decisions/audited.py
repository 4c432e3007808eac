"""The audit of logs as places: each log with a known defect, each bundled recording, and what these do not have."""

import atexit
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias

from model_tests.audit.recorded import CLUSTER, DEFECTS, KAFKA_3_9, KAFKA_4_0, defects, journal, unpacked
from model_tests.audit.run import run
from model_tests.mutants.decisions.call_sites import JudgedCall
from model_tests.mutants.decisions.client_cases import client_places
from model_tests.mutants.decisions.joined_cases import joined_places
from model_tests.mutants.decisions.written_logs import of_deleted_offsets, of_no_client
from spec import rules

AUDITED: Final = (KAFKA_4_0, CLUSTER, KAFKA_3_9)
"""The quick ones first."""

DELETED: Final = "deleted offsets"
OF_NO_CLIENT: Final = "a producer of nobody"
COORDINATED: Final = "v-torn"
"""A case with every partition of its coordinators' log."""

Reported: TypeAlias = frozenset[tuple[object, ...]]
"""Findings on logs, each with the first rule that it violates."""


def audited() -> Iterator[JudgedCall]:
    """Client histories and joined evidence, then logs, the small ones first; recordings with their histories."""
    cases = (f"{DEFECTS}/{case.case}" for case in defects(_logs()))
    logs = (JudgedCall(f"audit of {name}", AuditedLog(name)) for name in chain((DELETED, OF_NO_CLIENT), cases, AUDITED))
    return chain(client_places(), joined_places(), logs)


class AuditedLog:
    """A log directory, and the audit's findings on it without a mutant."""

    def __init__(self, name: str) -> None:
        """The directory is found when it is first audited."""
        self._name = name
        self._true: Reported | None = None

    def __call__(self) -> tuple[str, ...]:
        """The rules that are named where they hold, or no longer named where they do not."""
        reported = self._reported()
        if self._true is None:
            self._true = reported
        return tuple(sorted({str(rule) for rule, *_ in reported ^ self._true}))

    def _reported(self) -> Reported:
        """Findings; and what a broker can be asked: how far a reader may read, and what it is given."""
        history = journal(self._name) if self._name in AUDITED else ""
        report = run([_logs() / self._name], history=history)
        findings = (
            (one.rule.id, str(one.severity), log.path, one.offset, one.producer_id) for log, one in report.findings
        )
        logs = [(log.path, log.verdict) for log in report.audited]
        stable = ((rules.LSO_BOUNDS.id, path, verdict.offsets.last_stable) for path, verdict in logs)
        visible = ((rules.LSO_READ_COMMITTED.id, path, verdict.visible_records) for path, verdict in logs)
        groups = ((rules.OFFSETS_ATOMIC.id, one) for one in report.groups.offsets)
        return frozenset(chain(findings, stable, visible, groups))


@cache
def _logs() -> Path:
    """Where the recordings are unpacked, until the process ends."""
    kept = ExitStack()
    atexit.register(kept.close)
    directory = kept.enter_context(unpacked())
    of_deleted_offsets(directory / DELETED)
    of_no_client(directory / DEFECTS / COORDINATED, directory / OF_NO_CLIENT)
    return directory

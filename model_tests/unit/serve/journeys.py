"""What each client library does against a cluster, and what it says it saw: the ledger compared with the log."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from model_tests.audit import history_command
from model_tests.audit.options import AuditOptions
from model_tests.audit.report import AuditReport
from model_tests.serve.cluster import Cluster

PATIENCE_S = 60
"""How long anything may take before the test fails, in seconds; nothing is slower because it is short."""

MARKER_DEFECT = "a-marker-leaves-no-coordinator-epoch"
"""A defect that no client notices, and that every journey shows to the judge."""

JOURNAL, RECEIVED, VALUES = "journal.ndjson", "received.ndjson", "ledger.json"
"""The files of a ledger; the first two are what `eos audit --history` and `--received` take."""


@dataclass
class JourneyLedger:
    """What an application was answered.

    Attributes:
        acknowledged: values of records without transaction.
        committed: values of records of committed transactions.
        aborted: likewise of aborted ones.
        consumed: values of which a group has made others.
        seen: values that a reader of committed records was given, in its order.
        made: likewise of the records that the group has made.
        fenced: whether an instance was refused after a second one began.
        journal: events of the application's producers.
        received: topic, partition and offset of what that reader was given.
    """

    acknowledged: list[bytes] = field(default_factory=list)
    committed: list[bytes] = field(default_factory=list)
    aborted: list[bytes] = field(default_factory=list)
    consumed: list[bytes] = field(default_factory=list)
    seen: list[bytes] = field(default_factory=list)
    made: list[bytes] = field(default_factory=list)
    fenced: bool = False
    journal: list[dict[str, Any]] = field(default_factory=list)
    received: list[tuple[str, int, int]] = field(default_factory=list)

    def event(self, event: str, producer: str, **fields: Any) -> None:
        """An event of the journal: producer, begin, ack, send_offsets, commit, abort."""
        self.journal.append({"ev": event, "p": producer, **fields})

    def audit(self, directory: Path) -> AuditReport:
        """What `eos audit --history` says of the journal; its files are written to the directory first."""
        for name, lines in ((JOURNAL, self.journal), (RECEIVED, self.received)):
            (directory / name).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return audit_of(directory)


def audit_of(directory: Path) -> AuditReport:
    """What `eos audit --history` says of the files of a ledger."""
    return history_command.run(AuditOptions(history=str(directory / JOURNAL), received=str(directory / RECEIVED)))


def ledger_in(directory: Path) -> JourneyLedger:
    """The values that a client in another language has written down."""
    output = json.loads((directory / VALUES).read_text())
    fenced = output.pop("fenced")
    return JourneyLedger(**{name: [each.encode() for each in values] for name, values in output.items()}, fenced=fenced)


def made_of(value: bytes) -> bytes:
    """What the group makes of a record."""
    return b"made of " + value


@contextmanager
def judged(cluster: Cluster, ledger: JourneyLedger) -> Iterator[Cluster]:
    """A cluster for a journey; in the end no rule is broken, and each record was seen as often as it should be."""
    with cluster:
        yield cluster
    check_ledger(ledger)
    check_report(cluster)


def check_ledger(ledger: JourneyLedger) -> None:
    """Each record was seen as often as it should be, and made into another one once."""
    assert sorted(ledger.acknowledged + ledger.committed) == sorted(ledger.seen)
    assert not set(ledger.aborted) & set(ledger.seen)
    assert sorted(map(made_of, ledger.consumed)) == sorted(ledger.made)
    if ledger.consumed:
        assert sorted(ledger.seen) == sorted(ledger.consumed)
    assert ledger.fenced


def check_plain(ledger: JourneyLedger) -> None:
    """Each acknowledged record was read once, and there were no others."""
    assert ledger.acknowledged
    assert sorted(ledger.acknowledged) == sorted(ledger.seen)


def check_report(cluster: Cluster) -> None:
    """No connection was closed for what came over it, and the rules of transactions were judged."""
    assert cluster.report is not None
    assert [] == [notice for notice in cluster.notices if "is closed" in notice]
    judged_rules = {rule.rule for rule in cluster.report.rules}
    assert {"seq.successor", "txn.legal_transition", "lso.bounds", "fence.stale_epoch"} <= judged_rules


def check_audit(report: AuditReport) -> None:
    """The client's own journal breaks no promise."""
    assert 0 == report.exit_code, report.to_json()

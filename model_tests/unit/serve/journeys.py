"""What each client library does against a cluster, and what it says it saw: the ledger that is held against the log."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from model_tests.serve.cluster import Cluster

PATIENCE_S = 60
"""How long anything may take before the test fails, in seconds; nothing is slower because it is short."""


@dataclass
class Ledger:
    """What an application was answered.

    Attributes:
        acknowledged: values of records without transaction.
        committed: values of records of committed transactions.
        aborted: likewise of aborted ones.
        seen: values that a reader of committed records was given, in its order.
        fenced: whether an instance was refused after a second one began.
    """

    acknowledged: list[bytes] = field(default_factory=list)
    committed: list[bytes] = field(default_factory=list)
    aborted: list[bytes] = field(default_factory=list)
    seen: list[bytes] = field(default_factory=list)
    fenced: bool = False


@contextmanager
def judged(cluster: Cluster, ledger: Ledger) -> Iterator[Cluster]:
    """A cluster for a journey; in the end no rule is broken, and each record was seen as often as it should be."""
    with cluster:
        yield cluster
    assert sorted(ledger.acknowledged + ledger.committed) == sorted(ledger.seen)
    assert not set(ledger.aborted) & set(ledger.seen)
    assert ledger.fenced
    assert cluster.report is not None
    assert [] == [notice for notice in cluster.notices if "is closed" in notice]
    judged_rules = {rule.rule for rule in cluster.report.rules}
    assert {"seq.successor", "txn.legal_transition", "lso.bounds", "fence.stale_epoch"} <= judged_rules

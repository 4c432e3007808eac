"""The recorded cluster in `eos verify`: three brokers agree, and what is changed in a replica's bytes is found."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model_tests.audit.changes import (
    BROKERS,
    CONTROLLER_LOG,
    copied,
    cut,
    flipped,
    in_coordinator_epoch,
    in_leader_epoch,
    outside_transactions,
    recovered,
    with_change,
)
from model_tests.audit.findings import Finding
from model_tests.audit.recorded import CLUSTER, CLUSTER_RUNNING, MARKER_BUG, MARKER_BUG_STOPPED, journal
from model_tests.audit.report import AuditedPartition, AuditReport
from model_tests.audit.run import run
from model_tests.histories.severity import Severity
from model_tests.verify.results import Control
from spec import rules
from spec.rules import Rule

JUDGED: Final = (rules.REPL_HW_BOUNDS, rules.REPL_COMMITTED_SURVIVES, rules.REPL_PREFIX_AGREEMENT)
"""Rules that one broker alone does not show."""

UNCLEAN: Final = 7
"""Unclean elections of the recorded cluster."""

_ZOMBIE: Final = "zombie-0"
_OFFSETS: Final = "__consumer_offsets-0"


@dataclass(frozen=True, slots=True)
class RawByteChange:
    """A change of raw bytes, and the rule that must be found broken by it, at an offset."""

    name: str
    rule: Rule
    partition: str
    offset: int
    make: Callable[[Path], object]


CHANGES: Final = (
    RawByteChange(
        "another history on one replica",
        rules.REPL_PREFIX_AGREEMENT,
        _ZOMBIE,
        405,
        lambda cluster: with_change(cluster, _ZOMBIE, 405, flipped, "n2"),
    ),
    RawByteChange(
        "a leader epoch that falls",
        rules.REPL_PREFIX_AGREEMENT,
        _ZOMBIE,
        405,
        lambda cluster: with_change(cluster, _ZOMBIE, 405, in_leader_epoch(9)),
    ),
    RawByteChange(
        "committed records cut off",
        rules.REPL_HW_BOUNDS,
        _ZOMBIE,
        522,
        lambda cluster: cut(cluster, _ZOMBIE, "n3", batches=3),
    ),
    RawByteChange(
        "an unclean election that is not recorded as one",
        rules.REPL_COMMITTED_SURVIVES,
        CONTROLLER_LOG,
        837,
        lambda cluster: with_change(cluster, CONTROLLER_LOG, 815, recovered),
    ),
    RawByteChange(
        "a coordinator epoch that no coordinator had",
        rules.FENCE_COORDINATOR_EPOCH,
        _ZOMBIE,
        437,
        lambda cluster: with_change(cluster, _ZOMBIE, 437, in_coordinator_epoch(99)),
    ),
    RawByteChange(
        "offsets outside their transaction",
        rules.OFFSETS_ATOMIC,
        _OFFSETS,
        104,
        lambda cluster: with_change(cluster, _OFFSETS, 104, outside_transactions),
    ),
)


@dataclass(frozen=True, slots=True)
class ClusterEvidence:
    """What the recorded cluster shows."""

    judged: Counter[str]
    brokers: int
    partitions: int
    controls: tuple[Control, ...]
    failures: tuple[str, ...]
    seconds: float
    figures: dict[str, object] = field(default_factory=dict)


def cluster_evidence(directory: Path, *, running: bool) -> ClusterEvidence:
    """Audit the unpacked cluster, as it was stopped and, if `running`, as it ran; then break it."""
    report = run([directory / CLUSTER], history=journal(CLUSTER))
    reports = [report, *([run([directory / CLUSTER_RUNNING])] if running else [])]
    cluster = report.cluster
    found = [one for each in reports for one in _unexpected(each)]
    if cluster.unclean != UNCLEAN:
        found.append(f"{CLUSTER}: {cluster.unclean} unclean elections found, expected {UNCLEAN}")
    return ClusterEvidence(
        report.judged(),
        len(BROKERS),
        len(report.audited),
        (
            *(_control(change, directory) for change in CHANGES),
            *(_without_marker(directory / name) for name in (MARKER_BUG, MARKER_BUG_STOPPED)),
        ),
        tuple(found),
        sum(each.seconds for each in reports),
        {
            "replicated": cluster.replicated,
            "compared": cluster.compared,
            "elections": cluster.elections,
            "unclean": cluster.unclean,
        },
    )


def _unexpected(report: AuditReport) -> Iterator[str]:
    """Violations, where there is none; and damage."""
    for one, finding in report.findings:
        if finding.severity is Severity.VIOLATION:
            yield f"{one.path}: {_line(one, finding)}"
    for bad in report.damage:
        yield f"{bad.path} position {bad.position}: {bad.message}"


def _control(change: RawByteChange, directory: Path) -> Control:
    with TemporaryDirectory(prefix="eos-changed-") as other:
        cluster = copied(directory, Path(other) / CLUSTER, change.partition)
        change.make(cluster)
        found = [
            (one, finding)
            for one, finding in run([cluster]).findings
            if finding.severity in (Severity.VIOLATION, Severity.SUSPICIOUS)
        ]
    got, detail = "nothing found", ""
    if found:
        one, first = found[0]
        right = len(found) == 1 and (first.rule, first.offset) == (change.rule, change.offset)
        got = "violated" if right else f"{len(found)} findings, the first {first.rule.id} at {first.offset}"
        detail = _line(one, first)
    return Control(change.name, change.rule, "violated", got, detail)


def _without_marker(brokers: Path) -> Control:
    """Two brokers of 4.3 that committed a transaction without a marker where there was no leader (KAFKA-20734)."""
    found = [(one, finding) for one, finding in run([brokers]).findings if finding.severity is not Severity.UNDECIDED]
    got, detail = "nothing found", ""
    if found:
        one, first = found[0]
        named = (f"{one.topic}-{one.partition}", first.rule, first.offset, first.severity)
        right = len(found) == 1 and named == ("t-1", rules.TXN_MARKER_ONCE, 0, Severity.VIOLATION)
        got = "violated" if right else f"{len(found)} findings, the first {first.severity} {first.rule.id}"
        detail = _line(one, first)
    return Control(f"{brokers.name}: complete without a marker", rules.TXN_MARKER_ONCE, "violated", got, detail)


def _line(one: AuditedPartition, finding: Finding) -> str:
    return f"{one.topic}-{one.partition} offset {finding.offset}, {finding.rule.id}: {finding.message}"

"""The audit's part of `eos verify`: the bundled real logs hold, and the defects planted in them are found."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from model_tests.audit.cluster_part import JUDGED as OF_A_CLUSTER
from model_tests.audit.cluster_part import ClusterEvidence, cluster_evidence
from model_tests.audit.findings import Finding
from model_tests.audit.recorded import (
    DEFECTS,
    RECORDED,
    UNREGISTERED,
    ObservedPartition,
    RecordedDefect,
    defect_clusters,
    defects,
    journal,
    observed,
    unpacked,
)
from model_tests.audit.report import AuditedPartition, AuditReport
from model_tests.audit.run import run
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_segment import SegmentDamage
from model_tests.verify.results import Control, PartResult, Result, RuleVerdict, RunEffort
from spec import rules
from spec.evidence import Layer
from spec.rules import RULES, Rule

JUDGED: Final = (
    rules.SEQ_FIRST,
    rules.SEQ_SUCCESSOR,
    rules.SEQ_EPOCH_RESET,
    rules.SEQ_EXACTLY_ONCE,
    rules.FENCE_STALE_EPOCH,
    rules.FENCE_EPOCH_MONOTONE,
    rules.FENCE_COORDINATOR_EPOCH,
    rules.SEQ_STATE_RECOVERABLE,
    rules.LSO_BOUNDS,
    rules.LSO_DECIDED_BELOW,
    rules.LSO_READ_COMMITTED,
    rules.LSO_ABORTED_INDEX,
    rules.TXN_LEGAL_TRANSITION,
    rules.TXN_ONE_OUTCOME,
    rules.TXN_ATOMIC,
    rules.TXN_MARKER_ONCE,
    rules.TXN_REGISTERED_BEFORE_DATA,
    rules.TXN_TIMEOUT,
    rules.TXN_COMPLETES,
    rules.TXN_CLIENT_VERDICT,
    rules.OFFSETS_ATOMIC,
)
"""The rules that this part brings evidence for."""

FOUND_BY_THE_JOIN: Final = "txn."
"""Defects that one partition alone does not show."""

_COUNTED: Final = (Severity.VIOLATION, Severity.SUSPICIOUS)


def evidence(effort: RunEffort) -> PartResult:  # the logs are small enough to be audited whole every time
    """Audit the bundled logs on Spark, and their many small defects without."""
    with unpacked() as directory:
        wholes = [run([directory / recording], history=journal(recording)) for recording in RECORDED]
        cases = defects(directory)
        report = run([], clusters=defect_clusters(directory))
        cluster = cluster_evidence(directory, running=effort is RunEffort.DEEP)
    logs = tuple(one for whole in wholes for one in whole.audited)
    judged = sum((whole.judged() for whole in wholes), Counter[str]())
    seconds = (sum(whole.seconds for whole in wholes) + cluster.seconds) / (len(JUDGED) + len(OF_A_CLUSTER))
    return PartResult(
        name="audit",
        results=(
            *(_result(rule, logs, judged[rule.id], cluster, directory, seconds) for rule in JUDGED),
            *(_of_cluster(rule, cluster, seconds) for rule in OF_A_CLUSTER),
        ),
        controls=(*(_control(case, report, directory) for case in cases if case.rules), *cluster.controls),
        extra=_figures(wholes, report, directory) | {"cluster": cluster.figures},
        failures=(
            *cluster.failures,
            *_disagreements(logs, directory),
            *_false_alarms(cases, report, directory),
            *_known_not_found(logs, directory),
            *_wrong_damage(cases, (*(bad for whole in wholes for bad in whole.damage), *report.damage), directory),
        ),
    )


def _root(path: str, directory: Path) -> str:
    return Path(path).relative_to(directory).parts[0]


def _result(
    rule: Rule, logs: Sequence[AuditedPartition], judged: int, cluster: ClusterEvidence, directory: Path, seconds: float
) -> Result:
    broken = [
        (one, finding)
        for one, finding in _violations(logs)
        if finding.rule is rule and _place(one, finding, directory) not in UNREGISTERED
    ]
    count = judged + cluster.judged[rule.id]
    known = sum(_place(one, finding, directory) in UNREGISTERED for one, finding in _violations(logs))
    return Result(
        rule,
        Layer.AUDIT,
        RuleVerdict.VIOLATED if broken else RuleVerdict.HOLDS,
        count,
        seconds,
        {"logs": len(RECORDED) + cluster.brokers, "partitions": len(logs) + cluster.partitions, "judged": count}
        | ({"known": known} if rule is rules.TXN_REGISTERED_BEFORE_DATA else {}),
        _line(*broken[0]) if broken else "",
    )


def _of_cluster(rule: Rule, cluster: ClusterEvidence, seconds: float) -> Result:
    """Evidence that only several brokers' logs can give; what they break is a failure of the part."""
    broken = [line for line in cluster.failures if rule.id in line]
    verdict = RuleVerdict.VIOLATED if broken else RuleVerdict.HOLDS
    count = cluster.judged[rule.id]
    figures = {"brokers": cluster.brokers, "partitions": cluster.partitions, "judged": count}
    return Result(rule, Layer.AUDIT, verdict, count, seconds, figures, broken[0] if broken else "")


def _violations(logs: Iterable[AuditedPartition]) -> Iterator[tuple[AuditedPartition, Finding]]:
    for one in logs:
        for finding in one.verdict.findings:
            if finding.severity is Severity.VIOLATION:
                yield one, finding


def _place(one: AuditedPartition, finding: Finding, directory: Path) -> tuple[str, str, int]:
    return _root(one.path, directory), f"{one.topic}-{one.partition}", finding.offset


def _known_not_found(logs: Iterable[AuditedPartition], directory: Path) -> list[str]:
    """Known defects of a recorded build that the audit does not name."""
    found = {
        _place(one, finding, directory)
        for one, finding in _violations(logs)
        if finding.rule is rules.TXN_REGISTERED_BEFORE_DATA
    }
    return [
        f"{name} {partition}: the known defect at offset {offset} is not found"
        for name, partition, offset in sorted(UNREGISTERED - found)
    ]


def shows_in_partition(case: RecordedDefect) -> bool:
    """Whether what the defect breaks shows in the files of its partition."""
    return any(not rule.startswith(FOUND_BY_THE_JOIN) for rule in case.rules)


def _control(case: RecordedDefect, report: AuditReport, directory: Path) -> Control:
    rule = RULES[case.rules[0]]
    expected = "suspicious" if rule is rules.SEQ_FIRST else "violated"
    found = _found_in(case, report, directory)
    got, detail = "nothing found", ""
    if found:
        one, first = found[0]
        right = first.rule.id in case.rules and first.offset == case.offset and len(found) == 1
        named = "violated" if first.severity is Severity.VIOLATION else str(first.severity)
        got = named if right else f"{len(found)} findings, the first {first.rule.id} at {first.offset}"
        detail = _line(one, first)
    return Control(case.case, rule, expected, got, detail or case.note)


def _found_in(case: RecordedDefect, report: AuditReport, directory: Path) -> list[tuple[AuditedPartition, Finding]]:
    """Violations and suspicions in the partitions of a case."""
    folder = directory / DEFECTS / case.case
    return [
        (one, finding)
        for one, finding in report.findings
        if Path(one.path).is_relative_to(folder) and finding.severity in _COUNTED
    ]


def _line(one: AuditedPartition, finding: Finding) -> str:
    return f"{one.topic}-{one.partition} offset {finding.offset}, {finding.rule.id}: {finding.message}"


def _disagreements(logs: Iterable[AuditedPartition], directory: Path) -> list[str]:
    """Partitions of which the broker said something else than the audit."""
    return [
        f"{_root(one.path, directory)} {name}: audited {_as_observed(one)}, the broker said {_reported(seen)}"
        for one, name, seen in _observed(logs, directory)
        if _as_observed(one) != _reported(seen)
    ]


def _observed(
    logs: Iterable[AuditedPartition], directory: Path
) -> list[tuple[AuditedPartition, str, ObservedPartition]]:
    reported = {recording: observed(recording) for recording in RECORDED}
    named = [(one, f"{one.topic}-{one.partition}", reported[_root(one.path, directory)]) for one in logs]
    return [(one, name, seen[name]) for one, name, seen in named if name in seen]


def _as_observed(one: AuditedPartition) -> tuple[int, int, int, int]:
    at = one.verdict.offsets
    return at.log_start, at.last_stable, at.log_end, one.verdict.visible_records


def _reported(seen: ObservedPartition) -> tuple[int, int, int, int]:
    return seen.log_start, seen.lso, seen.log_end, seen.delivered


def _false_alarms(cases: Iterable[RecordedDefect], report: AuditReport, directory: Path) -> list[str]:
    """Findings in cases that break no rule."""
    return [
        f"{case.case}: {_line(one, finding)}"
        for case in cases
        if not case.rules
        for one, finding in _found_in(case, report, directory)
    ]


def _wrong_damage(cases: Iterable[RecordedDefect], found: Iterable[SegmentDamage], directory: Path) -> list[str]:
    """Damaged cases that are not named exactly once, and damage named where there is none."""
    damaged = {case.case: 0 for case in cases if case.damage}
    wrong = []
    for bad in found:
        parts = Path(bad.path).relative_to(directory).parts
        if parts[0] == DEFECTS and parts[1] in damaged:
            damaged[parts[1]] += 1
        else:
            wrong.append(f"{'/'.join(parts)} position {bad.position}: {bad.message}")
    return wrong + [f"{case}: named {count} times, expected once" for case, count in damaged.items() if count != 1]


def _figures(wholes: Sequence[AuditReport], cases: AuditReport, directory: Path) -> dict[str, object]:
    logs = [one for whole in wholes for one in whole.audited]
    transactions = sum((whole.transactions.counts for whole in wholes), Counter[str]())
    seen = _observed(logs, directory)
    findings = [finding for one in logs for finding in one.verdict.findings]
    return {
        "logs": len(RECORDED),
        "partitions": len(logs),
        "batches": sum(one.verdict.batches for one in logs),
        "records": sum(one.verdict.records for one in logs),
        "open_transactions": sum(len(one.verdict.open_transactions) for one in logs),
        "transactions": dict(transactions),
        "acknowledged": sum(whole.history.judged for whole in wholes),
        "findings": {severity.value: sum(one.severity is severity for one in findings) for severity in Severity},
        "compared_with_broker": len(seen),
        "lso_agrees": sum(one.verdict.offsets.last_stable == reported.lso for one, _, reported in seen),
        "visible_agrees": sum(one.verdict.visible_records == reported.delivered for one, _, reported in seen),
        "defects": len(_audited_cases(cases, directory)),
        "seconds": round(sum(whole.seconds for whole in wholes) + cases.seconds, 3),
    }


def _audited_cases(report: AuditReport, directory: Path) -> frozenset[str]:
    """Names of the cases whose partitions were audited."""
    folder = directory / DEFECTS
    paths = [Path(one.path) for one in report.audited]
    return frozenset(path.relative_to(folder).parts[0] for path in paths if path.is_relative_to(folder))

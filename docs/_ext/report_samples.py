"""One report of each command with a value in every place, made from the types of the code: it shows all fields."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from types import UnionType
from typing import Any, Final, NewType, Union, get_args, get_origin, get_type_hints

from model_tests.audit.findings import LogBounds
from model_tests.audit.group_log import TOPIC as OFFSETS_TOPIC
from model_tests.audit.partition_verdict import PartitionVerdict
from model_tests.audit.report import AuditedPartition, AuditReport
from model_tests.audit.transactions_report import ListedTransactions
from model_tests.bugs.command import BugsReport
from model_tests.bugs.judged import judged
from model_tests.common.reports import Report
from model_tests.conform.report import ConformReport
from model_tests.probe.report import ProbeReport
from model_tests.record.report import RecordReport
from model_tests.serve.report import ServeReport
from model_tests.verify.breaking import Lost, ViolatingRun
from model_tests.verify.older_versions import Earlier
from model_tests.verify.parts import PARTS
from model_tests.verify.prove import ProofReport
from model_tests.verify.report import PartRun, VerifyReport
from model_tests.verify.results import Figure, PartResult, RunEffort
from spec.bugs.catalogue import BUGS
from spec.engines.induction import Obligation
from spec.engines.verdict import Proved, Unknown
from spec.rules import SEQ_SUCCESSOR, Rule
from spec.systems.assumptions import ONE_COORDINATOR_AT_A_TIME, Assumption

QUICK: Final = "KAFKA-17507"
"""A bug that is found in a moment."""

ANYTHING: Final = type("Anything", (), {})()
"""Stands where a report has whatever the case brings with it."""

GIVEN: Final[Mapping[object, object]] = {
    int: 1,
    float: 0.5,
    bool: False,
    str: "text",
    Rule: SEQ_SUCCESSOR,
    Assumption: ONE_COORDINATOR_AT_A_TIME,
    object: ANYTHING,
    Any: ANYTHING,
    Figure: ANYTHING,
}
NOT_REPORTED: Final[Mapping[str, object]] = {
    "TransactionEvidence": object,
    "AttemptTally": object,
    "ClusterSide": object,
}
"""Types that only a type checker imports, of fields that no report has."""

SPECIAL: Final[Mapping[object, Mapping[str, Any]]] = {
    AuditedPartition: {"topic": OFFSETS_TOPIC},
    PartitionVerdict: {"reported": None, "cluster": None, "tallies": (), "offsets": LogBounds(0, 0, 1, 1)},
    AuditReport: {"shown": ListedTransactions(all_of_them=True)},
    Obligation: {"verdict": Proved()},
}
"""Fields that are no part of a report, or say what it lists; and a partition of groups that is held back."""


def sample(kind: Any) -> Any:
    """A value of a type, with one element in every collection."""
    if kind in GIVEN:
        return GIVEN[kind]
    if isinstance(kind, NewType):
        return sample(kind.__supertype__)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    if is_dataclass(kind):
        return filled(kind, **SPECIAL.get(kind, {}))
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return kind(*(sample(each) for each in get_type_hints(kind).values()))
    return _collection(get_origin(kind), get_args(kind))


def filled(kind: Any, **given: Any) -> Any:
    """A record with these fields, and a sample in every other."""
    hints = get_type_hints(kind, localns=dict(NOT_REPORTED))
    missing = {part.name: sample(hints[part.name]) for part in fields(kind) if part.name not in given}
    return kind(**given, **missing)


def _collection(origin: Any, inside: tuple[Any, ...]) -> Any:
    if origin in (Union, UnionType):
        return sample(inside[0])
    if origin is tuple:
        return (sample(inside[0]),) if inside[-1] is Ellipsis else tuple(sample(part) for part in inside)
    if origin in (list, frozenset):
        return origin([sample(inside[0])])
    if origin is Counter:
        return Counter({sample(inside[0]): 1})
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {sample(inside[0]): sample(inside[1])}
    raise TypeError(f"no sample of {origin} of {inside}")


def _verify_report() -> VerifyReport:
    part = filled(PartResult, name=PARTS[0].name, extra={"figure": ANYTHING})
    outcomes = tuple(filled(PartRun, part=PARTS[0], found=part, share=share) for share in (60.0, None))
    report: VerifyReport = filled(VerifyReport, effort=RunEffort.DEFAULT, outcomes=outcomes)
    return report


def _proof_report() -> ProofReport:
    """An obligation that fails under an earlier version, and another one where its run is from."""
    fails = filled(Obligation, verdict=Unknown("text"))
    run = filled(ViolatingRun, open=(replace(fails, claim="another lemma"),), lost=(Lost(fails, 0),))
    report: ProofReport = filled(ProofReport, earlier=(filled(Earlier, obligations=(fails,), run=run),))
    return report


def samples() -> Mapping[str, Report]:
    """A full report of each command that judges."""
    return {
        "bugs": BugsReport((judged(BUGS[QUICK]),)),
        "prove": _proof_report(),
        "conform": sample(ConformReport),
        "probe": sample(ProbeReport),
        "record": sample(RecordReport),
        "serve": sample(ServeReport),
        "audit": sample(AuditReport),
        "verify": _verify_report(),
    }

"""One broken guard in the specification, and every layer that reads it: each must turn red and name the rule.

A layer that stays green restates the guard instead of reading it. The reference is left as it is.
"""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from model_tests.conformance.bundled import sample
from model_tests.conformance.files import Found, parsed
from model_tests.conformance.part import judge_rules
from model_tests.conformance.report import ConformReport
from model_tests.mutants.planted import Patch, Planted
from model_tests.traces import check, simulate
from model_tests.traces.audit import run_here
from model_tests.traces.audit_recordings import DEFECTS, RECORDED, unpacked
from model_tests.traces.schema import Row, arrow_schema
from model_tests.verify.idempotence_searches import searched
from model_tests.verify.looking import look, vacuous
from model_tests.verify.proofs import PROVED_HERE, proofs
from model_tests.verify.results import Effort
from spec import rules
from spec.algebra import Term, all_of, negate
from spec.engines.verdict import Proved, Refuted
from spec.protocol import completing, ending, fence, seq
from spec.vocabulary import MAX_SEQUENCE, Origin

Layer: TypeAlias = Callable[[Planted], frozenset[str]]
"""Ids of the rules that a layer finds violated while the guard is broken."""

TRACES: Final = 20
ONE_SESSION_IN: Final = 7
"""How much the trace check and the conformance replay judge for one broken guard."""

FAMILIES: Final = ("A", "Ax", "D", "ED", "FA", "FD")
"""Families of sessions that are about appends and what is read of them."""

COORDINATED: Final = ("B", "Bh", "EB", "EBh", "T", "ET")
ONE_COORDINATED_IN: Final = 20
"""Families of sessions that are about coordinators, and how much of them is judged."""

AUDITED: Final = (DEFECTS, RECORDED[-1])
"""The logs that are audited for one broken guard: those with known defects, and the smaller of the clean ones."""

_OF_PROFILES: Final = tuple(seed for seed in range(600) if simulate.profile_of(seed) in ("4.3", "2.4"))
_CANDIDATES: Final = tuple(seed for seed in _OF_PROFILES if simulate.workload_of(seed) != "transactions")
_TRANSACTIONS: Final = tuple(seed for seed in _OF_PROFILES if simulate.workload_of(seed) == "transactions")


def _never(*_: object) -> Term:
    return False


def _always(*_: object) -> Term:
    return True


def _two_later(last: Term, sequence: Term, *_: object) -> Term:
    return sequence == last + 2


def _without_wrap(last: Term, sequence: Term, *_: object) -> Term:
    return sequence == last + 1


def _newer(entry: Any, request: Any) -> Term:
    return request.producer_epoch > entry.epoch


def _starts_at_one(entry: Any, request: Any) -> Term:
    return all_of(seq.changes_epoch(entry, request), negate(request.base_sequence == 1))


def _starts_at_one_if_demanded(entry: Any, request: Any, profile: Any) -> Term:
    return all_of(negate(profile.any_first_sequence), seq.is_unknown(entry), negate(request.base_sequence == 1))


def _well_formed(request: Any) -> Mapping[str, Term]:
    return dict.fromkeys(_is_malformed(request), False)


_is_malformed: Final = seq.is_malformed


OF_COORDINATOR: Final = (
    Planted("any epoch ends", rules.FENCE_STALE_EPOCH, (Patch(ending, "is_valid_epoch", _always),)),
    Planted("nothing times out", rules.TXN_TIMEOUT, (Patch(completing, "is_timed_out", _never),)),
)
"""Broken guards of the coordinator, which other traces and sessions see."""

BROKEN: Final = (
    Planted("a batch follows two after the last", rules.SEQ_SUCCESSOR, (Patch(seq, "is_successor", _two_later),)),
    Planted("sequences do not wrap", rules.SEQ_SUCCESSOR, (Patch(seq, "is_successor", _without_wrap),)),
    Planted("gaps are let through", rules.SEQ_SUCCESSOR, (Patch(seq, "skips", _never),)),
    Planted("resends are not recognised", rules.SEQ_DUPLICATE_WINDOW, (Patch(seq, "is_resend_of", _never),)),
    Planted("newer epochs are stale", rules.FENCE_STALE_EPOCH, (Patch(fence, "is_stale", _newer),)),
    Planted("no epoch is stale", rules.FENCE_STALE_EPOCH, (Patch(fence, "is_stale", _never),)),
    Planted("an epoch starts anywhere", rules.SEQ_EPOCH_RESET, (Patch(seq, "resets_wrongly", _never),)),
    Planted("an epoch starts at 1", rules.SEQ_EPOCH_RESET, (Patch(seq, "resets_wrongly", _starts_at_one),)),
    Planted("a producer starts at 1", rules.SEQ_FIRST, (Patch(seq, "starts_wrongly", _starts_at_one_if_demanded),)),
    Planted("any form will do", rules.SEQ_WELL_FORMED, (Patch(seq, "is_malformed", _well_formed),)),
    *OF_COORDINATOR,
)
"""Broken guards, each with the rule that must be named."""

_NEWEST_ONLY: Final = "the system has the newest profile, in which the first sequence is free"
_ONE_PARTITION: Final = "the system of this layer is one partition, without a coordinator"
_LEGAL_FORM: Final = "the producer of the system sends only batches of a legal form"

BLIND: Final[Mapping[str, Mapping[str, str]]] = {
    "sequences do not wrap": {"audit": "no recorded log has 2^31 records of one producer"},
    "resends are not recognised": {"audit": "a log has no resends: what was recognised was not appended"},
    "a producer starts at 1": {
        "conformance": "no recording is of a broker before 2.5, where the first sequence is checked",
        "proof": _NEWEST_ONLY,
        "search": _NEWEST_ONLY,
    },
    "any form will do": {
        "search": _LEGAL_FORM,
        "audit": "a log has no malformed batches: what was refused was not appended",
    },
    "any epoch ends": {
        "search": _ONE_PARTITION,
        "audit": "a log has no requests: an EndTxn that was refused left no record",
    },
    "nothing times out": {
        "proof": "what never times out violates nothing that is proved: safety alone is",
        "search": _ONE_PARTITION,
        "audit": "a log does not say why a transaction was aborted",
    },
}
"""Layers that cannot see a broken guard, each with the reason."""

NAMES_THEOREM: Final = frozenset({"proof", "search"})
"""Layers that name the theorem or lemma that falls, which the broken rule carries."""


def reds(mutant: Planted, layers: Mapping[str, Layer] | None = None) -> dict[str, frozenset[str]]:
    """Each layer with the ids of the rules that it finds violated under the broken guard."""
    asked = LAYERS if layers is None else layers
    if "trace" in asked:
        _true_traces(mutant in OF_COORDINATOR)  # made by the reference, and read before anything is broken
    if "audit" in asked:
        _true_findings()
    with mutant.in_place():
        return {name: layer(mutant) for name, layer in asked.items()}


def on_traces(mutant: Planted) -> frozenset[str]:
    """The trace check on Spark, its columns compiled from the broken decision."""
    report = check.run(str(_true_traces(mutant in OF_COORDINATOR)))
    return frozenset(count.rule for count in report.rules if count.violations or count.known)


def on_recordings(mutant: Planted) -> frozenset[str]:
    """The conformance replay of recorded sessions."""
    coordinated = mutant in OF_COORDINATOR
    lines = sample(
        ONE_COORDINATED_IN if coordinated else ONE_SESSION_IN, COORDINATED if coordinated else FAMILIES
    ).lines
    found = (item for item in map(parsed, lines) if isinstance(item, Found))
    against = judge_rules(found, ConformReport()).against
    return frozenset(rule.id for rule, count in against.items() if count)


def by_proof(mutant: Planted) -> frozenset[str]:
    """The proofs: rules of the obligations and facts that no longer hold."""
    proved = proofs()
    obligations = (*proved.system, *proved.facts)
    return frozenset(o.rule.id for o in obligations if not isinstance(o.verdict, Proved))


def by_search(mutant: Planted) -> frozenset[str]:
    """Explicit and bounded search of the small instances: claims that are violated, and what can no longer happen."""
    small = searched().explored_by(Effort.QUICK)
    looks = [look(instance.built(), PROVED_HERE, instance.depth[Effort.QUICK]) for instance in small]
    violated = [each.refuted.claim if isinstance(each.refuted, Refuted) else "" for each in looks if each.refuted]
    return frozenset([*violated, *vacuous([small[0].built()])])


def on_logs(mutant: Planted) -> frozenset[str]:
    """The audit of real logs, clean and defective: rules that it names where they hold, or misses where they do not."""
    return frozenset(rule for rule, *_ in _findings() ^ _true_findings())


def _findings() -> frozenset[tuple[str, str, int, int]]:
    """What the audit finds in the unpacked logs: rule, partition, offset and producer."""
    report = run_here([_logs() / name for name in AUDITED])
    return frozenset(
        (finding.rule.id, one.path, finding.offset, finding.producer_id) for one, finding in report.findings
    )


@cache
def _true_findings() -> frozenset[tuple[str, str, int, int]]:
    return _findings()


@cache
def _logs() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="eos-crossreading-"))
    with unpacked() as logs:
        for name in AUDITED:
            shutil.copytree(logs / name, directory / name)
    return directory


def seen(mutant: Planted, named: Mapping[str, frozenset[str]]) -> dict[str, bool]:
    """Whether each layer turned red as it must; a layer that is blind to the guard is left out."""
    blind = BLIND.get(mutant.name, {})
    return {
        layer: bool(rules_named) if layer in NAMES_THEOREM else mutant.rule.id in rules_named
        for layer, rules_named in named.items()
        if layer not in blind
    }


LAYERS: Final[Mapping[str, Layer]] = {
    "trace": on_traces,
    "conformance": on_recordings,
    "proof": by_proof,
    "search": by_search,
    "audit": on_logs,
}
"""Every layer that reads the decision; a new one is one more line."""


@cache
def _true_traces(coordinated: bool) -> Path:
    directory = Path(tempfile.mkdtemp(prefix="eos-crossreading-"))
    traces = [simulate.trace_of(seed) for seed in _TRANSACTIONS[:TRACES]] if coordinated else _traces_of_logs()
    rows = [row for trace in traces for row in trace]
    pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema()), directory / "true.parquet")
    return directory


def _traces_of_logs() -> list[list[Row]]:
    traces = [simulate.trace_of(seed) for seed in _CANDIDATES[:TRACES]]
    wrapping = next(trace for trace in map(simulate.trace_of, _CANDIDATES) if any(map(_follows_the_wrap, trace)))
    if wrapping not in traces:  # wraps are rare, and no other step tells whether they are allowed
        traces.append(wrapping)
    return traces


def _follows_the_wrap(row: Row) -> bool:
    """A client's batch at sequence 0 was appended right after the last sequence of its epoch."""
    follows = row["base_sequence"] == 0 and row["before_cached_0_last_sequence"] == MAX_SEQUENCE
    accepted = row["appended"] and row["origin"] == Origin.CLIENT and not row["control"]
    return bool(accepted and follows and row["before_epoch"] == row["producer_epoch"])

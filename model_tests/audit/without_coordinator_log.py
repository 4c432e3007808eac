"""Findings about markers whose transactions are in no coordinator's log."""

from collections.abc import Iterable, Iterator, Sequence

from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.findings import Finding
from model_tests.audit.transaction_findings import Located, hidden, outcome_word
from model_tests.audit.transactions_join import MarkedData, ProducerTransactions, unended
from model_tests.audit.transactions_rows import broken
from model_tests.audit.transactions_summary import DataRun
from model_tests.histories.severity import Severity
from spec import rules
from spec.judging.judge_orphans import MixedKind, RaisedEpoch, judge_mixed_epochs, judge_raised_epoch, mixed_kind
from spec.protocol.coordinator import BUMPING
from spec.rules import Rule
from spec.vocabulary import ABSENT, ControlType


def by_complete_record(producer: ProducerTransactions) -> dict[int, CoordinatorTransaction]:
    """By epoch, the transactions that have only their Complete record left; under version 2 each has its own epoch."""
    known = [one.known for one in producer.transactions]
    alone = [one for one in known if one.after_hole and not one.listed and one.client_version >= BUMPING]
    return {one.marker_epoch: one for one in alone if not one.doubtful}


def judge_alone(producer: ProducerTransactions, markers: Sequence[MarkedData]) -> Iterator[Located]:
    """What markers without a coordinator's record say by themselves."""
    yield from _torn_by_epoch(producer, markers)
    yield from _mixed_epochs(producer, markers)


def judge_behind_hole(producer: ProducerTransactions) -> Iterator[Located]:
    """What the markers of transactions behind holes say of data from before: its transaction may be in the hole."""
    behind = (one.ended for one in producer.transactions if one.known.after_hole)
    yield from _mixed_epochs(producer, (each for ended in behind for each in ended if not each.again))


def _mixed_epochs(producer: ProducerTransactions, markers: Iterable[MarkedData]) -> Iterator[Located]:
    """Data of two epochs before one marker: data was written unregistered, or a marker between them is missing."""
    unmarked = unended(one for one in producer.transactions if one.known.completed and not one.known.doubtful)
    for ended in markers:
        if ended.runs and (ended.place.log, ended.runs[0].first_offset) not in unmarked:
            yield from _mixed_at(producer, ended)


def _mixed_at(producer: ProducerTransactions, ended: MarkedData) -> Iterator[Located]:
    first, last = ended.runs[0], ended.runs[-1]
    own = _listed(producer, first.producer_epoch)
    has_it = own is None or (ended.place.topic, ended.place.partition) in own.partitions
    known = ABSENT if own is None else own.client_version, has_it
    hides = hidden(ended.place, first.first_offset, ended.marker.offset)
    epochs = last.producer_epoch, ended.marker.producer_epoch
    kind = MixedKind(mixed_kind(*epochs, *known))
    for check in broken(judge_mixed_epochs(first.producer_epoch, *epochs, hides, *known)):
        yield ended.place, _mixed(check.rule, kind, ended, own)


def _listed(producer: ProducerTransactions, epoch: int) -> CoordinatorTransaction | None:
    """The first transaction of an epoch that was decided, and of which the partitions are known."""
    known = (one.known for one in producer.transactions)
    return next((one for one in known if one.producer_epoch == epoch and one.decided and one.listed), None)


def _mixed(rule: Rule, kind: MixedKind, ended: MarkedData, own: CoordinatorTransaction | None) -> Finding:
    first, last = ended.runs[0], ended.runs[-1]
    run, whose = first, ""
    match kind:
        case MixedKind.EARLIER_UNREGISTERED if own is not None:
            at, whose = f"(offset {own.prepared_offset} of the coordinator's log)", own.transactional_id
            why = f"the first one's transaction {at} does not have this partition"
        case MixedKind.LATER_UNREGISTERED:
            run, why = last, "the later one is of no registered transaction"
        case _:
            why = "the first one's marker is missing"
    message = (
        f"data of epochs {first.producer_epoch} and {last.producer_epoch} before one marker, of epoch "
        f"{ended.marker.producer_epoch} at offset {ended.marker.offset}: {why}"
    )
    fields = (run.first_offset, run.producer_id, run.producer_epoch, message)
    return Finding(rule, Severity.VIOLATION, *fields, transactional_id=whose, follows=(first.first_offset,))


def _raises(ended: MarkedData, run: DataRun) -> bool:
    """Whether a marker raised the epoch of its data, and no other marker is hidden between the two."""
    raised = run.producer_epoch < ended.marker.producer_epoch
    return raised and not hidden(ended.place, run.first_offset, ended.marker.offset)


def _torn_by_epoch(producer: ProducerTransactions, loose: Iterable[MarkedData]) -> Iterator[Located]:
    """Markers of one raised epoch with different outcomes: such an epoch ends one transaction only."""
    raised: dict[int, list[MarkedData]] = {}
    for ended in loose:
        raised.setdefault(ended.marker.producer_epoch, []).append(ended)
    for epoch, markers in raised.items():
        if epoch in by_complete_record(producer):
            continue
        of_one = any(_raises(ended, run) for ended in markers for run in ended.runs)
        counts = [
            sum(ended.marker.outcome == kind.value for ended in markers) for kind in ControlType if kind in (0, 1)
        ]
        aborts, commits = counts
        if not broken([judge_raised_epoch(RaisedEpoch(of_one, commits, aborts))]):
            continue
        fewer = min((0, 1), key=lambda outcome: counts[outcome])
        odd = next((ended for ended in markers if ended.marker.outcome == fewer), markers[0])
        message = (
            f"the marker of epoch {epoch} says {outcome_word(fewer)}, {counts[1 - fewer]} others of the same epoch say "
            f"{outcome_word(1 - fewer)}: the epoch was raised for one transaction"
        )
        finding = Finding(rules.TXN_ATOMIC, Severity.VIOLATION, odd.marker.offset, producer.producer_id, epoch, message)
        yield odd.place, finding

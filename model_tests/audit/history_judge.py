"""Compares the answers that clients got with the logs: what was committed and aborted is so, in all partitions."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

import spec.readings.reading_numpy  # noqa: F401  # arrays are operands of the decisions from here on
from model_tests.audit.findings import Finding
from model_tests.audit.history_log import AttemptTally
from model_tests.audit.history_report import HistoryReport
from model_tests.audit.losses import Flags, Loss, lost_acknowledgements
from model_tests.histories.as_journal import Acknowledged, ClientJournal, JournalTransaction, ReportedEnd
from model_tests.histories.severity import Severity
from spec import rules
from spec.evidence import Layer, evidences
from spec.judging.judge_clients import (
    AcknowledgedNext,
    AnsweredRecords,
    ClientAnswer,
    ClientVerdict,
    RecordFate,
    judge_acknowledged_next,
    judge_answer,
    judge_fates,
    judge_owner,
)
from spec.rules import Rule
from spec.vocabulary import ABSENT, Api


@dataclass(frozen=True, slots=True)
class TalliedLog:
    """The tallies of one log among those given, by its number and name.

    Attributes:
        losses: what elections outside the in-sync set may have taken from it.
        log_end: the log's end.
    """

    log: int
    name: str
    topic: str
    partition: int
    tallies: tuple[AttemptTally, ...]
    losses: tuple[Loss, ...] = ()
    log_end: int = ABSENT


@dataclass(frozen=True, slots=True)
class TallyInLog:
    """A tally with its log."""

    log: TalliedLog
    tally: AttemptTally

    @property
    def fate(self) -> RecordFate:
        """What became of the records."""
        return RecordFate(self.tally.fate)


def judge_history(
    history: ClientJournal,
    logs: Sequence[TalliedLog],
    identities: Mapping[str, frozenset[int]],
    hanging: set[tuple[int, int]],
) -> tuple[HistoryReport, list[tuple[int, Finding]]]:
    """Every attempt of the journal against the logs.

    Args:
        history: the journal.
        logs: one replica of each partition, with its tallies.
        identities: for a transactional id all producer ids that it had, where its coordinator's log has them all.
        hanging: logs and producer ids for which there is already a finding that data hangs there.
    """
    by_attempt: dict[int, list[TallyInLog]] = {}
    for log in logs:
        for tally in log.tallies:
            by_attempt.setdefault(tally.attempt, []).append(TallyInLog(log, tally))
    found = [
        located
        for number, places in sorted(by_attempt.items())
        for located in _judge(history, number, places, identities, hanging)
    ]
    found += _acknowledged_twice(history, logs)
    fates: Counter[str] = Counter()
    for number, places in by_attempt.items():
        for place in places:
            fates[f"{history.attempts[number].reported}: {place.fate.name.lower()}"] += place.tally.count
    total = sum(len(one.offsets) for one in history.acknowledged.values())
    attempts = Counter(one.reported.value for one in history.attempts)
    return HistoryReport(attempts, fates, total - sum(fates.values())), found


@evidences(rules.TXN_CLIENT_VERDICT, Layer.AUDIT)
def _judge(
    history: ClientJournal,
    number: int,
    places: Sequence[TallyInLog],
    identities: Mapping[str, frozenset[int]],
    hanging: set[tuple[int, int]],
) -> Iterator[tuple[int, Finding]]:
    """One attempt: the first thing that contradicts the answer that its client got."""
    attempt = history.attempts[number]
    reported, own = _ANSWERS[attempt.reported].value, identities.get(attempt.transactional_id)
    fates = {place.fate for place in places}
    of_places = [(place, _records(reported, place, own, hanging)) for place in places]
    wrong = [place for place, records in of_places if judge_answer(records) != HOLDS]
    others = [place for place, records in of_places if judge_owner(records) != HOLDS]
    if wrong:
        legal = all(judge_answer(records) == ClientVerdict.LEGAL for place, records in of_places if place in wrong)
        severity = Severity.SUSPICIOUS if legal else Severity.VIOLATION
        yield _finding(_rule(attempt), history, number, wrong, _reported(attempt), severity)
    elif others:
        what = f"{_reported(attempt)} at offsets that now have records of another producer"
        yield _finding(_rule(attempt), history, number, others, what, Severity.VIOLATION)
    elif judge_fates(RecordFate.ABORTED in fates, bool(fates & {RecordFate.VISIBLE, RecordFate.COMMITTED})) != HOLDS:
        what = "the client does not know the outcome; some of its records are committed, others aborted"
        yield _finding(rules.TXN_ATOMIC, history, number, places, what, Severity.VIOLATION)


HOLDS: Final = ClientVerdict.HOLDS

_ANSWERS: Final = {
    ReportedEnd.COMMITTED: ClientAnswer.COMMITTED,
    ReportedEnd.ABORTED: ClientAnswer.ABORTED,
    ReportedEnd.UNKNOWN: ClientAnswer.UNKNOWN,
    ReportedEnd.NO_TRANSACTION: ClientAnswer.NO_TRANSACTION,
}


def _records(
    answer: int, place: TallyInLog, own: frozenset[int] | None, hanging: set[tuple[int, int]]
) -> AnsweredRecords:
    producer = place.tally.producer_id
    foreign = bool(own) and producer >= 0 and producer not in (own or ())
    return AnsweredRecords(answer, place.tally.fate, (place.log.log, producer) in hanging, foreign)


def _rule(attempt: JournalTransaction) -> Rule:
    return rules.SEQ_EXACTLY_ONCE if attempt.reported is ReportedEnd.NO_TRANSACTION else rules.TXN_CLIENT_VERDICT


def _reported(attempt: JournalTransaction) -> str:
    return {
        ReportedEnd.COMMITTED: "the client got the answer that it is committed; records acknowledged in it are",
        ReportedEnd.ABORTED: "the client got the answer that it is aborted; records acknowledged in it are",
        ReportedEnd.UNKNOWN: "records acknowledged in it, of unknown outcome, are",
        ReportedEnd.NO_TRANSACTION: "records acknowledged outside transactions are",
    }[attempt.reported]


def _finding(
    rule: Rule, history: ClientJournal, number: int, places: Iterable[TallyInLog], what: str, severity: Severity
) -> tuple[int, Finding]:
    attempt = history.attempts[number]
    order = sorted(places, key=lambda place: (place.log.name, place.tally.offset))
    listed = ", ".join(
        f"{place.fate.name.lower()} at {place.log.name} offset {place.tally.offset} ({place.tally.count} records)"
        for place in order[:6]
    )
    message = f"{attempt.name} (line {attempt.line} of the journal): {what} {listed}"
    first = order[0]
    taken = [_taken(place, history.acknowledged.get((place.log.topic, place.log.partition))) for place in order]
    if None not in taken and severity is Severity.VIOLATION:
        severity = Severity.KNOWN
        message += f"; {_took(one for one in taken if one is not None)}"
    return first.log.log, Finding(
        rule,
        severity,
        first.tally.offset,
        first.tally.producer_id,
        ABSENT,
        message,
        transactional_id=attempt.transactional_id,
        step=Api.END_TXN if attempt.number is not None else Api.PRODUCE,
    )


def _taken(place: TallyInLog, acks: Acknowledged | None) -> Loss | None:
    """The election that took the records away, where that is shown of every one of them."""
    if acks is None:
        return None
    own = (acks.attempts == place.tally.attempt) & (acks.offsets >= place.tally.offset)
    own &= acks.offsets <= place.tally.last
    flags = [(loss, lost_acknowledgements(loss, acks, place.log.log_end)) for loss in place.log.losses]
    return next((loss for loss, lost in reversed(flags) if lost[own].all()), None) if own.any() else None


def _took(losses: Iterable[Loss]) -> str:
    """Which elections lost what."""
    return "; ".join(dict.fromkeys(f"{loss.election} lost records {loss.reported()}" for loss in losses))


def _acknowledged_twice(history: ClientJournal, logs: Sequence[TalliedLog]) -> Iterator[tuple[int, Finding]]:
    """Offsets that were acknowledged for two records: one of them cannot be there.

    A first record that an election has lost is distinguished from one whose loss nothing explains.
    """
    for log in logs:
        acks = history.acknowledged.get((log.topic, log.partition))
        if acks is None:
            continue
        verdicts = np.asarray(judge_acknowledged_next(_next_to_each_other(history, acks)), np.int64)
        left: Flags = verdicts != HOLDS.value
        first = (acks.order[1:] < acks.order[:-1]).astype(np.int64)  # which of a pair was acknowledged first
        for loss in log.losses:
            lost = lost_acknowledgements(loss, acks, log.log_end)
            explained = left & np.where(first == 1, lost[1:], lost[:-1])
            left = left & ~explained
            if explained.any():
                why = _took([loss])
                yield log.log, _twice(history, acks, explained, np.flatnonzero(explained)[0], Severity.KNOWN, why)
        certain = left & (verdicts == ClientVerdict.VIOLATED.value)
        if certain.any():
            yield log.log, _twice(history, acks, left, np.flatnonzero(certain)[0], Severity.VIOLATION)
        elif left.any():
            why = "a producer that does not wait for all replicas may lose the first one"
            yield log.log, _twice(history, acks, left, np.flatnonzero(left)[0], Severity.SUSPICIOUS, why)


def _next_to_each_other(history: ClientJournal, acks: Acknowledged) -> AcknowledgedNext:
    """The acknowledged offsets as columns, which are in the order of offsets."""
    outside = np.array([one.reported is ReportedEnd.NO_TRANSACTION for one in history.attempts], np.bool_)
    certain = ~outside[acks.attempts]
    return AcknowledgedNext(np.diff(acks.offsets), certain[1:] & certain[:-1])


def _twice(
    history: ClientJournal, acks: Acknowledged, pairs: Flags, shown: int, severity: Severity, why: str = ""
) -> Finding:
    """One finding for all offsets that were acknowledged twice, by the pair that is shown."""
    offset, one, other = int(acks.offsets[shown]), *(history.attempts[acks.attempts[shown + n]].name for n in (0, 1))
    message = f"offset {offset} was acknowledged twice, to {one} and to {other}"
    message += f"; and so {pairs.sum() - 1} more offsets" if pairs.sum() > 1 else ""
    message += f"; {why}" if why else ""
    return Finding(rules.SEQ_EXACTLY_ONCE, severity, offset, ABSENT, ABSENT, message, step=Api.PRODUCE)

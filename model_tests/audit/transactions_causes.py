"""Findings of one log that have one cause: the join with the coordinator's log, or a broken batch, explains them.

The join has a summary of each log, not its batches, so no log can be judged again with a batch repaired. A repair
removes the findings that would not be there without another finding. That other finding stays, as their cause. The
repair only has to name the cause (`model_tests.audit.diagnosis`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias, TypeVar

from model_tests.audit.diagnosis import Judge, Repair, diagnose
from model_tests.audit.findings import BrokenRule, Finding
from model_tests.audit.partition_verdict import AuditedTransactionLog
from model_tests.audit.repair_kinds import FILES, ONE_BATCH, OTHER_LOG, UNMARKED_MARKER, RepairKind
from model_tests.audit.transactions_summary import DataRun
from model_tests.histories.severity import Severity
from model_tests.logs.coordinator_log import TOPIC
from spec import rules
from spec.vocabulary import ABSENT, Api

Held: TypeAlias = Mapping[int, Finding]
"""The findings of a log by their numbers: those of the partition, then those of the join."""

Found = TypeVar("Found")

Caused: TypeAlias = tuple[int, frozenset[int]]
"""The number of a finding, and the numbers of the findings that it explains."""

_OF_EPOCHS: Final = (rules.FENCE_STALE_EPOCH, rules.FENCE_EPOCH_MONOTONE, rules.SEQ_EPOCH_RESET)
"""A partition's own findings after a batch with an epoch that is not its transaction's."""

_BESIDE: Final = (rules.SEQ_STATE_RECOVERABLE, rules.LSO_ABORTED_INDEX)
"""Rules about the files that a broker keeps beside its log."""

_OF_SEQUENCES: Final = (rules.SEQ_SUCCESSOR, rules.SEQ_EXACTLY_ONCE)


def diagnose_causes(
    own: Sequence[Finding], joined: Iterable[Finding], runs: Sequence[DataRun], batches: int
) -> list[Finding]:
    """The findings of a log that no other finding explains; each is the cause of what it explains.

    Args:
        own: findings of the partition.
        joined: findings of the join in it.
        runs: the transactional data of the log.
        batches: how many batches it has.
    """
    held: Held = dict(enumerate((*own, *joined)))
    for kind, explaining in _KINDS:
        found = explaining(held, len(own), runs)
        held = _explained(kind, held, found, partial(_merged, len(own)), batches)
    return list(held.values())


def _explained(
    kind: RepairKind,
    held: Mapping[int, Found],
    repairs: Iterable[Caused],
    merged: Callable[[int, Found, Sequence[Found]], Found],
    batches: int,
) -> dict[int, Found]:
    """What is left of the findings; groups of repairs without a common finding are searched separately.

    Args:
        kind: of the repairs.
        held: the findings by their numbers.
        repairs: which finding explains which others.
        merged: the finding of a number with those that it explains.
        batches: at how many places there may be a finding.
    """
    judge: Judge[Mapping[int, Found], Mapping[int, Found], int] = Judge(lambda left: left, len, iter, batches)
    gone: set[int] = set()
    mended: dict[int, Found] = {}
    for group in _connected(_with_indirect([one for one in repairs if one[1]])):
        numbers = frozenset().union(*({cause, *of} for cause, of in group))
        evidence: Mapping[int, Found] = {number: held[number] for number in sorted(numbers)}
        likeliest = sorted(group, key=lambda one: -len(one[1]))
        declared: Iterator[Repair[Mapping[int, Found], Found]] = (
            Repair(kind, (), partial(_as_cause, *one, merged), len(evidence)) for one in likeliest
        )
        left = diagnose(evidence, evidence, declared, judge).evidence
        gone |= numbers - left.keys()
        mended.update(left)
    return {number: mended.get(number, one) for number, one in held.items() if number not in gone}


def _with_indirect(repairs: Sequence[Caused]) -> list[Caused]:
    """Each repair with what the findings that it explains explain in turn."""
    direct: dict[int, set[int]] = {}
    for cause, of in repairs:
        direct.setdefault(cause, set()).update(of)

    def reached(cause: int, of: frozenset[int]) -> frozenset[int]:
        found: set[int] = set()
        left = set(of)
        while left:
            number = left.pop()
            found.add(number)
            left |= direct.get(number, set()) - found
        return frozenset(found - {cause})

    return [(cause, reached(cause, of)) for cause, of in repairs]


def _connected(repairs: Sequence[Caused]) -> Iterable[list[Caused]]:
    """The repairs in groups; no two groups have a finding in common."""
    leader: dict[int, int] = {}

    def led_by(number: int) -> int:
        while leader.setdefault(number, number) != number:
            number = leader[number]
        return number

    for cause, of in repairs:
        for number in of:
            leader[led_by(number)] = led_by(cause)
    groups: dict[int, list[Caused]] = {}
    for one in repairs:
        groups.setdefault(led_by(one[0]), []).append(one)
    return groups.values()


def _as_cause(
    cause: int,
    of: frozenset[int],
    merged: Callable[[int, Found, Sequence[Found]], Found],
    held: Mapping[int, Found],
) -> Mapping[int, Found]:
    """The findings, one of them with those that it caused, if it is still there."""
    if cause not in held:
        return held
    left = {number: one for number, one in held.items() if number not in of}
    return {**left, cause: merged(cause, held[cause], [one for number, one in held.items() if number in of])}


def _merged(joined: int, cause: int, finding: Finding, explained: Sequence[Finding]) -> Finding:
    """A finding with those that it caused; it takes over what the join says about the transaction."""
    merged = finding.causes(explained)
    of_join = [one for one in explained if one.step]
    said = [*of_join, merged] if cause < joined else [merged, *of_join]
    return replace(
        merged,
        transactional_id=next((one.transactional_id for one in said if one.transactional_id), ""),
        step=next((one.step for one in said if one.step), ""),
        remedy=next((one.remedy for one in said if one.remedy), ""),
    )


# --- one batch, judged by the partition and by the join -----------------------------------------------------------


def _of_one_batch(held: Held, joined: int, _: Sequence[DataRun]) -> Iterator[Caused]:
    """A finding of the join, and the first ones before it with the same cause; one is a consequence of the other."""
    for number in range(joined, len(held)):
        finding, seen = held[number], set[Severity]()
        for other in (each for each in range(number) if _same_cause(held[each], finding)):
            same = held[other]
            own = same.producer_id == finding.producer_id and same.severity is not Severity.SUSPICIOUS
            if same.severity not in seen:
                yield (other, frozenset({number})) if own and _is_there(same, finding) else (number, frozenset({other}))
            seen.add(same.severity)


def _same_cause(one: Finding, finding: Finding) -> bool:
    if one.producer_id != finding.producer_id:
        return finding.offset in one.found_at and finding.step != Api.WRITE_TXN_MARKERS
    if one.rule is rules.SEQ_FIRST and one.severity is Severity.SUSPICIOUS:
        return one.offset == finding.offset
    if one.severity is not Severity.VIOLATION or one.rule in _BESIDE:
        return False
    if one.offset <= finding.offset or one.found_at:
        return _is_there(one, finding)
    if finding.rule is one.rule is rules.FENCE_COORDINATOR_EPOCH:
        return bool(one.guard)  # after a marker with an epoch that is too high, later markers seem stale
    if finding.step == Api.WRITE_TXN_MARKERS:
        lower = one.rule in _OF_EPOCHS and one.producer_epoch < finding.producer_epoch
        return finding.rule is rules.TXN_MARKER_ONCE and not _is_missing(finding) and lower
    return finding.step == Api.PRODUCE and _follows_data(one, finding)


def _is_missing(finding: Finding) -> bool:
    """A marker is missing, and no other one that is there has been found to be it."""
    return finding.until != ABSENT and not finding.consequences


def _is_there(one: Finding, finding: Finding) -> bool:
    """The join's finding is about the batch of the partition's finding, or about a batch that is late because of it."""
    return finding.offset == one.offset or finding.offset in one.found_at


def _follows_data(one: Finding, finding: Finding) -> bool:
    """If data has an epoch that is too high, later data of the right epoch seems stale, or its sequences seem repeated.

    If the epoch is too low, its sequences seem to be missing from the right epoch.
    """
    if finding.rule is rules.TXN_REGISTERED_BEFORE_DATA:
        stale = one.rule in _OF_EPOCHS and one.producer_epoch < finding.producer_epoch
        return stale or (one.rule in _OF_SEQUENCES and one.producer_epoch == finding.producer_epoch)
    too_low = finding.rule is rules.FENCE_STALE_EPOCH and one.producer_epoch > finding.producer_epoch
    return too_low and one.rule in (*_OF_SEQUENCES, rules.SEQ_EPOCH_RESET)


# --- a marker that is not marked as one ---------------------------------------------------------------------------


def _unmarked(held: Held, *_: object) -> Iterator[Caused]:
    """A batch without a number, which may be the marker that its producer lacks: of two the first behind the data."""
    batches = [(cause, one) for cause, one in held.items() if one.rule is rules.SEQ_WELL_FORMED]
    for number, one in held.items():
        cause = next((cause for cause, batch in batches if _lacks(one, batch)), None)
        if cause is not None:
            yield cause, frozenset({number})


def _lacks(one: Finding, batch: Finding) -> bool:
    """Whether a finding is of a missing marker at the batch; a batch that is itself broken is a finding of its own."""
    return (
        one.producer_id == batch.producer_id
        and one.rule is not rules.SEQ_WELL_FORMED
        and one.offset < batch.offset <= one.until
        and one.severity is batch.severity is Severity.VIOLATION
    )


# --- files beside the log -----------------------------------------------------------------------------------------


def _beside(held: Held, _: int, runs: Sequence[DataRun]) -> Iterator[Caused]:
    """A broken batch or marker, and the findings about files that differ from the log only because of it."""
    following = {number: one for number, one in held.items() if one.follows}
    for cause, finding in held.items() if following else ():
        if finding.severity is Severity.VIOLATION:
            broken = _broken_by(finding, runs)
            of = (number for number, one in following.items() if number != cause and _follows(one, finding, broken))
            yield cause, frozenset(of)


@dataclass(frozen=True, slots=True)
class _Broken:
    """Offsets of what a finding has broken.

    Attributes:
        batches: batches, and the first batch of a transaction that lacks its marker.
        rest: those behind a broken batch in its transaction.
    """

    batches: frozenset[int]
    rest: range

    def has(self, offsets: Iterable[int]) -> bool:
        """Whether one of the offsets is among them."""
        return any(offset in self.batches or offset in self.rest for offset in offsets)


def _broken_by(cause: Finding, runs: Sequence[DataRun]) -> _Broken:
    whose = {cause.producer_id, *cause.others}
    own = [run for run in runs if run.producer_id in whose and run.first_offset <= cause.offset]
    latest = {run.producer_id: run.marker for run in sorted(own, key=lambda one: one.first_offset)}
    begun = (run.first_offset for run in own if run.marker == latest[run.producer_id])
    marker = next((run.marker for run in own if cause.offset <= run.last_offset), None)
    together = (run for run in runs if run.producer_id == cause.producer_id and run.marker == marker)
    end = max((run.last_offset for run in together), default=cause.offset)
    return _Broken(frozenset((cause.offset, *cause.found_at, *begun)), range(cause.offset, end + 1))


def _follows(one: Finding, cause: Finding, broken: _Broken) -> bool:
    """Whether a finding is a mere consequence of what another has broken."""
    if not broken.has(one.follows):
        return False
    lacks_marker = cause.until != ABSENT or cause.rule is rules.SEQ_WELL_FORMED
    about = {one.producer_id} if one.producer_id != ABSENT else set(one.others)
    own = not about.isdisjoint((cause.producer_id, *cause.others)) and cause.rule not in _BESIDE
    return own or lacks_marker or not set(cause.found_at).isdisjoint(one.follows)


def _alike(held: Held, *_: object) -> Iterator[Caused]:
    """Findings about files that differ from the log, unless another finding explains them: the first, and those alike.

    An entry of the aborted index is among them: its value shows that.
    """
    following = {number: one for number, one in held.items() if one.follows}
    for first, cause in following.items():
        same = (
            number
            for number, one in following.items()
            if number > first
            and not set(cause.follows).isdisjoint(one.follows)
            and rules.LSO_ABORTED_INDEX in (one.rule, cause.rule)
        )
        yield first, frozenset(same)


_KINDS: Final[tuple[tuple[RepairKind, Callable[[Held, int, Sequence[DataRun]], Iterator[Caused]]], ...]] = (
    (ONE_BATCH, _of_one_batch),
    (UNMARKED_MARKER, _unmarked),
    (FILES, _beside),
    (FILES, _alike),
)
"""The ways in which a finding explains others, in the order in which they are tried: the closest to the log first.

Each takes the findings, the number of the first that the join has made, and the transactional data of the log.
"""


# --- findings of other logs ---------------------------------------------------------------------------------------

_OF_IDENTITIES: Final = (rules.IDS_UNIQUE, rules.IDS_IDENTITY_NEVER_REPEATS, rules.FENCE_EPOCH_MONOTONE)
"""Rules about the producer ids and epochs that coordinators hand out."""


@dataclass(frozen=True, slots=True)
class _FoundInLog:
    """A finding with its number, and the numbers of those that it explains."""

    number: int
    log: AuditedTransactionLog
    finding: Finding
    explains: tuple[int, ...] = ()


def diagnose_across(
    logs: Sequence[AuditedTransactionLog], findings: Sequence[tuple[Finding, ...]]
) -> tuple[list[tuple[Finding, ...]], list[list[tuple[Finding, BrokenRule]]]]:
    """The findings of each log that none of another log explains; and what is explained there, with its cause."""
    placed = [(log, one) for log, own in zip(logs, findings, strict=True) for one in own]
    held = {number: _FoundInLog(number, *one) for number, one in enumerate(placed)}
    causes = {**_of_identities(held), **_of_answers(held)}
    causes |= {number: cause for number, cause in _of_replicas(held).items() if cause not in causes}
    explains: dict[int, set[int]] = {}
    for number, cause in causes.items():
        explains.setdefault(cause, set()).add(number)
    repairs = [(cause, frozenset(of)) for cause, of in explains.items()]

    def with_explained(_: int, one: _FoundInLog, explained: Sequence[_FoundInLog]) -> _FoundInLog:
        return replace(one, explains=tuple(each.number for each in explained))

    left = _explained(OTHER_LOG, held, repairs, with_explained, sum(log.verdict.batches for log in logs))
    explained_by = {number: one.finding for one in left.values() for number in one.explains}
    numbers, kept, explained = iter(held), list[tuple[Finding, ...]](), list[list[tuple[Finding, BrokenRule]]]()
    for own in findings:
        here = [next(numbers) for _ in own]
        kept.append(tuple(held[number].finding for number in here if number in left))
        gone = ((explained_by[number], held[number].finding) for number in here if number not in left)
        explained.append([(cause, each) for cause, one in gone for each in one.alone()])
    return kept, explained


def _sure(held: Mapping[int, _FoundInLog]) -> dict[int, _FoundInLog]:
    return {number: one for number, one in held.items() if one.finding.severity is Severity.VIOLATION}


def _of_identities(held: Mapping[int, _FoundInLog]) -> dict[int, int]:
    """An identity that a coordinator handed out twice breaks its producer's history wherever it writes."""
    sure = _sure(held)
    handed_out = {
        (one.log.cluster, one.finding.producer_id): number
        for number, one in sure.items()
        if one.log.topic == TOPIC and one.finding.rule in _OF_IDENTITIES
    }
    broken = {
        number: handed_out.get((one.log.cluster, one.finding.producer_id), ABSENT)
        for number, one in sure.items()
        if one.log.topic != TOPIC and one.finding.rule in (*_OF_EPOCHS, *_OF_SEQUENCES)
    }
    return {number: cause for number, cause in broken.items() if cause != ABSENT}


def _of_replicas(held: Mapping[int, _FoundInLog]) -> dict[int, int]:
    """A wrong marker is in one replica only: the others differ from it there."""
    markers = {_at(one): number for number, one in _sure(held).items() if _is_of_marker(one.finding)}
    differ = (number for number, one in held.items() if one.finding.rule is rules.REPL_PREFIX_AGREEMENT)
    return {number: markers[_at(held[number])] for number in differ if _at(held[number]) in markers}


def _of_answers(held: Mapping[int, _FoundInLog]) -> dict[int, int]:
    """What a wrong marker makes of a transaction, or that it is missing, is not what the client was answered."""
    sure = _sure(held)
    answers = {number: one for number, one in sure.items() if one.finding.rule is rules.TXN_CLIENT_VERDICT}
    markers = {number: one for number, one in sure.items() if one.finding.step == Api.WRITE_TXN_MARKERS and answers}
    ends = {
        number: next((cause for cause, each in markers.items() if _ends_data_of(each, one)), ABSENT)
        for number, one in answers.items()
    }
    return {number: cause for number, cause in ends.items() if cause != ABSENT}


def _is_of_marker(one: Finding) -> bool:
    return one.step == Api.WRITE_TXN_MARKERS and one.until == ABSENT


def _ends_data_of(marked: _FoundInLog, answered: _FoundInLog) -> bool:
    """Whether a finding is about the marker that ends the data of another one, or should end it."""
    cause, one, reported = marked.finding, answered.finding, answered.log.verdict.reported
    if marked.log is not answered.log or cause.transactional_id != one.transactional_id or reported is None:
        return False
    here = reported.here
    number = next((number for number, each in enumerate(here.markers) if each.offset == cause.offset), ABSENT)
    ended = (run for run in here.runs if run.marker == number != ABSENT)
    return cause.offset <= one.offset <= cause.until or any(
        run.first_offset <= one.offset <= run.last_offset for run in ended
    )


def _at(one: _FoundInLog) -> tuple[str, str, int, int]:
    return one.log.cluster, one.log.topic, one.log.partition, one.finding.offset

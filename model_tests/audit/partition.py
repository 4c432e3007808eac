"""The audit of one partition's log: arrays in, a verdict out. No Spark, no files."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from model_tests.audit.aborted import IndexedLog, judge_aborted, undecided_entries
from model_tests.audit.decision import LinkDecisions, decide, scalar_request
from model_tests.audit.findings import Finding, LogBounds
from model_tests.audit.fold import UNREADABLE, Break, LinkFold
from model_tests.audit.holes import Holes, Surroundings
from model_tests.audit.links import Links, latest_before, link
from model_tests.audit.lost_segments import without_lost
from model_tests.audit.messages import firsts_after_cleaning, undecided, unusual_first, violation
from model_tests.audit.partial_log import NONE_DROPPED, Condensed, RereadRequest, Wanted, uncondensed
from model_tests.audit.partition_context import (
    PartitionContext,
    Transactions,
    first_unreplicated,
    open_transactions,
    transactions,
)
from model_tests.audit.partition_verdict import PartitionVerdict
from model_tests.audit.pieces import ReaderTally, tally
from model_tests.audit.readers import seen_by_readers, undecided_below
from model_tests.audit.spans import OPEN, spans
from model_tests.audit.state import judge_state, undecided_state
from model_tests.audit.transactions_summary import TransactionEvidence, begun_by_brokers, summarized
from model_tests.audit.wrong_producer_id import JudgedBatches, diagnose_producer_ids
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_batches import Batches, Facts
from model_tests.logs.kafka_log_derived import DerivedFiles
from spec import rules
from spec.evidence import Layer, evidences
from spec.protocol import lso
from spec.protocol.seq import last_sequence
from spec.rules import Rule
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT

WHOLE: Final = Surroundings()
"""A log from offset 0 in one segment, without any checkpoint."""


def audit_batches(
    batches: Batches,
    around: Surroundings = WHOLE,
    profile: Profile = NEWEST,
    without: frozenset[str] = NONE_DROPPED,
    derived: DerivedFiles | None = None,
) -> PartitionVerdict:
    """Judge one partition, all of whose batches are there.

    Args:
        batches: the log, in order.
        around: what is known of it besides.
        profile: the release whose decision judges.
        without: names of guards that never apply, to see what the audit no longer finds.
        derived: the files that the broker derived from it; none where only the batches are judged.
    """
    return conclude(uncondensed(batches, around), Wanted(around, around.judging(profile), without=without), derived)[0]


def conclude(
    log: Condensed, wanted: Wanted, derived: DerivedFiles | None = None
) -> tuple[PartitionVerdict, RereadRequest]:
    """Judge one partition by what is left of its log.

    Args:
        log: the whole log, condensed or not.
        wanted: what was kept of it.
        derived: the files that the broker derived from it.

    Returns:
        The verdict, and what else must be kept of the log for it to be right. Of a log that is not condensed at all
        nothing more is needed.
    """
    around = wanted.around
    log = without_lost(log, around)
    batches = log.rows
    found = transactions(batches)
    opened = open_transactions(batches, found)
    offsets = _offsets(batches, found, around, min((one.first_offset for one in opened), default=ABSENT))
    counted = tally(
        log.pieces, log.ends, (offsets.log_start, offsets.last_stable), derived.aborted if derived is not None else ()
    )
    missing = log.holes(around)
    judged = _judged_batches(batches, log, missing, wanted)
    links, decisions = judged.links, judged.decisions
    judged, misnamed = diagnose_producer_ids(judged, lambda changed: _judged_batches(changed, log, missing, wanted))
    logged = PartitionContext(log, batches, found, links, missing, around, wanted.profile, offsets)
    logged.reread.add({*log.doubted, *links.batches.producer_id[decisions.doubtful].tolist()})
    derived_judgement, judged_files = _judge_derived_files(logged, derived or DerivedFiles(), counted)
    findings = [
        *misnamed,
        *_sequence_findings(judged.breaks, around),
        *_first_findings(judged.links, judged.unusual, missing, around),
        *_bounds_findings(offsets, around, unread=not log.totals.batches),
        *derived_judgement,
    ]
    here = summarized(log, missing, around, offsets.log_end)
    verdict = PartitionVerdict(
        offsets=offsets,
        batches=log.totals.batches,
        records=log.totals.records,
        visible_records=counted.visible,
        waiting_records=counted.waiting,
        producers=int(np.unique(links.batches.producer_id).size),
        open_transactions=begun_by_brokers(opened, here),
        findings=tuple(sorted(findings, key=lambda finding: (finding.offset, finding.rule.id))),
        judged=_judged(decisions, log) | judged_files,
        unjudged=sum(broken.doubt == UNREADABLE for broken in judged.breaks),
        cleaned=around.cleaned_to > 0 or log.totals.rewritten > 0,
        reported=TransactionEvidence(here),
    )
    return verdict, _beyond(logged.reread, log, wanted)


def _judged_batches(batches: Batches, log: Condensed, missing: Holes, wanted: Wanted) -> JudgedBatches:
    """The append decision on the batches, and what is broken."""
    links = link(batches, wanted.around, wanted.profile)
    decisions = _still_open(decide(links, wanted.profile, wanted.without), links, log)
    breaks = LinkFold(links, missing, wanted.around, wanted.profile, wanted.without).breaks(decisions)
    return JudgedBatches(batches, links, decisions, breaks, dict.fromkeys(_unusual(links, decisions, breaks), ()))


def _still_open(decisions: LinkDecisions, links: Links, log: Condensed) -> LinkDecisions:
    """What is decided of batches that nothing was decided of before."""
    agreed, settled = log.marks.agreed[links.row], log.marks.settled[links.row]
    return LinkDecisions(
        refused=decisions.refused & ~settled,
        guessed=decisions.guessed & ~agreed,
        unusual=decisions.unusual & ~settled,
        at_stake={rule: fact & ~settled for rule, fact in decisions.at_stake.items()},
    )


def _beyond(request: RereadRequest, log: Condensed, wanted: Wanted) -> RereadRequest:
    """What else is needed and not there yet."""
    if len(log.rows) == log.totals.batches and not log.doubted:
        return RereadRequest()
    return RereadRequest(request.producers - wanted.whole, request.places - set(wanted.places.tolist()))


@evidences(rules.SEQ_SUCCESSOR, Layer.AUDIT)
@evidences(rules.SEQ_EPOCH_RESET, Layer.AUDIT)
@evidences(rules.SEQ_EXACTLY_ONCE, Layer.AUDIT)
@evidences(rules.FENCE_STALE_EPOCH, Layer.AUDIT)
@evidences(rules.FENCE_EPOCH_MONOTONE, Layer.AUDIT)
@evidences(rules.FENCE_COORDINATOR_EPOCH, Layer.AUDIT)
def _sequence_findings(breaks: list[Break], around: Surroundings) -> list[Finding]:
    """What the append decision refuses; where unreadable bytes explain it, their damage is enough."""
    doubtful = [broken for broken in breaks if broken.doubt and broken.doubt != UNREADABLE]
    return [violation(broken) for broken in breaks if not broken.doubt] + undecided(doubtful, around)


@evidences(rules.SEQ_FIRST, Layer.AUDIT)
def _first_findings(
    links: Links, unusual_links: Mapping[int, tuple[int, ...]], missing: Holes, around: Surroundings
) -> list[Finding]:
    """Producers that do not begin at sequence 0, on a log from offset 0."""
    if around.first_base != 0:
        return []
    unusual, cleaned = [], []
    for number, elsewhere in unusual_links.items():
        row = int(links.row[number])
        if missing.cleaned_between(ABSENT, row):
            cleaned.append(scalar_request(links, number))
        elif not missing.unreadable_between(ABSENT, row):
            unusual.append(unusual_first(scalar_request(links, number), elsewhere))
    return unusual + firsts_after_cleaning(cleaned)


def _unusual(links: Links, decisions: LinkDecisions, breaks: list[Break]) -> list[int]:
    """First batches that do not start at 0, but for those with which the next is at odds: that is one finding.

    So is a batch that belongs before one of them and comes later.
    """
    of_sequences = (rules.SEQ_SUCCESSOR, rules.SEQ_EXACTLY_ONCE)
    at_odds = {broken.number for broken in breaks if broken.rule in of_sequences and not broken.doubt}
    data = np.flatnonzero(~links.batches.control)
    refused = [broken.number for broken in breaks if not broken.doubt]
    numbers = np.setdiff1d(np.flatnonzero(decisions.unusual & ~_after_epochless(links)), refused)
    following = np.append(data, ABSENT)[np.searchsorted(data, numbers, side="right")]
    left = [number for number, after in zip(numbers.tolist(), following.tolist(), strict=True) if after not in at_odds]
    return [number for number in left if not _comes_later(links, number, breaks)]


def _after_epochless(links: Links) -> Facts:
    """Whether a broken batch without an epoch, before each one, alone makes it seem its producer's first."""
    numbers = np.arange(len(links))
    begin = np.maximum.accumulate(np.where(links.first, numbers, 0))
    had_epoch = latest_before(links.batches.producer_epoch != ABSENT, begin) != ABSENT
    epochless: Facts = had_epoch & ~links.unseen & (links.before.epoch == ABSENT)
    return epochless


def _comes_later(links: Links, number: int, breaks: list[Break]) -> bool:
    """Whether a broken batch is what a producer's first one lacks before it; the finding is at the one behind it."""
    own = links.batches
    first = (own.producer_id[number], own.producer_epoch[number], own.base_sequence[number])
    for broken in breaks:
        request = broken.request
        if not request.control and (request.producer_id, request.producer_epoch, last_sequence(request) + 1) == first:
            follows = int(own.base_offset[number])
            broken.belongs = follows if request.base_offset > follows else ABSENT
            return True
    return False


@evidences(rules.LSO_BOUNDS, Layer.AUDIT)
def _bounds_findings(offsets: LogBounds, around: Surroundings, *, unread: bool) -> list[Finding]:
    """The order of the offsets that bound the log; one that lost its tail may be below what was flushed of it.

    Of one of which nothing could be read, the end is not known: a start above it is no more than a doubt.
    """
    severity = Severity.VIOLATION
    if lso.bounds(_log_offsets(offsets), offsets.last_stable):
        if around.recovery_point <= offsets.log_end:
            return []
        severity = Severity.UNDECIDED
        message = (
            f"the log ends at offset {offsets.log_end}, but was flushed up to {around.recovery_point} "
            "by its recovery point: its tail was lost or cut off"
        )
    else:
        message = (
            f"log start {offsets.log_start}, last stable offset {offsets.last_stable}, high watermark "
            f"{offsets.high_watermark}, log end {offsets.log_end}: expected none to be above the next"
        )
        if unread or around.recovery_point > offsets.log_end:
            severity = Severity.UNDECIDED
            message += "; the end of the log is missing"
    return [Finding(rules.LSO_BOUNDS, severity, offsets.last_stable, ABSENT, ABSENT, message)]


def _offsets(batches: Batches, found: Transactions, around: Surroundings, first_ongoing: int) -> LogBounds:
    last = int(batches.last_offset.max()) + 1 if len(batches) else 0
    log_end = max(last, around.active_base)
    log_start = max(around.first_base, around.log_start)
    high_watermark = around.high_watermark if around.high_watermark != ABSENT else log_end
    waiting = first_unreplicated(batches, found, high_watermark)
    bounding = lso.LogOffsets(log_start, first_ongoing, waiting, high_watermark, log_end)
    return LogBounds(log_start, int(lso.last_stable(bounding)), high_watermark, log_end)


def _log_offsets(offsets: LogBounds) -> lso.LogOffsets:
    return lso.LogOffsets(offsets.log_start, ABSENT, ABSENT, offsets.high_watermark, offsets.log_end)


def _judged(decisions: LinkDecisions, log: Condensed) -> dict[str, int]:
    settled = log.stakes.counts.sum(axis=0).tolist()
    counts: dict[Rule, int] = {
        rule: int(fact.sum()) + before for (rule, fact), before in zip(decisions.at_stake.items(), settled, strict=True)
    }
    return {rule.id: count for rule, count in (counts | {rules.LSO_BOUNDS: log.totals.batches}).items()}


def _judge_derived_files(
    log: PartitionContext, derived: DerivedFiles, tally: ReaderTally
) -> tuple[list[Finding], dict[str, int]]:
    """What files that a broker derives from its log break, and for each rule's id how much it was checked on."""
    judged = (
        (rules.SEQ_STATE_RECOVERABLE, *_state(log, derived)),
        (rules.LSO_DECIDED_BELOW, *_decided(log, tally)),
        *_readers(log, derived, tally),
    )
    findings = [finding for _, found, _ in judged for finding in found]
    return findings, {rule.id: count for rule, _, count in judged}


@evidences(rules.SEQ_STATE_RECOVERABLE, Layer.AUDIT)
def _state(log: PartitionContext, derived: DerivedFiles) -> tuple[list[Finding], int]:
    """Every producer snapshot against the state that the log leads to at its offset."""
    result = judge_state(log, derived.snapshots)
    log.reread.add(result.reread.producers, result.reread.places)
    return [*result.findings, *undecided_state(result)], result.judged


@evidences(rules.LSO_DECIDED_BELOW, Layer.AUDIT)
def _decided(log: PartitionContext, tally: ReaderTally) -> tuple[list[Finding], int]:
    """Every transactional batch below the last stable offset."""
    return undecided_below(log, tally)


@evidences(rules.LSO_ABORTED_INDEX, Layer.AUDIT)
@evidences(rules.LSO_READ_COMMITTED, Layer.AUDIT)
def _readers(
    log: PartitionContext, derived: DerivedFiles, tally: ReaderTally
) -> tuple[tuple[rules.Rule, list[Finding], int], tuple[rules.Rule, list[Finding], int]]:
    """The aborted index against the markers, and what a reader is given with it against the decision."""
    own = spans(log.batches, log.found, whole=log.begin == 0)
    indexed = IndexedLog(log.batches, own, log.missing, log.begin, log.end)
    aborted = judge_aborted(indexed, derived)
    log.reread.add(aborted.producers, (offset for span in aborted.disputed for offset in span if offset != OPEN))
    seen, count = seen_by_readers(log, derived, aborted.disputed, tally)
    entries = [*aborted.findings, *undecided_entries(aborted, indexed)]
    return (rules.LSO_ABORTED_INDEX, entries, aborted.judged), (rules.LSO_READ_COMMITTED, seen, count)

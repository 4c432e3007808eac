"""The files that a broker derives from its log, compared with it: snapshots, the aborted index, what readers see."""

from model_tests.audit.aborted import IndexedLog, judge_aborted, undecided_entries
from model_tests.audit.findings import Finding
from model_tests.audit.partition_context import PartitionContext
from model_tests.audit.pieces import ReaderTally
from model_tests.audit.readers import seen_by_readers, undecided_below
from model_tests.audit.spans import OPEN, spans
from model_tests.audit.state import judge_state, undecided_state
from model_tests.logs.kafka_log_derived import DerivedFiles
from spec import rules
from spec.evidence import Layer, evidences


def judge_derived_files(
    log: PartitionContext, derived: DerivedFiles, tally: ReaderTally
) -> tuple[list[Finding], dict[str, int]]:
    """Findings, and for each rule's id how much it was checked on."""
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

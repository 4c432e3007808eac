"""The same appends decided by the specification: the two texts of each rule are compared all the time.

Arguments:
    profile: the release that the run is of.
    before: what was known of the producer.
    by: which part of the reference, for the report.
    copies: how many batches the request had.
    after: what is known of it now.
"""

from model_tests.machines.rule_counts import Ledger
from reference.broker.produce import PartitionAnswer
from reference.log.batch import RecordBatch
from reference.log.producer_entry import ProducerEntry as Entry
from spec.judging.judge import AppendStep, judge
from spec.protocol.records import WINDOW, AppendReply, AppendRequest, CachedBatch, ProducerEntry
from spec.versions import Profile
from spec.vocabulary import ErrorCode, Origin


def judge_client_append(
    by: str,
    profile: Profile,
    batch: RecordBatch,
    copies: int,
    before: Entry,
    after: Entry,
    end: int,
    answer: PartitionAnswer,
    ledger: Ledger,
) -> None:
    """Compare an append at a leader with the decision."""
    appended = answer.error == ErrorCode.NONE and not answer.duplicate
    reply = AppendReply(int(answer.error), answer.base_offset, answer.last_offset, answer.duplicate, appended)
    step = AppendStep(
        entry_record(before), request_record(batch, end, copies, Origin.CLIENT), reply, entry_record(after)
    )
    _judge(by, step, profile, ledger)


def judge_copied_append(
    by: str, profile: Profile, batch: RecordBatch, before: Entry, after: Entry, ledger: Ledger
) -> None:
    """Hold what a follower copied, and so had to accept, against the decision."""
    reply = AppendReply(int(ErrorCode.NONE), batch.base_offset, batch.last_offset, duplicate=False, appended=True)
    request = request_record(batch, batch.base_offset, 1, Origin.REPLICATION)
    _judge(by, AppendStep(entry_record(before), request, reply, entry_record(after)), profile, ledger)


def _judge(by: str, step: AppendStep, profile: Profile, ledger: Ledger) -> None:
    if not ledger.asks_decision:
        return
    expected, checks = judge(step, profile)
    for check in checks:
        if not check.at_stake or check.holds:
            ledger.decided[check.rule] += bool(check.at_stake)
        else:
            should, did = f"{expected.reply} and {expected.entry}", f"{step.reply} and {step.after}"
            message = f"{by}, {profile.name}: {step.request} with {step.before}: expected {should}, got {did}"
            ledger.decide(check.rule, False, message)


def request_record(batch: RecordBatch, end: int, copies: int, origin: Origin) -> AppendRequest:
    """A batch as the decision takes it."""
    return AppendRequest(
        base_offset=end,
        origin=int(origin),
        batch_count=copies,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        last_offset_delta=batch.last_offset_delta,
        record_count=batch.record_count,
        transactional=batch.is_transactional,
        control=batch.is_control,
    )


def entry_record(entry: Entry) -> ProducerEntry:
    """What a partition of the reference knows of a producer, as the decision takes it: the newest batch first."""
    newest = [CachedBatch(b.last_sequence, b.last_offset, b.offset_delta) for b in reversed(entry.batches[-WINDOW:])]
    window = (*newest, *(CachedBatch(),) * (WINDOW - len(newest)))
    return ProducerEntry(entry.epoch, entry.coordinator_epoch, entry.txn_first_offset, window)

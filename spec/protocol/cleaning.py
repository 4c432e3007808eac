"""What compaction keeps: the newest record of each key, and markers as long as they are needed.

Sources: Cleaner, CleanedTransactionMetadata; KAFKA-14055 (the key of a control record is no key of the topic),
KAFKA-17076 and KAFKA-20452 (which empty batches stay).
"""

from dataclasses import dataclass

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.versions import NEWEST, Profile


@dataclass(frozen=True, slots=True)
class CleanedRecord:
    """A record that the cleaner reads.

    Attributes:
        control: it is a marker.
        superseded: a later record of the topic, not an aborted one, has the same key bytes.
        has_value: it is not a tombstone.
        aborted: it is data of an aborted transaction.
        spent: it is a marker, and no data of its transaction is left.
        past_horizon: an earlier pass marked it for deletion, and delete.retention.ms have passed since.
    """

    control: Term
    superseded: Term
    has_value: Term = True
    aborted: Term = False
    spent: Term = False
    past_horizon: Term = True


def stays(met: CleanedRecord, profile: Profile = NEWEST) -> Term:
    """Whether the record is in the log after the pass."""
    return choose(met.control, _marker_stays(met, profile), _data_stays(met))


@dataclass(frozen=True, slots=True)
class MetBatch:
    """A batch none of whose records stays.

    Attributes:
        last_of_producer: it has the last sequence of an active producer, or its last epoch.
        last_of_round: it is the last batch of this round of the cleaner.
        below_watermark: the high watermark is the offset after it.
    """

    last_of_producer: Term
    last_of_round: Term
    below_watermark: Term


def stays_empty(met: MetBatch, profile: Profile = NEWEST) -> Term:
    """Whether the batch stays in the log without records, to keep its producer's last sequence or its offset.

    Otherwise the last offset of a round, or the one below the high watermark, is lost (Cleaner.checkBatchRetention).
    """
    return any_of(
        met.last_of_producer,
        all_of(profile.cleaner_keeps_last_of_round, met.last_of_round),
        all_of(profile.cleaner_keeps_below_watermark, met.below_watermark),
    )


def _marker_stays(met: CleanedRecord, profile: Profile) -> Term:
    taken_for_data = all_of(profile.cleaner_compares_marker_keys, met.superseded)
    return negate(any_of(taken_for_data, all_of(met.spent, met.past_horizon)))


def _data_stays(met: CleanedRecord) -> Term:
    return all_of(negate(met.aborted), negate(met.superseded), any_of(met.has_value, negate(met.past_horizon)))

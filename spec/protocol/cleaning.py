"""What the cleaner leaves of a compacted topic: of each key the newest record, and markers as long as they are needed.

Sources: Cleaner, CleanedTransactionMetadata; KAFKA-14055 (the key of a control record is no key of the topic),
KAFKA-17076 and KAFKA-20452 (which empty batches stay).
"""

from dataclasses import dataclass

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.versions import NEWEST, Profile


@dataclass(frozen=True, slots=True)
class CleanedRecord:
    """A record that the cleaner comes to.

    Attributes:
        control: it is a marker.
        superseded: a later record of the topic, not an aborted one, has a key of the same bytes.
        has_value: it is no tombstone.
        aborted: it is data of an aborted transaction.
        spent: it is a marker, and no data of its transaction is left.
        past_horizon: an earlier pass found that it may go, and delete.retention.ms have passed since.
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
    """A batch of which no record stays.

    Attributes:
        last_of_producer: it has the last sequence of an active producer, or its last epoch.
        last_of_round: it is the last that this round of the cleaner has read.
        below_watermark: the high watermark is the offset after it.
    """

    last_of_producer: Term
    last_of_round: Term
    below_watermark: Term


def stays_empty(met: MetBatch, profile: Profile = NEWEST) -> Term:
    """Whether the batch is in the log after the pass, without records: it still says what comes next.

    The last offset of a round is lost otherwise, or that below the high watermark (Cleaner.checkBatchRetention).
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

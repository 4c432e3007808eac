"""Clients that follow no protocol, with producer ids of their own: zombies, gaps, overlaps, malformed batches."""

from typing import Final

from model_tests.machines.events import StreamEvents, vast_batch
from model_tests.machines.memory import SEQUENCES
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.world import WorldSize
from reference.broker.ids import ProducerIdentity
from reference.log.batch import RecordBatch, blank_batch, marker_batch
from reference.tape import Tape
from spec.versions import Profile
from spec.vocabulary import ABSENT, MAX_EPOCH, ControlType, Epoch, LeaderEpoch, Offset, ProducerId
from spec.vocabulary import Sequence as SequenceNumber

FIRST_ID: Final = 900_000
STRANGERS: Final = 3
"""Ids that no coordinator has handed out in a run; few, so that they come again."""


class Strangers(StreamEvents):
    """The world with strangers in it; what one sends is made from what the leader's log has of it."""

    def __init__(self, setting: WorldSize, ledger: Ledger) -> None:
        super().__init__(setting, ledger)
        self._newcomers = FIRST_ID + STRANGERS

    def target(self, choose: Tape) -> tuple[int, ProducerId]:
        """Some partition, and some stranger."""
        return choose.below(self.setting.partitions), ProducerId(FIRST_ID + choose.below(STRANGERS))

    def sends_batch(self, doing: str, partition: int, identity: tuple[int, int], first: int, records: int) -> None:
        """A stranger sends a batch, which arrives at once.

        Args:
            doing: what the stranger is up to, for the report.
            partition: by its number.
            identity: producer id and epoch.
            first: sequence of the first record.
            records: how many.
        """
        self.happens(doing)
        batch = blank_batch(
            records,
            producer_id=identity[0],
            epoch=identity[1],
            base_sequence=first % SEQUENCES,
            timestamp=self.clock.now,
        )
        self.stranger_asks(partition, (batch,))

    def stranger_continues(self, choose: Tape) -> None:
        """A stranger sends the sequence that comes next."""
        partition, producer_id = self.target(choose)
        known = self.known(partition, producer_id)
        epoch = max(known.epoch, 0)
        records = 1 + choose.below(3)
        self.sends_batch("a stranger continues", partition, (producer_id, epoch), known.last_sequence + 1, records)

    def stranger_starts(self, choose: Tape) -> None:
        """An unknown producer begins at some sequence."""
        partition = choose.below(self.setting.partitions)
        self._newcomers += 1
        first, epoch = choose.pick((0, 1, 7, SEQUENCES - 1)), choose.below(2)
        self.sends_batch("a newcomer begins", partition, (self._newcomers, epoch), first, 1 + choose.below(3))

    def stranger_resends(self, choose: Tape) -> None:
        """A stranger sends an exact copy of one of its latest batches, those that fell out of the window included."""
        partition, producer_id = self.target(choose)
        if self.known(partition, producer_id).epoch < 0:
            self.sends_batch("a stranger begins", partition, (producer_id, 0), 0, 1 + choose.below(3))
        mine = [b for b in self.partitions[partition].leader.log if b.producer_id == producer_id][-7:]
        if mine:
            self.happens("a stranger resends")
            batch = choose.pick(mine[::-1])
            self.stranger_asks(partition, (batch.at(Offset(0), LeaderEpoch(ABSENT)),))

    def stranger_overlaps(self, choose: Tape) -> None:
        """A stranger sends a batch that covers a recent one in part, or it and more."""
        partition, producer_id = self.target(choose)
        known = self.known(partition, producer_id)
        if not known.window:
            return
        old = choose.pick(known.window)
        length = (old.last_sequence - old.first_sequence) % SEQUENCES + 1
        kinds = [
            (old.first_sequence, length + 1),
            (old.first_sequence - 1, length + 1),
            (old.first_sequence + 1, length),
        ]
        if length > 1:
            kinds += [(old.first_sequence, length - 1), (old.first_sequence + 1, length - 1)]
        first, records = choose.pick([kind for kind in kinds if kind[1] < 100] or [(old.first_sequence + 1, 1)])
        self.sends_batch("a stranger overlaps itself", partition, (producer_id, known.epoch), first, records)

    def stranger_skips(self, choose: Tape) -> None:
        """A stranger leaves out some sequences."""
        partition, producer_id = self.target(choose)
        known = self.known(partition, producer_id)
        first = known.last_sequence + 1 + choose.pick((1, 2, 5, -1, -9))
        self.sends_batch(
            "a stranger leaves a gap", partition, (producer_id, max(known.epoch, 0)), first, 1 + choose.below(2)
        )

    def stranger_raises_epoch(self, choose: Tape) -> None:
        """A stranger begins a higher epoch, at 0 or where it left off."""
        partition, producer_id = self.target(choose)
        known = self.known(partition, producer_id)
        epoch = min(MAX_EPOCH, known.epoch + choose.pick((1, 2, 1, MAX_EPOCH - 3)))
        first = choose.pick((0, 0, known.last_sequence + 1, 1))
        self.sends_batch("a stranger raises its epoch", partition, (producer_id, epoch), first, 1 + choose.below(2))

    def zombie_sends(self, choose: Tape) -> None:
        """A stranger's older instance writes with a lower epoch, at the next sequence, at 0 or elsewhere."""
        partition, producer_id = self.target(choose)
        if self.known(partition, producer_id).epoch < 1:
            self.sends_batch("a stranger's newer instance begins", partition, (producer_id, 2), 0, 1)
        known = self.known(partition, producer_id)
        epoch = known.epoch - 1 - choose.below(2)
        first = choose.pick((known.last_sequence + 1, 0, known.last_sequence))
        if epoch >= 0:
            self.sends_batch("a zombie continues", partition, (producer_id, epoch), first, 1 + choose.below(2))

    def stranger_nears_the_wrap(self, choose: Tape) -> None:
        """A stranger uses nearly all sequences that are left with one batch, then goes over the wrap with another."""
        partition, producer_id = self.target(choose)
        known = self.known(partition, producer_id)
        first = (known.last_sequence + 1) % SEQUENCES
        records = max(0, SEQUENCES - first - 1 - choose.below(3))
        if records > 0:
            self.happens("a stranger nears the wrap")
            identity = ProducerIdentity(producer_id, Epoch(max(known.epoch, 0)))
            self.stranger_asks(partition, (vast_batch(identity, first, records, self.clock.now),))
        if choose.below(2):
            self.sends_batch(
                "a stranger goes over the wrap", partition, (producer_id, max(known.epoch, 0)), first + records, 4
            )

    def stranger_sends_malformed(self, choose: Tape) -> None:
        """A stranger sends what no client may send, at its next sequence."""
        partition, producer_id = self.target(choose)
        known = self.known(partition, producer_id)
        self.happens("a stranger sends a malformed request")
        right = blank_batch(
            1 + choose.below(2),
            producer_id=producer_id,
            epoch=max(known.epoch, 0),
            base_sequence=(known.last_sequence + 1) % SEQUENCES,
            timestamp=self.clock.now,
        )
        self.stranger_asks(partition, choose.pick(malformed(right, self.setting.profile)))


def malformed(right: RecordBatch, profile: Profile) -> list[tuple[RecordBatch, ...]]:
    """What can be wrong with a request, and is answered.

    Before 2.4 a request with two batches closes the connection. Before 2.0 a batch whose count does not agree with its
    offsets is taken, overlaps the one before, and is copied by no follower.
    """
    unnumbered = right._replace(base_sequence=SequenceNumber(-1))
    miscounted = right._replace(last_offset_delta=right.last_offset_delta + 1)
    empty = right._replace(record_count=0, body=b"")
    marker = marker_batch(right.producer_id, right.producer_epoch, ControlType.COMMIT, 0, right.base_timestamp)
    numbered_marker = marker._replace(base_sequence=right.base_sequence)
    always = [(unnumbered,), (empty,), (marker,), (numbered_marker,)]
    counted = [(miscounted,)] if profile.records_compared_with_offsets else []
    return always + counted + ([(right, right)] if profile.invalid_record_has_code else [])

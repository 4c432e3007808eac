"""The client side of a counterexample about transactions: each instance's view, and what it sent."""

from dataclasses import dataclass, field

from reference.broker.ids import ProducerIdentity
from reference.log.batch import RecordBatch, blank_batch
from reference.log.producer_entry import NO_GUARD


@dataclass(slots=True)
class BatchOnWire:
    """A batch on its way: what is on the wire, the guard of its verification, whether the coordinator said yes."""

    records: RecordBatch
    guard: int = NO_GUARD
    confirmed: bool = True


@dataclass(slots=True)
class ApplicationView:
    """What the application's instances believe: identities, sequences, and what each transaction asked for."""

    given: dict[int, ProducerIdentity] = field(default_factory=dict)
    newest: dict[int, ProducerIdentity] = field(default_factory=dict)
    of_transaction: dict[int, ProducerIdentity] = field(default_factory=dict)
    owner: dict[int, int] = field(default_factory=dict)
    sequences: dict[tuple[ProducerIdentity, int], int] = field(default_factory=dict)
    end_sent: dict[int, bool] = field(default_factory=dict)

    def begin(self, instance: int, transaction: int) -> ProducerIdentity:
        """The identity of a transaction, which may begin now."""
        if transaction not in self.of_transaction:
            self.owner[transaction] = instance
            self.of_transaction[transaction] = self.newest[instance]
        return self.of_transaction[transaction]

    def batch(self, instance: int, transaction: int, partition: int) -> RecordBatch:
        """The next batch of a transaction for a partition."""
        identity = self.begin(instance, transaction)
        sequence = self.sequences.get((identity, partition), 0)
        self.sequences[identity, partition] = sequence + 1
        return blank_batch(
            1,
            producer_id=identity.producer_id,
            epoch=identity.epoch,
            base_sequence=sequence,
            transactional=True,
        )

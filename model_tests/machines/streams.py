"""The history of each stream, one producer's batches for one partition: sent, answered, and found in the log.

Ghosts make it visible: no two batches of applications have the same timestamp, and the timestamp is in the log.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from reference.client.partition_queue import ProducerBatch
from reference.log.batch import RecordBatch
from spec.rules import Circumstances
from spec.versions import Profile
from spec.vocabulary import MAX_SEQUENCE, Timestamp


class ProducerStream(NamedTuple):
    """One producer's batches for one partition."""

    producer: int
    partition: int


class BatchIdentity(NamedTuple):
    """What a broker knows a batch by."""

    producer_id: int
    epoch: int
    base_sequence: int


@dataclass(slots=True)
class StreamHistory:
    """What happened to one stream.

    Attributes:
        batches: what the application handed over, in this order: ordinals are positions here.
        identities: under what identities each batch was sent, by ordinal.
        checked: acknowledged batches that have been looked for in the log.
        renumbered: a batch that had been sent was sent again under another epoch or producer id.
        misplaced: a batch went across the largest sequence; 0.11 and 1.0 answer its resend a wrong first offset.
        overtaken: the first batch that a leader saw, not knowing the producer, was not at sequence 0.
    """

    batches: list[ProducerBatch] = field(default_factory=list)
    identities: defaultdict[int, set[BatchIdentity]] = field(default_factory=lambda: defaultdict(set))
    checked: int = 0
    renumbered: bool = False
    misplaced: bool = False
    overtaken: bool = False

    def sends(self, ordinal: int, identity: BatchIdentity) -> None:
        """A batch goes out under an identity."""
        known = self.identities[ordinal]
        self.renumbered |= any(earlier[:2] != identity[:2] for earlier in known)
        known.add(identity)


@dataclass(slots=True)
class FaultsSoFar:
    """What has gone wrong so far, as far as the domains of rules ask for it.

    Attributes:
        reordered: the network has delivered out of order, or delivered a copy.
        restarted: partitions of which a replica came back from disk, with a window of one.
        expired: partitions of which a replica forgot producers.
    """

    reordered: bool = False
    restarted: bool = False
    expired: bool = False


class Streams:
    """Every stream's history, and which batch of the log is which."""

    def __init__(self) -> None:
        self.histories: defaultdict[ProducerStream, StreamHistory] = defaultdict(StreamHistory)
        self._ghosts: dict[Timestamp, tuple[ProducerStream, int]] = {}

    def hands_over(self, stream: ProducerStream, batch: ProducerBatch) -> None:
        """An application hands over a batch."""
        history = self.histories[stream]
        self._ghosts[batch.created_ms] = (stream, len(history.batches))
        history.batches.append(batch)

    def of(self, batch: RecordBatch) -> tuple[ProducerStream, int] | None:
        """Stream and ordinal of a batch on the wire or in a log, None for a stranger's."""
        return self._ghosts.get(batch.base_timestamp)

    def sends(self, batch: RecordBatch, profile: Profile) -> None:
        """A batch goes out."""
        found = self.of(batch)
        if found is not None:
            history = self.histories[found[0]]
            history.sends(found[1], BatchIdentity(batch.producer_id, batch.producer_epoch, batch.base_sequence))
            over = batch.base_sequence + batch.last_offset_delta > MAX_SEQUENCE
            history.misplaced |= over and profile.first_offset_by_sequences

    def in_log(self, partition: int, log: Iterable[RecordBatch]) -> dict[ProducerStream, list[tuple[int, RecordBatch]]]:
        """Ordinals and batches of each stream in the order of the log."""
        found: dict[ProducerStream, list[tuple[int, RecordBatch]]] = {
            stream: [] for stream in self.histories if stream.partition == partition
        }
        for batch in log:
            ghost = self.of(batch)
            if ghost is not None:
                found[ghost[0]].append((ghost[1], batch))
        return found


def circumstances(history: StreamHistory, faults: FaultsSoFar, renumbering: bool = True) -> Circumstances:
    """Under what circumstances a stream has run so far.

    A client that renumbers a batch after OUT_OF_ORDER, from a broker that forgot or in a late answer,
    may write it twice (librdkafka#4953): a client that follows the protocol never renumbers what may be in the
    log. A leader that sees a later batch of a producer before the first one has no state to compare with: it takes
    the batch at any sequence (KIP-360), or answers UNKNOWN_PRODUCER_ID, on which clients renumber. Where
    requests do not overtake each other, and leadership does not return while they are under way, the first comes
    first. And 0.11 and 1.0 answer a resend of a batch across the largest sequence with a wrong first offset.

    Args:
        history: the stream's.
        faults: what went wrong in the world.
        renumbering: whether the rule in question minds that a batch is written twice.
    """
    forgot = faults.expired or (renumbering and faults.restarted and history.renumbered)
    return Circumstances(
        state_retained=not forgot,
        well_behaved_client=not (renumbering and faults.reordered and history.renumbered),
        first_seen_first=not history.overtaken,
        sequences_wrap_cleanly=not (renumbering and history.misplaced),
    )

"""Producer ids: a broker claims them in blocks and hands them out one by one (ProducerIdManager)."""

from typing import Final, NamedTuple

from reference.broker.coordinator_errors import CoordinatorLoadInProgress, UnknownServerError
from spec import rules
from spec.versions import Profile
from spec.vocabulary import PRODUCER_ID_BLOCK, Epoch, ProducerId

FIRST_EPOCH: Final = Epoch(0)  # the epoch of a new producer id

LAST_PRODUCER_ID: Final = 2**63 - 1  # the largest long; a block that would go beyond it is refused


class ProducerIdentity(NamedTuple):
    """A producer id and an epoch of it."""

    producer_id: ProducerId
    epoch: Epoch


class BlockRecord(NamedTuple):
    """A copy of the record that all brokers share.

    Attributes:
        first: the first id that no block has.
        version: of the record; it rises with each write.
    """

    first: int
    version: int


class BlockAllocator:
    """The shared record, and claims of blocks: a claim is written only if the record is still as it was read.

    It is a node in ZooKeeper, written by brokers, or the controller's own, with one writer.
    """

    __slots__ = ("_next", "_version")

    def __init__(self, first: int = 0) -> None:
        """A record of which every id below `first` has been handed out."""
        self._next = first
        self._version = 0

    def read(self) -> BlockRecord:
        """The record as it is now."""
        return BlockRecord(self._next, self._version)

    def write(self, read: BlockRecord, first: int) -> bool:
        """Write the record if it is still the one that was read; whether it was (compare-and-set)."""
        if read.version != self._version:
            return False
        self._next, self._version = first, self._version + 1
        return True

    def claim(self) -> range:
        """Claim the next block of producer ids; a claim that lost a race reads again.

        Raises:
            UnknownServerError: no whole block is left (ProducerIdControlManager).
        """
        while True:
            read = self.read()
            block = range(read.first, read.first + PRODUCER_ID_BLOCK)

            # [ids.exhaustion]
            if block.stop > LAST_PRODUCER_ID:
                raise UnknownServerError(rules.IDS_EXHAUSTION, first=block.start, last=LAST_PRODUCER_ID)
            if self.write(read, block.stop):
                return block


class ProducerIdManager:
    """One broker's part: ids of a claimed block; the rest of it is lost at a restart."""

    __slots__ = ("_allocator", "_block", "_profile")

    def __init__(self, allocator: BlockAllocator, profile: Profile) -> None:
        """A broker that has not claimed a block."""
        self._allocator = allocator
        self._profile = profile
        self._block = range(0)

    def generate(self) -> ProducerId:
        """A producer id that was never given out.

        Raises:
            CoordinatorLoadInProgress: the controller gives no block now; the client tries again.
            UnknownServerError: the broker itself claims blocks, and none is left.
        """
        if not self._block:
            self._block = self._next_block()
        producer_id, self._block = self._block[0], self._block[1:]
        return ProducerId(producer_id)

    def _next_block(self) -> range:
        try:
            return self._allocator.claim()
        except UnknownServerError as refusal:
            if not self._profile.ids_from_controller:
                raise
            raise CoordinatorLoadInProgress(rules.IDS_EXHAUSTION, **refusal.values) from refusal

    def init_producer_id(self) -> ProducerIdentity:
        """Answer InitProducerId without transactional id: always a new producer id, epoch 0; raises as `generate`."""
        return ProducerIdentity(self.generate(), FIRST_EPOCH)

    def restart(self) -> None:
        """Lose the rest of the block."""
        self._block = range(0)

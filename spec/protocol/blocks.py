"""Blocks of producer ids: a broker claims one by compare-and-set of the shared record, and hands it out id by id.

Sources: ProducerIdControlManager (KRaft), ZkProducerIdManager, RPCProducerIdManager, ProducerIdsBlock.
"""

from dataclasses import dataclass, replace
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, choose, negate
from spec.protocol.guards import PASSED, Guard, branch, error_of
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode

LARGEST: Final = 2**63 - 1
"""The largest producer id."""


@dataclass(frozen=True, slots=True)
class BlockRecord:
    """The shared record, or what a broker has read of it.

    Attributes:
        first: the first id that no block has; -1 where nothing was read.
        version: how often the record was written.
    """

    first: Term = 0
    version: Term = 0


UNREAD: Final = BlockRecord(ABSENT, ABSENT)


@dataclass(frozen=True, slots=True)
class Block:
    """What is left of a block: ids from `position` to before `end`."""

    position: Term = 0
    end: Term = 0

    @property
    def empty(self) -> Term:
        """All of its ids are handed out."""
        return self.position >= self.end


NOTHING_LEFT: Final = Block()


@dataclass(frozen=True, slots=True)
class BlockClaim:
    """The decision on a claim.

    Attributes:
        branch: number of the guard that decided, 0 where the block is granted.
        error: the answer to a client that waits for an id; none while it still waits.
        record: the shared record afterwards.
        block: the block granted; empty if none is.
    """

    branch: Term
    error: Term
    record: BlockRecord
    block: Block

    @property
    def granted(self) -> Term:
        """The broker has a new block."""
        return self.branch == PASSED


def claim(record: BlockRecord, read: BlockRecord, size: int, profile: Profile, largest: int = LARGEST) -> BlockClaim:
    """Grant the next block if the broker's copy of the record is current and ids are left.

    Args:
        record: the shared record as it is now.
        read: the record as the broker has read it.
        size: ids of a block.
        profile: the release.
        largest: the largest id there is.
    """
    checks = guards(record, read, size, profile, largest)
    decided = branch(checks)
    granted = decided == PASSED
    return BlockClaim(
        decided,
        error_of(checks, decided),
        BlockRecord(
            choose(granted, read.first + size, record.first),
            choose(granted, record.version + 1, record.version),
        ),
        Block(choose(granted, read.first, 0), choose(granted, read.first + size, 0)),
    )


def guards(record: BlockRecord, read: BlockRecord, size: int, profile: Profile, largest: int) -> tuple[Guard, ...]:
    """A claim that lost a race is retried; past the last block no id is left.

    Under KRaft (the broker asks the controller) clients wait whenever the broker has no block. Under ZooKeeper (the
    broker writes the record itself) it retries until the write succeeds, and fails where no block is left.

    Args:
        record: the shared record when the claim is written.
        read: the record when the claim was made.
        size: of a block: 1000 ids.
        profile: the release.
        largest: the largest producer id: 2^63-1.
    """
    waits, by_controller = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS.value, profile.ids_from_controller
    return (
        Guard(
            "exhausted",
            rules.IDS_EXHAUSTION,
            read.first > largest - size,
            waits if by_controller else ErrorCode.UNKNOWN_SERVER_ERROR.value,
        ),
        Guard(
            "raced",
            rules.IDS_UNIQUE,
            negate(all_of(read.version == record.version, read.first >= 0)),
            waits if by_controller else ErrorCode.NONE.value,
        ),
    )


def handed_out(block: Block) -> Block:
    """The rest of a block after its next id is given out."""
    return replace(block, position=block.position + 1)

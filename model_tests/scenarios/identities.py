"""Producer ids: every broker hands them out, from a block of its own. Brokers before 3.0 claim blocks in ZooKeeper."""

from dataclasses import dataclass
from typing import Final

from model_tests.monitor.story import Story
from model_tests.scenarios.producer_stage import broker
from model_tests.scenarios.scenario import Facts, scenario
from reference.broker.ids import BlockRecord
from reference.event import FaultRates
from reference.recording.recorder import FATE, Fate
from reference.simulate.schedule_transactions import TransactionScheduler
from reference.tape import Tape
from reference.world.node import BLOCKS, SET_DATA, Storage
from reference.world.replica_rows import node_name
from reference.world.transaction_shape import TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.versions import KAFKA_2_7
from spec.vocabulary import PRODUCER_ID_BLOCK, ErrorCode

# --- the stage: two brokers, and the record of blocks that they share -------------------------------------------------


BROKERS: Final = TransactionShape(nodes=2, topics=("orders", "audit"))
"""Two are enough to want the same block."""
RECORD: Final = "shared record"


@dataclass(frozen=True, slots=True)
class OfIdentities:
    """A setting of two brokers and the record of blocks that they share.

    Attributes:
        first: the first id that no block has.
    """

    first: int = 0

    @property
    def words(self) -> str:
        """What is particular about it."""
        return f"two brokers, blocks of 1000, the first free id is {self.first}"

    def stage(self) -> "IdentitiesStage":
        """Brokers that have not claimed a block."""
        return IdentitiesStage(self.first)


class IdentitiesStage(TransactionWorld):
    """Two brokers, the record, and a producer without transactional id at each."""

    def __init__(self, first: int) -> None:
        """No id has been handed out."""
        super().__init__(KAFKA_2_7, BROKERS, storage=Storage(KAFKA_2_7, first))
        self.story = Story(self.recorder, {BLOCKS: RECORD})
        self.story.hidden.discard(BLOCKS)
        self.events = TransactionScheduler(self, Tape.recorded(()), FaultRates())
        for node in range(BROKERS.nodes):
            client = self.plain.start().client
            self.story.participants |= {node_name(node): broker(node), client: f"producer at {broker(node)}"}

    @property
    def cast(self) -> tuple[str, ...]:
        """Producers outside, the record in the middle."""
        return f"producer at {broker(0)}", broker(0), RECORD, broker(1), f"producer at {broker(1)}"

    def request_id(self, node: int) -> str:
        """A producer asks a broker for an identity; the producer id, or the error."""
        error, identity = self.plain.ask_for_id(self.plain.all[node], node)
        return str(identity.producer_id) if error is ErrorCode.NONE else error.name

    def restart(self, node: int) -> None:
        """A broker restarts, and the rest of its block is lost."""
        self.story.remark(node_name(node), "restarts: the rest of its block is lost")
        self.events.let(self.events.broker_restarts, node)

    @property
    def record(self) -> BlockRecord:
        """The shared record as it is; no participant reads it."""
        return self.brokers.blocks.read()

    @property
    def too_late(self) -> int:
        """How many claims were refused."""
        answers = [row for row in self.story.rows if row["api"] == SET_DATA and row.get(FATE) == Fate.ANSWERED]
        return sum(row["error"] != ErrorCode.NONE for row in answers)


# --- the scenarios ----------------------------------------------------------------------------------------------------


LAST_BLOCK = 2**63 - 1 - PRODUCER_ID_BLOCK  # the beginning of the last whole block of producer ids


@scenario(
    "block-race",
    "Two brokers want the same block of producer ids, and one of them has to read again",
    items=(2,),
    story="""Both brokers read the shared record and find the same block free. A claim is written only if the record is
    still the one that was read: the second one comes too late, reads again, and gets the next block. From then on each
    hands out ids of its own block without a request.""",
    setting=OfIdentities(),
    expected={
        "ids of broker 0": ["1000", "1001"],
        "ids of broker 1": ["0", "1"],
        "claims that came too late": 1,
        "free in the end from": 2000,
    },
)
def block_race(stage: IdentitiesStage) -> Facts:
    """Broker 1 claims a block between the reading of broker 0 and its writing."""
    of_the_other: list[str] = []
    stage.claim_takes_long(0, lambda: of_the_other.append(stage.request_id(1)))
    of_the_first = [stage.request_id(0), stage.request_id(0)]
    of_the_other.append(stage.request_id(1))
    return {
        "ids of broker 0": of_the_first,
        "ids of broker 1": of_the_other,
        "claims that came too late": stage.too_late,
        "free in the end from": stage.record.first,
    }


@scenario(
    "block-lost",
    "A broker that restarts loses the rest of its block",
    items=(2, 7),
    story="""What was left of a block is kept in memory alone. After a restart the broker claims another one: there are
    gaps, and a later id may be lower than an earlier one. No id is handed out twice, and that is all that ids are
    for.""",
    setting=OfIdentities(),
    expected={"handed out, in this order": ["0", "1000", "2000", "1001"]},
)
def block_lost(stage: IdentitiesStage) -> Facts:
    """Broker 0 restarts after its first id."""
    given = [stage.request_id(0), stage.request_id(1)]
    stage.restart(0)
    given += [stage.request_id(0), stage.request_id(1)]
    return {"handed out, in this order": given}


@scenario(
    "ids-exhausted",
    "After the last block there are no producer ids any more",
    items=(2, 15),
    story="""Ids are 64 bits, and none is used again. A broker continues with the block that it has; a request for
    another block is refused, and the record stays as it is. At a million ids a second that would be in three hundred
    thousand years.""",
    setting=OfIdentities(first=LAST_BLOCK),
    expected={
        "broker 0": ["9223372036854774807", "9223372036854774808"],
        "broker 1": "UNKNOWN_SERVER_ERROR",
        "the record is written": 1,
    },
)
def ids_exhausted(stage: IdentitiesStage) -> Facts:
    """Broker 0 has the last block, broker 1 wants one."""
    first, refused, second = stage.request_id(0), stage.request_id(1), stage.request_id(0)
    return {"broker 0": [first, second], "broker 1": refused, "the record is written": stage.record.version}

"""An observer's checks of a pipeline: outcomes, offsets, generations, and the totals in the end."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from model_tests.machines.pipeline_logs import Generations, Outcomes
from model_tests.machines.pipeline_setting import PipelineSetting
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.transaction_offsets import OffsetsPartition
from model_tests.machines.transaction_watch import TransactionWatch
from reference.broker.group_api import OffsetsAnswer
from reference.broker.group_requests import NO_CLAIM, JoinAnswer, JoinRequest, MemberClaim
from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Consumer, Delivered
from reference.client.coordinator_channel import CoordinatorAnswer, TxnOffsetCommit
from reference.client.group_exchange import OffsetCommit
from reference.world.group_requests import ToMember
from reference.world.messages import CoordinatorCall, Response
from reference.world.pipelines import GROUP, PipelineWorld
from reference.world.worker import Order
from spec import rules
from spec.evidence import Layer, evidences
from spec.vocabulary import ErrorCode

PIPELINE_RULES: Final = (
    rules.TXN_ATOMIC,
    rules.LSO_READ_COMMITTED,
    rules.OFFSETS_ATOMIC,
    rules.OFFSETS_STABLE_FETCH,
    rules.OFFSETS_GENERATION_FENCE,
)
"""The rules that the pipelines have invariants for."""

Place = tuple[TopicPartition, int]
"""Where a word is in the input."""


class PipelineWatch:
    """An onlooker's notes about one pipeline.

    Attributes:
        watch: the account.
        outcomes: of every data partition.
        offsets: of the group, by the log of its partition.
        generations: of the group.
        reader: a read_committed consumer of the output.
    """

    def __init__(self, setting: PipelineSetting, ledger: Ledger, world: PipelineWorld) -> None:
        """Nothing has happened in the world."""
        self.watch = TransactionWatch(setting, ledger)
        self.world = world
        self.outcomes = {name: Outcomes() for name in world.partitions}
        self.offsets = OffsetsPartition(self.watch)
        self.generations = Generations()
        self.reader = Consumer(world.outputs)
        self._exactly_once = setting.order is Order.IN_TRANSACTION
        self._counted: Counter[Place] = Counter()
        self._received: dict[int, int] = {}
        self._replies_seen = self._group_replies_seen = -1

    # --- what is new ------------------------------------------------------------------------------------------

    def looks(self) -> None:
        """Read what is new in the logs and on the wires."""
        batches = self.world.brokers.offsets.partitions[0].log.batches
        self.offsets.looks(batches)
        for reply in new(self.world.wires.replies.in_transit, self._replies_seen):
            self._replies_seen = reply.number
            self._answered(reply.payload)
        self.generations.looks(batches)
        for reported in new(self.world.group_requests.replies.in_transit, self._group_replies_seen):
            self._group_replies_seen = reported.number
            self._member_answered(reported.payload)
        for name, outcomes in self.outcomes.items():
            if outcomes.looks(self.world.brokers.partitions[name].leader.log.batches):
                self.has_one_outcome()
                self.counts_once()

    def elected(self) -> None:
        """Another node coordinates the group."""
        self.generations.elected()

    def _answered(self, response: Response) -> None:
        match response.request.body, response.answer:
            case CoordinatorCall(request=TxnOffsetCommit(claim=claim)), CoordinatorAnswer(partitions=partitions):
                if set(partitions.values()) == {ErrorCode.NONE}:
                    self.comes_from_a_member(claim)

    def _member_answered(self, reported: ToMember) -> None:
        match reported.request.request, reported.answer:
            case JoinRequest() as join, JoinAnswer(error=ErrorCode.NONE, member_id=member_id, generation=generation):
                self.generations.joined(generation, member_id, join.group_instance_id)
            case OffsetCommit(claim=claim), dict(answers) if set(answers.values()) == {ErrorCode.NONE}:
                self.comes_from_a_member(claim)
            case _, OffsetsAnswer() as answer:
                self.is_stable(answer)

    # --- invariants -------------------------------------------------------------------------------------------

    @evidences(rules.OFFSETS_GENERATION_FENCE, Layer.STATEFUL)
    def comes_from_a_member(self, claim: MemberClaim) -> None:
        """Offsets are taken from members of the present generation alone."""
        if claim == NO_CLAIM:
            return
        now = self.generations.current
        members = self.generations.members.get(now, set())
        message = f"{claim} has committed offsets; generation {now} has {sorted(members)}"
        self.watch.expect(
            rules.OFFSETS_GENERATION_FENCE, claim.generation == now and claim.member_id in members, message
        )

    @evidences(rules.OFFSETS_STABLE_FETCH, Layer.STATEFUL)
    def is_stable(self, answer: OffsetsAnswer) -> None:
        """A member that was assigned partitions gets no offset that an open transaction may change."""
        self.offsets.reported(GROUP, answer, require_stable=True)

    @evidences(rules.TXN_ATOMIC, Layer.STATEFUL)
    def has_one_outcome(self) -> None:
        """No transaction is committed in one place and aborted in another."""
        seen: dict[bytes, bool] = {}
        for outcomes in self.outcomes.values():
            for value, outcome in outcomes.committed.items():
                if outcome is not None:
                    owner = value.rpartition(b"/")[0]
                    same = seen.setdefault(owner, outcome) == outcome
                    message = f"transaction {owner.decode()} is committed and aborted"
                    self.watch.expect(rules.TXN_ATOMIC, same, message)

    @evidences(rules.OFFSETS_ATOMIC, Layer.STATEFUL)
    def counts_once(self) -> None:
        """No word is counted a second time, by any worker."""
        self._counted = Counter(place_of(each) for each in self.counted())
        twice = [place for place, times in self._counted.items() if times > 1]
        if self._exactly_once:
            self.watch.expect(rules.OFFSETS_ATOMIC, not twice, f"counted more than once: {twice}")

    def counted(self) -> list[Delivered]:
        """The words that committed records of the output were made of."""
        return [
            self.world.made_of[value]
            for name in self.world.outputs
            for value, outcome in self.outcomes[name].committed.items()
            if outcome
        ]

    @evidences(rules.LSO_READ_COMMITTED, Layer.STATEFUL)
    def reads_committed_records(self) -> None:
        """A reader of the output has what is committed below its position, in order; workers have nothing else."""
        for name in self.world.outputs:
            self.world.readers.consumer_fetches(self.reader, name)
            wanted = self.outcomes[name].committed_below(self.reader.positions.get(name, 0))
            received = [each.record.value for each in self.reader.received if each.partition == name]
            self.watch.expect(rules.LSO_READ_COMMITTED, received == wanted, f"a reader has {received}, not {wanted}")
        for worker in self.world.workers:
            received_now = worker.consumer.consumer.received
            for each in received_now[self._received.get(worker.number, 0) :]:
                committed = self.outcomes[each.partition].committed.get(each.record.value or b"")
                message = f"worker {worker.number} has received {each}"
                self.watch.expect(rules.LSO_READ_COMMITTED, bool(committed), message)
            self._received[worker.number] = len(received_now)

    # --- the end ----------------------------------------------------------------------------------------------

    @evidences(rules.OFFSETS_ATOMIC, Layer.STATEFUL)
    def totals_are_right(self, caught_up: bool) -> None:
        """In the end every committed word is counted, once."""
        lost, twice = self.wrong()
        message = f"lost {lost}, counted twice {twice}, caught up: {caught_up}"
        self.watch.expect(rules.OFFSETS_ATOMIC, caught_up and not lost and not twice, message)

    def wrong(self) -> tuple[list[Place], list[Place]]:
        """The words that are not counted, and those that are counted more than once."""
        words = Counter(self._words())
        counted = Counter(place_of(each) for each in self.counted())
        return sorted((words - counted).elements()), sorted((counted - words).elements())

    def _words(self) -> Iterable[Place]:
        for name in self.world.inputs:
            outcomes = self.outcomes[name]
            yield from ((name, offset) for offset, value in outcomes.order if outcomes.committed[value])

    @evidences(rules.TXN_ATOMIC, Layer.STATEFUL)
    def is_decided(self) -> None:
        """Nothing is left undecided."""
        left = self.undecided()
        self.watch.expect(rules.TXN_ATOMIC, not left, f"undecided in the end: {left}")

    def undecided(self) -> list[bytes]:
        """The records that no marker has ended."""
        self.looks()
        return [value for outcomes in self.outcomes.values() for value in outcomes.undecided]


def place_of(word: Delivered) -> Place:
    """Where a word was read."""
    return word.partition, word.offset


def new(messages: Iterable[Any], seen: int) -> list[Any]:
    """The messages that were sent after one with this number."""
    return [message for message in messages if message.number > seen]

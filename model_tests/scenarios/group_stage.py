"""The stage of consumer groups: workers that count words, and their group.

Requests of consumers to their group's coordinator, and its answers, are put into words.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from model_tests.scenarios.transaction_stage import GROUPS, TransactionScene
from reference.broker.group_api import OffsetsAnswer
from reference.broker.group_requests import JoinAnswer, JoinRequest, MemberClaim, SyncAnswer, SyncRequest
from reference.client.assignment import decode_assignment
from reference.client.consumer import Consumer
from reference.client.coordinator_channel import FindCoordinator
from reference.client.group_exchange import (
    GroupAnswer,
    GroupRequest,
    Heartbeat,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
    error_of,
)
from reference.client.group_member import MemberSettings
from reference.client.transaction_states import ClientState
from reference.errors import Impossible
from reference.network import NetworkMessage
from reference.world.group_requests import FromMember, ToMember
from reference.world.pipelines import GROUP, PipelineWorld
from reference.world.settling import catch_up, play_pipelines
from reference.world.transaction_shape import TransactionShape
from reference.world.worker import Order, WorkerRun
from spec.versions import NEWEST, Profile
from spec.vocabulary import NO_OFFSET, Api, ErrorCode

# --- requests and answers in words ------------------------------------------------------------------------------------


def is_reported_of_group(request: GroupRequest, answer: GroupAnswer | None = None) -> bool:
    """Whether an exchange belongs to the story: heartbeats do only where they are refused."""
    if isinstance(request, FindCoordinator):
        return False
    return not isinstance(request, Heartbeat) or answer not in (None, ErrorCode.NONE)


def group_request_words(request: GroupRequest) -> str:
    """A consumer's request."""
    match request:
        case FindCoordinator(key=key):
            return f"FindCoordinator {key}"
        case JoinRequest(member_id=member_id):
            return f"JoinGroup{f' as {member_id}' if member_id else ''}"
        case SyncRequest(claim=claim, assignments=assignments):
            count = len(assignments)
            assigns = f": {count} assignment{'s' if count > 1 else ''}" if assignments else ""
            return f"SyncGroup of {claim_words(claim)}{assigns}"
        case Heartbeat(claim=claim):
            return f"Heartbeat of {claim_words(claim)}"
        case LeaveGroup(claim=claim):
            return f"LeaveGroup of {claim_words(claim)}"
        case OffsetFetch(partitions=partitions):
            return f"OffsetFetch {', '.join(f'{topic}-{number}' for topic, number in partitions)}"
        case OffsetCommit(offsets=offsets):
            reported = (f"{topic}-{number} up to {each.offset}" for (topic, number), each in offsets.items())
            return f"OffsetCommit {', '.join(reported)}"


def claim_words(claim: MemberClaim) -> str:
    """Who a request says it is from."""
    return f"{claim.member_id}, generation {claim.generation}"


def group_answer_words(answer: GroupAnswer) -> str:
    """The answer."""
    match answer:
        case JoinAnswer(error=ErrorCode.NONE, generation=generation, leader=leader, member_id=member_id):
            return f"generation {generation}{', which it leads' if leader == member_id else ''}"
        case SyncAnswer(error=ErrorCode.NONE, assignment=assignment):
            partitions = decode_assignment(assignment).partitions
            return ", ".join(f"{topic}-{number}" for topic, number in partitions) or "no partitions"
        case OffsetsAnswer(error=ErrorCode.NONE, partitions=reported):
            return ", ".join(
                f"{topic}-{number}: {offset_words(each.error, each.offset)}"
                for (topic, number), each in reported.items()
            )
        case _:
            error = error_of(answer)
            return "done" if error is ErrorCode.NONE else error.name


def offset_words(error: ErrorCode, offset: int) -> str:
    """The answer about the offset of a partition, in words."""
    if error is not ErrorCode.NONE:
        return error.name
    return "none" if offset == NO_OFFSET else str(offset)


# --- the stage --------------------------------------------------------------------------------------------------------


ROUNDS: Final = 120
"""Rounds after which what is waited for is not going to be."""

SESSION_MS: Final = 6_000
"""The shortest session that brokers allow by default (`group.min.session.timeout.ms`)."""


@dataclass(frozen=True, slots=True)
class OfGroups:
    """A setting with a consumer group.

    Attributes:
        assignor: by which the group assigns.
    """

    profile: Profile = NEWEST
    shape: TransactionShape = field(default=TransactionShape())
    assignor: str = "range"

    @property
    def words(self) -> str:
        """Releases and settings."""
        version = self.profile.transaction_version
        return f"Kafka {self.profile.name}, transaction.version={version}, partitions assigned by {self.assignor}"

    def stage(self) -> "GroupStage":
        """A world without workers."""
        return GroupStage(self.profile, self.shape, self.assignor)


class GroupStage(TransactionScene, PipelineWorld):
    """What a scenario of consumer groups is played on."""

    def __init__(self, profile: Profile, shape: TransactionShape, assignor: str) -> None:
        """The topics are empty."""
        super().__init__(profile, shape)
        self.assignor = assignor
        self.story.hidden |= {Api.INIT_PRODUCER_ID, "ConsumerFetch", "ConsumerFetchAborted"}

    # --- messages of which no step is recorded ------------------------------------------------------------------

    def group_receives(self, message: NetworkMessage[FromMember], leave_copy: bool = False) -> None:
        """A consumer's request arrives."""
        request = message.payload
        if is_reported_of_group(request.request):
            self.story.say(self._name_of(request), GROUPS, group_request_words(request.request))
        super().group_receives(message, leave_copy)

    def member_receives(self, message: NetworkMessage[ToMember]) -> None:
        """An answer arrives."""
        request, answer = message.payload
        if is_reported_of_group(request.request, answer):
            refuses = error_of(answer) not in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED)
            self.story.say(GROUPS, self._name_of(request), group_answer_words(answer), refuses=refuses)
        super().member_receives(message)

    def _name_of(self, request: FromMember) -> str:
        return self.name_of(self.workers[request.member].instance)

    # --- what a scenario does -----------------------------------------------------------------------------------

    def write(self, *words: str) -> None:
        """Words are committed to the input, each at the partition of its hash; not in the story."""
        with self.story.offstage():
            source = self.source_starts()
            self.until(lambda: source.instance.producer.state is ClientState.READY)
            self.source_writes(source, words)
            self.rounds(4)
            self.application_commits(source.instance)
            self.until(lambda: source.instance.producer.state is ClientState.READY)
            self.rounds(3)  # for the markers
            self.crash(source.instance)

    def start(self, name: str, order: Order = Order.IN_TRANSACTION) -> WorkerRun:
        """A worker starts."""
        settings = MemberSettings(
            GROUP,
            client_id=name.replace(" ", "-"),
            assignors=(self.assignor,),
            session_timeout_ms=SESSION_MS,
            heartbeat_ms=1_000,
            max_poll_ms=10_000,
        )
        worker = self.worker_starts(name, order, settings)
        self.story.participants[self.readers.name_of(worker.consumer.consumer)] = name
        return worker

    def rounds(self, rounds: int) -> None:
        """For some time nothing goes wrong."""
        for turn in range(rounds):
            play_pipelines(self, turn % self.shape.nodes)
        self._name_words()

    def _name_words(self) -> None:
        """Records of the input and of the output are called by their word."""
        for made, read in self.made_of.items():
            word = (read.record.key or b"").decode()
            self.story.call(made, word)
            self.story.call(read.record.value or b"", word)

    def until(self, ready: Callable[[], bool]) -> None:
        """Rounds until something is so.

        Raises:
            Impossible: it is not going to be.
        """
        for _ in range(ROUNDS):
            if ready():
                return
            self.rounds(1)
        raise Impossible("the scenario never comes to this")

    def catches_up(self) -> bool:
        """Everything that is committed is counted; whether it is."""
        caught_up = catch_up(self, ROUNDS)
        self._name_words()
        return caught_up

    # --- what a scenario sees -----------------------------------------------------------------------------------

    def owned(self, *workers: WorkerRun) -> list[str]:
        """The partitions of each worker."""
        return [" ".join(f"{t}-{n}" for t, n in worker.consumer.member.assigned) or "none" for worker in workers]

    def counted(self) -> list[str]:
        """What a read_committed reader of the output counts."""
        reader = Consumer(self.outputs)
        with self.story.offstage():
            for partition in self.outputs:
                self.readers.consumer_fetches(reader, partition)
        counts = Counter((each.record.key or b"").decode() for each in reader.received)
        return [f"{word}: {times}" for word, times in sorted(counts.items())]

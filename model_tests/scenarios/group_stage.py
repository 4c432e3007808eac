"""The stage of consumer groups: workers that count words, and their group."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from model_tests.machines.pipeline_runs import PIPELINE_ACTIONS
from model_tests.machines.worker_events import WorkerEvents
from model_tests.scenarios.transaction_stage import TransactionScene
from reference.client.consumer import Consumer
from reference.client.group_member import MemberSettings
from reference.client.transaction_states import ClientState
from reference.errors import Impossible
from reference.event import Event, let_happen
from reference.tape import Tape
from reference.world.pipelines import GROUP
from reference.world.settling import catch_up, play_pipelines
from reference.world.transaction_shape import TransactionShape
from reference.world.worker import Order, WorkerRun
from spec.versions import NEWEST, Profile
from spec.vocabulary import Api

ROUNDS: Final = 120
"""Rounds after which what is waited for is not going to be."""

AT_ONCE: Final = 0
"""Rounds for which an event of workers waits, before it happens or after."""

LEAVES, CRASHES = 0, 1
"""The ways in which a worker stops, as the event chooses them."""

RESUMES: Final = 1
"""A worker that is suspended continues, and no other is suspended."""

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


class GroupStage(TransactionScene, WorkerEvents):
    """What a scenario of consumer groups is played on."""

    def __init__(self, profile: Profile, shape: TransactionShape, assignor: str) -> None:
        """The topics are empty."""
        super().__init__(profile, shape)
        self.assignor = assignor
        self.story.hidden |= {Api.INIT_PRODUCER_ID, "ConsumerFetch", "ConsumerFetchAborted"}

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

    def leaves(self, worker: WorkerRun) -> None:
        """A worker stops, and says so to its group."""
        self._let(WorkerEvents.worker_stops, AT_ONCE, worker, LEAVES)

    def crashes(self, worker: WorkerRun) -> None:
        """A worker is gone without notice."""
        self._let(WorkerEvents.worker_stops, AT_ONCE, worker, CRASHES)

    def stands_still(self, worker: WorkerRun) -> None:
        """A worker is suspended, and does not know it."""
        self._let(WorkerEvents.worker_stands_still, AT_ONCE, worker, AT_ONCE)

    def resumes(self, worker: WorkerRun) -> None:
        """A worker that was suspended continues."""
        self._let(WorkerEvents.worker_stands_still, AT_ONCE, RESUMES, worker)

    def will_fail(self, worker: WorkerRun) -> None:
        """The program of a worker will fail in its next transaction."""
        self._let(WorkerEvents.worker_aborts_next, worker)

    def _let(self, act: Callable[[WorkerEvents, Tape], None], *choices: object) -> None:
        event: Event[Any] = next(each for each in PIPELINE_ACTIONS if each.act is act)
        let_happen(event, self, choices)

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

"""The applications: each continues from its state, as far as its producer and its fellow workers let it."""

from typing import Final

from model_tests.machines.ghost_state import Owner
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.transaction_offsets import Passage
from model_tests.machines.transaction_setting import TransactionSetting
from model_tests.machines.transaction_watched import WatchedWorld
from reference.broker.group_requests import (
    JoinAnswer,
    JoinRequest,
    MemberClaim,
    OffsetAndMetadata,
    SyncRequest,
)
from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Consumer
from reference.client.coordinator_channel import CoordinatorType
from reference.client.transaction_states import ClientState, IllegalState, ProducerFailed
from reference.errors import Refusal
from reference.tape import Tape
from reference.world.instances import ApplicationRun
from reference.world.replica_rows import TOPIC
from reference.world.settling import living, send_all, settle
from spec.vocabulary import Epoch, ErrorCode, Offset

GROUP: Final = "readers"
INPUT: Final = TopicPartition(TOPIC, 0)
MOST_INSTANCES: Final = 3
"""Of one transactional id, alive at a time."""

REBALANCE_MS: Final = 3000
"""Kafka's default of group.initial.rebalance.delay.ms; when it has passed, the first members are assigned."""


class ApplicationPool(WatchedWorld):
    """Instances of all ids, and the group that workers are in.

    Attributes:
        setting: of the world.
        ledger: the account of its rules.
        claims: what each worker believes to be in its group.
    """

    def __init__(self, setting: TransactionSetting, ledger: Ledger) -> None:
        """Every id has one instance that has its identity."""
        super().__init__(setting, ledger)
        self.setting = setting
        self.ledger = ledger
        self.claims: dict[int, MemberClaim] = {}
        if setting.first_epoch >= 0:
            self._reach_epoch(setting.first_epoch)
        for name in setting.names:
            self._starts(name)
        settle(self)
        if setting.workers:
            self.worker_takes_over(Tape.of_number(0))

    def _reach_epoch(self, epoch: int) -> None:
        """All ids have used up the epochs up to one, as their log says."""
        now = self.clock.now
        for name in self.setting.names:
            instance = self._starts(name)
            settle(self)
            known = self.coordinators.of(name).known
            if known is not None:
                self.brokers.nodes[0].log.write(name, known._replace(epoch=Epoch(epoch)), now)
            self.application_crashes(instance)
        self.looks()
        self.coordinator_fails_over(0, 0)

    def happens(self, event: str) -> None:
        """An event begins; a little time passes."""
        self.clock.advance(1)
        self.watch.happens(event)

    def _starts(self, name: str) -> ApplicationRun:
        instance = self.application_starts(name)
        self.application_initializes(instance)
        return instance

    # --- instances --------------------------------------------------------------------------------------------

    def instance_starts(self, choose: Tape) -> None:
        """One more instance of an id; those before it do not know."""
        name = choose.pick(self.setting.names)
        alive = [instance for instance in living(self) if instance.transactional_id == name]
        if len(alive) >= MOST_INSTANCES:
            self.application_crashes(alive[0])
        self.happens(f"instance {len(self.instances)} of {name} starts")
        send_all(self, self._starts(name), 0)

    def instance_crashes(self, choose: Tape) -> None:
        """An instance is gone; another takes its place."""
        crashed = choose.pick(list(living(self)))
        self.happens(f"instance {crashed.number} of {crashed.transactional_id} crashes")
        self.application_crashes(crashed)
        self._starts(crashed.transactional_id)

    def application_continues(self, choose: Tape) -> None:
        """An application does what comes next, and its producer sends what it may."""
        instance = choose.pick(list(living(self)))
        try:
            self._does_next(instance, choose)
        except (IllegalState, ProducerFailed) as refused:
            self.happens(f"instance {instance.number} may not: {refused}")
        send_all(self, instance, choose.below(self.shape.nodes))

    def _does_next(self, instance: ApplicationRun, choose: Tape) -> None:
        match instance.producer.state:
            case ClientState.READY if self._works(instance):
                self._transforms(instance, choose)
            case ClientState.READY:
                self.happens(f"instance {instance.number} begins transaction {len(instance.transactions)}")
                self.application_begins(instance)
                for _ in range(choose.below(3)):
                    self._writes(instance, choose)
            case ClientState.IN_TRANSACTION:
                self._continues_in_transaction(instance, choose)
            case ClientState.ABORTABLE_ERROR:
                self.happens(f"instance {instance.number} aborts what it cannot commit")
                self.claims.pop(instance.number, None)
                self.application_aborts(instance)
            case ClientState.FATAL_ERROR | ClientState.UNINITIALIZED:
                self.happens(f"instance {instance.number} fails, and is started again")
                self.application_crashes(instance)
                self._starts(instance.transactional_id)

    def _continues_in_transaction(self, instance: ApplicationRun, choose: Tape) -> None:
        chosen = choose.below(8)
        if chosen < 2 and not self._works(instance):
            self._writes(instance, choose)
        elif chosen in (2, 3) and not self.setting.workers:
            self._sends_offsets(instance, choose)
        elif chosen == 4:
            self.happens(f"instance {instance.number} aborts transaction {instance.transaction.ordinal}")
            self.application_aborts(instance)
        else:
            self.happens(f"instance {instance.number} commits transaction {instance.transaction.ordinal}")
            self.application_commits(instance)

    def _writes(self, instance: ApplicationRun, choose: Tape) -> None:
        source = self.setting.workers and not self._works(instance)
        partition = INPUT if source else choose.pick(self.partitions)
        self.happens(f"instance {instance.number} writes to partition {partition.partition}")
        self.application_sends(instance, partition, 1 + choose.below(2))

    def _sends_offsets(self, instance: ApplicationRun, choose: Tape) -> None:
        offsets = {choose.pick(self.partitions): OffsetAndMetadata(Offset(choose.below(100)))}
        self.happens(f"instance {instance.number} sends offsets")
        self.application_sends_offsets(instance, GROUP, offsets)

    # --- workers ----------------------------------------------------------------------------------------------

    def _works(self, instance: ApplicationRun) -> bool:
        return instance.transactional_id.startswith("worker")

    def _transforms(self, instance: ApplicationRun, choose: Tape) -> None:
        """A worker reads on from where its group is, and sends what it makes of it with its offsets."""
        claim = self.claims.get(instance.number)
        if claim is None:
            if choose.below(3) == 1:
                self._takes_over(instance)
            return
        consumer = Consumer([INPUT])
        answer = self.readers.consumer_starts(consumer, GROUP)
        self.groups.reported(GROUP, answer, require_stable=True)
        fetched = answer.partitions.get(INPUT)
        if answer.error is not ErrorCode.NONE or fetched is None or fetched.error is not ErrorCode.NONE:
            return
        start = consumer.positions.get(INPUT, 0)
        received = self.readers.consumer_fetches(consumer, INPUT)
        if not received:
            return
        end = consumer.positions[INPUT]
        self.happens(f"instance {instance.number} begins, and has read {start} to {end}")
        reported = self.application_begins(instance)
        owner = Owner(instance.number, reported.ordinal)
        self.groups.passages[owner], self.groups.claims[owner] = Passage(start, end), claim
        self.application_sends(instance, self.partitions[1 + choose.below(len(self.partitions) - 1)], len(received))
        self.application_sends_offsets(instance, GROUP, consumer.consumed(), claim)

    def worker_takes_over(self, choose: Tape) -> None:
        """Another worker becomes the one member of the group; the one before does not know."""
        workers = [instance for instance in living(self) if self._works(instance)]
        if workers:
            self._takes_over(choose.pick(workers))

    def _takes_over(self, worker: ApplicationRun) -> None:
        node = self.brokers.coordinator_of(CoordinatorType.GROUP, GROUP)
        if node is None:
            return
        self.happens(f"instance {worker.number} of {worker.transactional_id} takes over the group")
        groups, joined = self.brokers.nodes[node].groups, list[JoinAnswer]()
        try:
            if self.groups.member is not None:
                groups.leave(GROUP, self.groups.member.member_id)
        except Refusal as refusal:
            self.happens(f"no member leaves: {refusal.code.name}")
        self.groups.member = None
        groups.join(JoinRequest(GROUP, must_know_id=False, client_id=worker.transactional_id), joined.append)
        self.clock.advance(REBALANCE_MS + 1)
        groups.pass_time()
        for answer in joined:
            if answer.error is ErrorCode.NONE:
                claim = MemberClaim(answer.generation, answer.member_id)
                groups.sync(SyncRequest(GROUP, claim, {answer.member_id: b""}), lambda _: None)
                self.groups.member = self.claims[worker.number] = claim
        self.looks()

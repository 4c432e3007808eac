"""The reference's coordinator, partitions, verification and clients, for counterexamples of the transactions system.

Every message is handed over when its action says so: a request that is late here was sent long before. Requests,
records, batches and markers carry the number of their client transaction in the ghost alone.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from model_tests.bugs.coordinator_steps import COORDINATOR, ID, MARKERS_VERSION, TIMEOUT_MS, CoordinatorSteps
from model_tests.bugs.world import Diverged, GhostViolation, there
from model_tests.monitor.story import Columns
from reference.broker.coordinator_errors import ConcurrentTransactions, CoordinatorNotAvailable
from reference.broker.ids import BlockAllocator, ProducerIdentity, ProducerIdManager
from reference.broker.marker_channel import TxnMarker, write_marker
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_log import AppendFault, TransactionLog
from reference.broker.transaction_metadata import BUMPS_EPOCH, PREPARED, TopicPartition, TransactionMetadata
from reference.broker.transaction_timeouts import abort_timed_out
from reference.clock import Clock
from reference.errors import InvalidProducerEpoch, InvalidTxnState, Refusal
from reference.log.batch import RecordBatch, blank_batch
from reference.log.partition import Partition
from reference.log.producer_entry import NO_GUARD
from reference.recording.recorder import Fate
from reference.world.messages import Plain, Verify
from reference.world.replica_rows import node_name
from reference.world.steps import TIMEOUT, sender_name
from spec import rules
from spec.versions import Profile
from spec.vocabulary import Api, CoordinatorEpoch, ErrorCode, TransactionState

# --- the client side: the view of each instance, and what it sent -----------------------------------------------------


@dataclass(slots=True)
class BatchOnWire:
    """A batch on its way: who sent it, what is on the wire, the guard of its verification, and who said yes to it.

    Attributes:
        confirmed: the coordinator said yes, or is not asked.
        answered: the leader has answered.
    """

    columns: Columns
    records: RecordBatch
    guard: int = NO_GUARD
    confirmed: bool = True
    answered: bool = False


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


# --- the world --------------------------------------------------------------------------------------------------------


CLIENTS: Final = ("client 0", "client 1")
PARTITIONS: Final = ("partition 0", "partition 1")

DURABLE: Final = 0
UNSURE: Final = 2
"""Fates of a record, as `spec.systems.transactions.world` numbers them."""

Batch = tuple[int, int, int]
"""A batch by transaction, partition and number."""


class DecidedTransaction(NamedTuple):
    """One decided transaction: its marker, the client transaction that was open, whose request ended it (-1 none)."""

    marker: TxnMarker
    opened_by: int
    ended_by: int


class TransactionsWorld:
    """One transactional id: its client, its coordinator with the log, and two partitions."""

    cast = (*CLIENTS, COORDINATOR, *PARTITIONS)

    def __init__(self, profile: Profile) -> None:
        """No instance has the id."""
        self.profile = profile
        self.clock = Clock(1000)
        self.steps = CoordinatorSteps(profile, self.clock, CLIENTS, PARTITIONS)
        self.story = self.steps.story
        self.log = TransactionLog(profile, partitions=1)
        self.producer_ids = ProducerIdManager(BlockAllocator(), profile)
        self.elections = 0
        self.coordinator = self._elected()
        self.leaders = {number: Partition(profile) for number in (0, 1)}
        self.client = ApplicationView()
        self.sent: dict[Batch, BatchOnWire] = {}
        self.open_batches: set[Batch] = set()
        self.opened_by = -1
        self.decisions: list[DecidedTransaction] = []
        self.marked: set[int] = set()
        self.bumped: set[int] = set()
        self.seen: GhostViolation | None = None

    @property
    def acts(self) -> Mapping[str, Callable[..., None]]:
        """What each action does."""
        return {
            "coordinator_initializes": self.coordinator_initializes,
            "client_asks_for_bump": self.client_asks_for_bump,
            "coordinator_bumps": self.coordinator_bumps,
            "bump_meets_open_transaction": self.bump_meets_open_transaction,
            "client_adds_partition": self.client_adds_partition,
            "client_sends_batch": self.client_sends_batch,
            "client_ends": self.client_ends,
            "coordinator_adds": self.coordinator_adds,
            "coordinator_verifies": self.coordinator_verifies,
            "coordinator_ends": self.coordinator_ends,
            "coordinator_completes": self.coordinator_completes,
            "coordinator_fails_over": self.coordinator_fails_over,
            "transaction_times_out": self.transaction_times_out,
            "coordinator_aborts": self.coordinator_aborts,
            "leader_receives": self.leader_receives,
            "leader_appends": self.leader_appends,
            "leader_writes_marker": self.leader_writes_marker,
        }

    # --- the client -------------------------------------------------------------------------------------------

    def client_asks_for_bump(self, instance: int, transaction: int) -> None:
        """InitProducerId that expects the identity of the instance is sent."""
        epoch = self.client.begin(instance, transaction).epoch
        sends = f"sends InitProducerId, epoch {epoch} expected"
        self.story.remark(CLIENTS[instance], f"in place of transaction {transaction}: {sends}")

    def client_adds_partition(self, instance: int, transaction: int, partition: int) -> None:
        """AddPartitionsToTxn is sent."""
        self.client.begin(instance, transaction)
        self._says(transaction, f"sends AddPartitionsToTxn of {PARTITIONS[partition]}")

    def client_sends_batch(self, instance: int, transaction: int, partition: int, number: int) -> None:
        """Produce is sent.

        Args:
            instance: of the client, by its number.
            transaction: of the client, by its number.
            partition: by its number.
            number: of the batch, from 0.
        """
        batch, name = (
            self.client.batch(instance, transaction, partition),
            f"batch {number} of transaction {transaction}",
        )
        columns: Columns = {"client": sender_name(Plain(instance)), "node": node_name(1 + partition)}
        columns |= {"message": self.steps.message(), "transactional_id": ID, "writer": name, "first_record": 0}
        self.story.records[name, 0] = name
        self.sent[transaction, partition, number] = BatchOnWire(columns | named(partition)._asdict(), batch)
        numbers = f"epoch {batch.producer_epoch}, sequence {batch.base_sequence}"
        self._says(transaction, f"sends Produce to {PARTITIONS[partition]}, {numbers}")

    def client_ends(self, transaction: int, outcome: int) -> None:
        """EndTxn is sent; with an abort the client gives up its batches that are not answered."""
        self.client.end_sent[transaction] = bool(outcome)
        self._says(transaction, f"sends EndTxn {'commit' if outcome else 'abort'}")
        for (sent_in, _, _), sent in self.sent.items():
            if sent_in == transaction and not (outcome or sent.answered):
                self.story.give_up(sent.columns, sent.records)

    # --- the coordinator --------------------------------------------------------------------------------------

    def coordinator_initializes(self, instance: int, fate: int) -> None:
        """InitProducerId arrives."""
        self._fate(fate)
        identity = self.steps.initialize(self.coordinator, instance)
        self.client.given[instance] = self.client.newest[instance] = identity

    def coordinator_bumps(self, transaction: int, fate: int) -> None:
        """InitProducerId that expects the identity of an instance arrives; only its first answer reaches the client."""
        self._fate(fate)
        identity = self._bump(transaction)
        if transaction not in self.bumped:
            self.bumped.add(transaction)
            self.client.newest[self.client.owner[transaction]] = identity

    def bump_meets_open_transaction(self, transaction: int) -> None:
        """The same while a transaction is open: it is aborted before the client gets an identity.

        Raises:
            Diverged: it is not.
        """
        owed = len(self.coordinator.markers.owed)
        try:
            self._bump(transaction)
        except ConcurrentTransactions:
            if len(self.coordinator.markers.owed) > owed:
                self._fenced(transaction)
                return
        raise Diverged("the open transaction is not aborted")

    def coordinator_adds(self, transaction: int, partition: int, fate: int) -> None:
        """AddPartitionsToTxn of the client arrives."""
        self._fate(fate)
        owner, identity = self.client.owner[transaction], self.client.of_transaction[transaction]
        with self._begins(transaction):
            sending = Api.ADD_PARTITIONS_TO_TXN, transaction, partition
            self.steps.add(self.coordinator, owner, identity, named(partition), sending)

    def coordinator_verifies(self, transaction: int, partition: int, number: int, fate: int = DURABLE) -> None:
        """The coordinator answers the leader that has a batch; under version 2 it adds the partition.

        Args:
            transaction: of the client, by its number.
            partition: by its number.
            number: of the batch, from 0.
            fate: how the append to the coordinator's log ends.

        Raises:
            TransactionAbortable: the coordinator knows the partition in no open transaction of the producer.
            Refusal: under transaction version 2, the coordinator does not add it.
        """
        adds = self._version >= BUMPS_EPOCH
        self._fate(fate if adds else DURABLE)
        with self._begins(transaction):
            question = Verify(ID, self.client.of_transaction[transaction], named(partition), adds)
            self.steps.verify(self.coordinator, question)
        self.sent[transaction, partition, number].confirmed = True

    def coordinator_ends(self, transaction: int, fate: int) -> None:
        """EndTxn arrives."""
        self._fate(fate)
        owed = len(self.coordinator.markers.owed)
        identity = self.client.of_transaction[transaction]
        commit, owner = self.client.end_sent[transaction], self.client.owner[transaction]
        sending = Api.END_TXN, transaction
        following = self.steps.end(self.coordinator, owner, identity, commit=commit, sending=sending)
        if len(self.coordinator.markers.owed) > owed:
            self._decided(transaction)
        if self._version >= BUMPS_EPOCH:
            self.client.newest[owner] = following

    def transaction_times_out(self) -> None:
        """The transaction is open for longer than its timeout."""
        self.clock.advance(2 * TIMEOUT_MS)
        self.story.remark(COORDINATOR, "the open transaction is past its timeout")

    def coordinator_aborts(self, fate: int) -> None:
        """The coordinator's own abort of a transaction past its timeout."""
        self._fate(fate)
        with self.steps.by_itself(self.coordinator, TIMEOUT):
            abort_timed_out(self.coordinator)
        if self._metadata.state is TransactionState.ONGOING:
            raise Diverged("the transaction is not aborted")
        self._decided(-1)

    def coordinator_completes(self) -> None:
        """The coordinator has the answers to its markers, and completes the transaction."""
        with self.steps.by_itself(self.coordinator, "MarkersSent"):
            self.coordinator.send_markers()
        if self._metadata.state in PREPARED:
            raise Diverged(f"the transaction does not complete: it stays {self._metadata.state.name}")
        self.marked.clear()

    def coordinator_fails_over(self) -> None:
        """Another node reads the log, and sends the markers of what is decided."""
        self.coordinator = self._elected()
        self.story.remark(COORDINATOR, f"another node takes over, coordinator epoch {self.elections - 1}")
        self.steps.loads(self.coordinator)
        self.marked.clear()

    # --- leaders ----------------------------------------------------------------------------------------------

    def leader_receives(self, transaction: int, partition: int, number: int) -> None:
        """Produce arrives; the leader begins to verify its transaction if it must.

        Raises:
            InvalidProducerEpoch: the batch is of an earlier epoch, and the profile looks at it before asking.
        """
        sent = self.sent[transaction, partition, number]
        sent.guard, sent.confirmed = NO_GUARD, True
        self.story.remark(PARTITIONS[partition], f"receives batch {number} of transaction {transaction}")
        if self._version < BUMPS_EPOCH and not self.profile.partition_verification:
            return
        state, batch = self.leaders[partition].state, sent.records
        current = state.entry(batch.producer_id).epoch
        if self.profile.stale_epoch_before_coordinator and batch.producer_epoch < current:
            raise InvalidProducerEpoch(current=current, got=batch.producer_epoch)
        bumps = self._version >= BUMPS_EPOCH
        sent.guard = state.start_verification(
            batch.producer_id, batch.base_sequence, batch.producer_epoch, bumps, self.clock.now
        )
        sent.confirmed = sent.guard == NO_GUARD

    def leader_appends(self, transaction: int, partition: int, number: int) -> None:
        """The batch is appended, or not; one that was never confirmed is asked about first."""
        sent = self.sent[transaction, partition, number]
        if not sent.confirmed:
            self.coordinator_verifies(transaction, partition, number)
        sent.answered = True
        try:
            leader = self.leaders[partition]
            duplicate = self.story.append(sent.columns, leader, sent.records, sent.guard, Fate.ANSWERED).duplicate
        except InvalidTxnState as refusal:
            if not self._is_registered(transaction, partition):
                raise
            text = f"the coordinator has transaction {transaction} on partition {partition}, and its batch is refused"
            self.seen = GhostViolation(rules.TXN_NO_CROSSTALK, f"{text}: {refusal}")
        else:
            if not duplicate:
                self.open_batches.add((transaction, partition, number))

    def leader_writes_marker(self, decision: int, coordinator: int, partition: int) -> None:
        """A marker arrives, maybe not for the first time."""
        made = self._made(decision)
        marker, sending = self._sent_by(made.marker, coordinator), ("marker", decision, coordinator, partition)
        self.steps.write_marker(named(partition), self.leaders[partition], marker, sending)
        ended = {batch for batch in self.open_batches if batch[1] == partition}
        self.open_batches -= ended
        self.marked.add(partition)
        for transaction, _, number in sorted(ended):
            if transaction != made.opened_by:
                text = f"batch {number} of transaction {transaction} is decided by the marker of {made.opened_by}"
                self.seen = self.seen or GhostViolation(rules.TXN_NO_CROSSTALK, text)
                self.story.remark(PARTITIONS[partition], text)

    # --- the ghost --------------------------------------------------------------------------------------------

    def broken(self) -> GhostViolation | None:
        """A transaction ended by another's request, data that is never decided, or a marker that is refused."""
        return self.seen or self._ended_by_another() or self._left_open() or self._shut_out_marker()

    def instead(self) -> str:
        """Where the transaction stands."""
        known = self._metadata
        return f"the id is {known.state.name} with epoch {known.epoch}; batches that are open: {len(self.open_batches)}"

    def _ended_by_another(self) -> GhostViolation | None:
        for made in self.decisions:
            if made.ended_by not in (-1, made.opened_by):
                text = f"an EndTxn of transaction {made.ended_by} ended transaction {made.opened_by}"
                return GhostViolation(rules.TXN_NO_CROSSTALK, text)
        return None

    def _left_open(self) -> GhostViolation | None:
        for transaction, partition, number in sorted(self.open_batches):
            if not self._will_be_marked(partition):
                stable = self.leaders[partition].last_stable
                text = f"batch {number} of transaction {transaction} is never decided: readers wait at offset {stable}"
                return GhostViolation(rules.TXN_REGISTERED_BEFORE_DATA, text)
        return None

    def _will_be_marked(self, partition: int) -> bool:
        if self._metadata.state is TransactionState.ONGOING:
            return named(partition) in self._metadata.partitions
        waiting = any(named(partition) in owed.partitions for owed in self.coordinator.markers.owed)
        return waiting and partition not in self.marked

    def _shut_out_marker(self) -> GhostViolation | None:
        """A marker that the coordinator would send again, because it has no answer, is refused."""
        for owed in self.coordinator.markers.owed:
            for partition in sorted(owed.partitions):
                tried = copy.deepcopy(self.leaders[partition.partition])
                try:
                    write_marker(tried, owed.marker, MARKERS_VERSION, self.clock.now)
                except Refusal as refusal:
                    text = f"the marker that the coordinator sends again is refused: {refusal}"
                    return GhostViolation(rules.TXN_COMPLETES, text)
        return None

    # --- what several do --------------------------------------------------------------------------------------

    @property
    def _version(self) -> int:
        return self.profile.transaction_version

    @property
    def _metadata(self) -> TransactionMetadata:
        return self.coordinator.states.known(ID).metadata

    def _says(self, transaction: int, text: str) -> None:
        self.story.remark(CLIENTS[self.client.owner[transaction]], f"transaction {transaction}: {text}")

    def _bump(self, transaction: int) -> ProducerIdentity:
        owner, expected = self.client.owner[transaction], self.client.of_transaction[transaction]
        return self.steps.initialize(self.coordinator, owner, expected, (Api.INIT_PRODUCER_ID, transaction))

    @contextmanager
    def _begins(self, transaction: int) -> Iterator[None]:
        """What happens inside may begin the transaction of the id."""
        begun = self._metadata.state is TransactionState.ONGOING
        yield
        if not begun and self._metadata.state is TransactionState.ONGOING:
            self.opened_by = transaction

    def _fate(self, fate: int) -> None:
        if fate != DURABLE:
            self.story.remark(
                COORDINATOR, f"the append to its log {'is taken for failed' if fate == UNSURE else 'fails'}"
            )
            self.log.faults.append(AppendFault(CoordinatorNotAvailable(), written=fate == UNSURE))

    def _elected(self) -> TransactionCoordinator:
        elected = TransactionCoordinator(self.profile, self.producer_ids, self.log, self._answer, self.clock)
        elected.elect(0, CoordinatorEpoch(self.elections))
        self.elections += 1
        return elected

    def _answer(self, partition: TopicPartition, _: TxnMarker) -> ErrorCode:
        """The answers to a coordinator's markers: only those that were written are answered."""
        return ErrorCode.NONE if partition.partition in self.marked else ErrorCode.REQUEST_TIMED_OUT

    def _fenced(self, transaction: int) -> None:
        """A client's bump ended the open transaction, which must be an earlier one of the same instance."""
        owner, opened_by = self.client.owner, self.opened_by
        self._decided(-1)
        if opened_by >= transaction or owner.get(opened_by) != owner[transaction]:
            text = f"the InitProducerId of transaction {transaction} ended transaction {opened_by}"
            self.seen = self.seen or GhostViolation(rules.TXN_NO_CROSSTALK, text)

    def _decided(self, ended_by: int) -> None:
        self.decisions.append(DecidedTransaction(self.coordinator.markers.owed[-1].marker, self.opened_by, ended_by))
        request = "" if ended_by < 0 else f"EndTxn of transaction {ended_by} "
        self.story.remark(COORDINATOR, f"{request}ends transaction {self.opened_by}")

    def _made(self, decision: int) -> DecidedTransaction:
        made = self.decisions[decision] if decision < len(self.decisions) else None
        return there(made, f"there is no decision {decision}")

    @staticmethod
    def _sent_by(marker: TxnMarker, coordinator: int) -> TxnMarker:
        return TxnMarker(
            marker.producer_id,
            marker.epoch,
            marker.committed,
            CoordinatorEpoch(coordinator),
            marker.transaction_version,
        )

    def _is_registered(self, transaction: int, partition: int) -> bool:
        known = self._metadata
        identity = ProducerIdentity(known.producer_id, known.epoch)
        same = identity == self.client.of_transaction[transaction] and self.opened_by == transaction
        return known.state is TransactionState.ONGOING and same and named(partition) in known.partitions


def named(partition: int) -> TopicPartition:
    """A partition by its number."""
    return TopicPartition("orders", partition)

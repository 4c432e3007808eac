"""Counterexamples of the transactions system, in the world of transactions.

A message arrives when its action says so: a request that is late was sent long before.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from model_tests.bugs.script import Diverged, GhostViolation, there
from model_tests.bugs.scripted_clients import ScriptedClients
from model_tests.scenarios.transaction_stage import coordinator as coordinator_name
from model_tests.scenarios.transaction_stage import partition_name
from reference.broker.ids import ProducerIdentity
from reference.broker.marker_channel import TxnMarker, write_marker
from reference.broker.transaction_metadata import BUMPS_EPOCH, PREPARED
from reference.errors import Refusal
from reference.recording.recorder import Fate
from reference.world.history import RecordOrigin
from reference.world.messages import Request, WriteMarker
from spec import rules
from spec.versions import Profile
from spec.vocabulary import Api, CoordinatorEpoch, ErrorCode, TransactionState

CLIENTS: Final = ("client 0", "client 1")

Batch = tuple[int, int, int]
"""A batch by transaction, partition and number."""


class DecidedTransaction(NamedTuple):
    """One decided transaction: its marker, the client transaction that was open, whose request ended it (-1 none)."""

    marker: TxnMarker
    opened_by: int
    ended_by: int


@dataclass(frozen=True, slots=True)
class ClientTransaction:
    """A transaction of a client: which client, and the identity in its requests."""

    client: int
    identity: ProducerIdentity


class TransactionsScript(ScriptedClients):
    """One transactional id: the transactions of its clients, and which of them the coordinator decides."""

    def __init__(self, profile: Profile) -> None:
        """No client has the id."""
        super().__init__(profile, CLIENTS)
        self.newest: dict[int, ProducerIdentity] = {}
        self.transactions: dict[int, ClientTransaction] = {}
        self.sent: dict[tuple[str | int, ...], Request] = {}
        self.bumped: set[int] = set()
        self.open_batches: set[Batch] = set()
        self.opened_by = -1
        self.decisions: list[DecidedTransaction] = []
        self.marked: set[tuple[int, int, int]] = set()
        self.repeatedly_marked: set[int] = set()
        self.seen: GhostViolation | None = None

    # --- clients ----------------------------------------------------------------------------------------------

    def client_asks_for_bump(self, client: int, transaction: int) -> None:
        """InitProducerId that expects the identity of the client is sent."""
        expected = self._begun(client, transaction).identity
        self._sends(self.asks_for_identity(client, expected), Api.INIT_PRODUCER_ID, transaction)

    def client_adds_partition(self, client: int, transaction: int, partition: int) -> None:
        """AddPartitionsToTxn is sent."""
        identity = self._begun(client, transaction).identity
        request = self.asks_to_add(client, identity, partition, transaction)
        self._sends(request, Api.ADD_PARTITIONS_TO_TXN, transaction, partition)

    def client_sends_batch(self, client: int, transaction: int, partition: int, number: int) -> None:
        """Produce is sent.

        Args:
            client: by its number.
            transaction: of the client, by its number.
            partition: by its number.
            number: of the batch, from 0.
        """
        identity, writer = self._begun(client, transaction).identity, f"transaction {transaction}"
        self.story.records[writer, number] = f"batch {number}"
        made_by = RecordOrigin(writer, transaction, number)
        request = self.produces(client, identity, partition, made_by)
        self._sends(request, Api.PRODUCE, transaction, partition, number)

    def client_ends(self, transaction: int, outcome: int) -> None:
        """EndTxn is sent; with an abort the client gives up its batches that are not answered."""
        ended = self.transactions[transaction]
        request = self.asks_to_end(ended.client, ended.identity, commit=bool(outcome), transaction=transaction)
        self._sends(request, Api.END_TXN, transaction)
        for key, batch in self.sent.items():
            if key[:2] == (Api.PRODUCE, transaction) and not outcome and batch.number in self.wires.open:
                self.sender_stops_waiting(batch)

    def _sends(self, request: Request, api: str, *at: int) -> None:
        self._annotate(Fate.SENT, request)
        self.sent[api, *at] = request

    # --- the coordinator --------------------------------------------------------------------------------------

    def coordinator_initializes(self, client: int, _: int) -> None:
        """InitProducerId arrives."""
        self.newest[client] = self.succeeds(self.asks_for_identity(client))

    def coordinator_bumps(self, transaction: int, _: int) -> None:
        """InitProducerId that expects the identity of a client arrives; only its first answer reaches the client."""
        identity = self.succeeds(self.sent[Api.INIT_PRODUCER_ID, transaction])
        if transaction not in self.bumped:
            self.bumped.add(transaction)
            self.newest[self.transactions[transaction].client] = identity

    def bump_meets_open_transaction(self, transaction: int) -> None:
        """The same while a transaction is open: it is aborted before the client gets an identity.

        Raises:
            Diverged: it is not.
        """
        request, owed = self.sent[Api.INIT_PRODUCER_ID, transaction], len(self.owed)
        self.arrives(request)
        answer = self.answer_arrives(request)
        if answer.error is not ErrorCode.CONCURRENT_TRANSACTIONS or len(self.owed) == owed:
            raise Diverged(f"the open transaction is not aborted: {self.refusal(request, answer)}")
        self._fenced(transaction)

    def coordinator_adds(self, transaction: int, partition: int, _: int) -> None:
        """AddPartitionsToTxn of the client arrives."""
        with self._begins(transaction):
            self.succeeds(self.sent[Api.ADD_PARTITIONS_TO_TXN, transaction, partition])

    def coordinator_verifies(self, transaction: int, partition: int, number: int, *_: int) -> None:
        """The coordinator answers the leader that has a batch; under version 2 it adds the partition.

        Args:
            transaction: of the client, by its number.
            partition: by its number.
            number: of the batch, from 0.

        Raises:
            Diverged: the coordinator refuses it.
        """
        question = self.question_about(self.sent[Api.PRODUCE, transaction, partition, number])
        with self._begins(transaction):
            self.coordinator_agrees(there(question, f"the leader does not ask about batch {number}"))

    def coordinator_ends(self, transaction: int, _: int) -> None:
        """EndTxn arrives."""
        owed = len(self.owed)
        if self.metadata.state is not TransactionState.ONGOING:
            self.opened_by = transaction
        following = self.succeeds(self.sent[Api.END_TXN, transaction])
        if len(self.owed) > owed:
            self._decided(transaction)
        if self.profile.transaction_version >= BUMPS_EPOCH:
            self.newest[self.transactions[transaction].client] = following

    def coordinator_aborts(self, _: int) -> None:
        """The coordinator aborts what it was about to fence: it has done so with the request that made it.

        Raises:
            Diverged: the transaction is open.
        """
        if self.metadata.state is TransactionState.ONGOING:
            raise Diverged("the transaction is not aborted")

    def coordinator_completes(self) -> None:
        """The coordinator has the answers to its markers, and completes the transaction."""
        self.coordinator_sends_markers(self.coordinating)
        self.answers_to_markers_arrive()
        if self.metadata.state in PREPARED:
            raise Diverged(f"the transaction does not complete: it stays {self.metadata.state.name}")

    # --- leaders ----------------------------------------------------------------------------------------------

    def leader_receives(self, transaction: int, partition: int, number: int) -> None:
        """Produce arrives, and the leader verifies its transaction; a leader that need not do that appends it later.

        Raises:
            Diverged: the batch is refused before the coordinator is asked.
        """
        request = self.sent[Api.PRODUCE, transaction, partition, number]
        self._annotate(Fate.ARRIVED, request)
        if self._verifies:
            self.arrives(request)
        if self.answers(request):
            self.accepted(request, self.answer(request))

    def leader_appends(self, transaction: int, partition: int, number: int) -> None:
        """The batch is appended, or not; one that was never confirmed is asked about first."""
        request, registered = self.sent[Api.PRODUCE, transaction, partition, number], False
        if not self._verifies:
            self.arrives(request)
        elif self.question_about(request):
            self.coordinator_verifies(transaction, partition, number)
        if not self.answers(request):
            registered = self._is_registered(transaction, partition) and partition not in self.repeatedly_marked
            self.consents_arrive()
        answer = self.answer_arrives(request)
        if answer.error is ErrorCode.INVALID_TXN_STATE and registered:
            text = f"the coordinator has transaction {transaction} on partition {partition}, and its batch is refused"
            self.seen = GhostViolation(rules.TXN_NO_CROSSTALK, f"{text}: {self.refusal(request, answer)}")
            return
        self.accepted(request, answer)
        if self.step_of(request)["appended"]:
            self.open_batches.add((transaction, partition, number))

    def leader_writes_marker(self, decision: int, coordinator: int, partition: int) -> None:
        """A marker arrives, maybe not for the first time.

        Args:
            decision: whose marker it is, by its number.
            coordinator: that has sent it, by its epoch.
            partition: by its number.

        Raises:
            Diverged: the marker is not under way, or is refused.
        """
        self.coordinator_sends_markers(self.coordinating)
        made = there(next(iter(self.decisions[decision:]), None), f"there is no decision {decision}")
        body = self.names[partition], replace(made.marker, coordinator_epoch=CoordinatorEpoch(coordinator))
        sent = (each for each in self.markers() if each.body[1:] == body)
        request = there(next(sent, None), f"the marker of decision {decision} is not sent to partition {partition}")
        if not self.leader(partition).state.entry(made.marker.producer_id).in_transaction:
            self.repeatedly_marked.add(partition)
        self.arrives(request)
        self.accepted(request, self.answer(request))
        ended = {batch for batch in self.open_batches if batch[1] == partition}
        self.open_batches -= ended
        self.marked.add((decision, coordinator, partition))
        for transaction, _, number in sorted(ended):
            if transaction != made.opened_by:
                text = f"batch {number} of transaction {transaction} is decided by the marker of {made.opened_by}"
                self.seen = self.seen or GhostViolation(rules.TXN_NO_CROSSTALK, text)
                self.story.remark(partition_name(self.names[partition]), text)

    # --- the ghost --------------------------------------------------------------------------------------------

    def broken(self) -> GhostViolation | None:
        """A transaction ended by another's request, data that is never decided, or a marker that is refused.

        Data that is refused is a violation only where no marker without effect has come to the partition: the system's
        claim is about the markers that end a transaction there.
        """
        return self.seen or self._ended_by_another() or self._left_open() or self._shut_out_marker()

    def instead(self) -> str:
        """Where the transaction stands."""
        known = self.metadata
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
                stable = self.leader(partition).last_stable
                text = f"batch {number} of transaction {transaction} is never decided: readers wait at offset {stable}"
                return GhostViolation(rules.TXN_REGISTERED_BEFORE_DATA, text)
        return None

    def _will_be_marked(self, partition: int) -> bool:
        if self.metadata.state is TransactionState.ONGOING:
            return self.names[partition] in self.metadata.partitions
        waiting = any(self.names[partition] in owed.partitions for owed in self.owed)
        return waiting and (len(self.decisions) - 1, self.brokers.log_epochs[0], partition) not in self.marked

    def _shut_out_marker(self) -> GhostViolation | None:
        """A marker that the coordinator would send again, because it has no answer, is refused."""
        awaited = [(owed.marker, name) for owed in self.owed for name in owed.partitions]
        for request in self.markers():
            match request.body:
                case WriteMarker(partition=name, marker=marker) as sent if (marker, name) in awaited:
                    refusal = self._refusal_of(sent)
                    if refusal is not None:
                        text = f"the marker that the coordinator sends again is refused: {refusal}"
                        return GhostViolation(rules.TXN_COMPLETES, text)
        return None

    def _refusal_of(self, sent: WriteMarker) -> Refusal | None:
        """Why the leader would refuse a marker now."""
        tried = copy.deepcopy(self.brokers.partitions[sent.partition].leader)
        try:
            write_marker(tried, sent.marker, sent.version, self.clock.now)
        except Refusal as refusal:
            return refusal
        return None

    # --- what several do --------------------------------------------------------------------------------------

    @property
    def _verifies(self) -> bool:
        """Whether leaders ask the coordinator."""
        return self.profile.transaction_version >= BUMPS_EPOCH or self.profile.partition_verification

    def _begun(self, client: int, transaction: int) -> ClientTransaction:
        """A transaction of a client, which may begin now."""
        begun = ClientTransaction(client, self.newest[client])
        return self.transactions.setdefault(transaction, begun)

    @contextmanager
    def _begins(self, transaction: int) -> Iterator[None]:
        """What happens inside may begin the transaction of the id."""
        begun = self.metadata.state is TransactionState.ONGOING
        yield
        if not begun and self.metadata.state is TransactionState.ONGOING:
            self.opened_by = transaction

    def _fenced(self, transaction: int) -> None:
        """A client's bump ended the open transaction, which must be an earlier one of the same client."""
        opened, by = self.transactions[self.opened_by], self.transactions[transaction]
        self._decided(-1)
        if self.opened_by >= transaction or opened.client != by.client:
            text = f"the InitProducerId of transaction {transaction} ended transaction {self.opened_by}"
            self.seen = self.seen or GhostViolation(rules.TXN_NO_CROSSTALK, text)

    def _decided(self, ended_by: int) -> None:
        self.decisions.append(DecidedTransaction(self.owed[-1].marker, self.opened_by, ended_by))
        request = "" if ended_by < 0 else f"EndTxn of transaction {ended_by} "
        self.story.remark(coordinator_name(self.coordinating), f"{request}ends transaction {self.opened_by}")

    def _is_registered(self, transaction: int, partition: int) -> bool:
        known = self.metadata
        identity = ProducerIdentity(known.producer_id, known.epoch)
        same = identity == self.transactions[transaction].identity and self.opened_by == transaction
        return known.state is TransactionState.ONGOING and same and self.names[partition] in known.partitions

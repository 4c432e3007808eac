"""A transactional producer's requests to its coordinators, and the effect of the answers (TransactionManager).

Requests wait in a queue ordered by priority, and one is in flight at a time. A request whose connection breaks is
sent again as it was, with the producer id and epoch that it was made with.
"""

from collections.abc import Callable

from reference.broker.group_requests import NO_CLAIM, MemberClaim, Offsets
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_api import NO_IDENTITY
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import (
    AddOffsets,
    AddPartitions,
    ClientCall,
    CoordinatorAnswer,
    CoordinatorChannel,
    EndTxn,
    FindCoordinator,
    InitProducerId,
    Outgoing,
    PendingRequest,
    PendingResult,
    TxnOffsetCommit,
    deciding_error,
    request_of,
)
from reference.client.producer_settings import CLAIMS_SINCE, RequestVersions
from reference.client.transaction_states import (
    COMPLETING,
    FAILED,
    ClientState,
    ClientStateMachine,
    ErrorHandling,
    IllegalState,
    meaning,
)
from spec.vocabulary import ErrorCode

TakeIdentity = Callable[[ProducerIdentity, bool], None]
"""Gives the producer its identity, and whether its sequences start again at 0."""


class TransactionManager:
    """One producer's part in its transactions.

    Attributes:
        transactional_id: the id.
        versions: of the requests in this transaction.
        offered: what the brokers offer now; taken over between transactions.
        machine: the producer's state.
        identity: producer id and epoch, None until InitProducerId has answered.
        partitions: those whose batches may be sent.
        started: the coordinator may know of a transaction that must be ended.
        needs_bump: the producer must get a new epoch before it continues.
        channel: the way to the coordinators.
    """

    def __init__(
        self, transactional_id: str, timeout_ms: int, versions: RequestVersions, take_identity: TakeIdentity
    ) -> None:
        """A producer that has not been initialized."""
        self.transactional_id = transactional_id
        self.versions = versions
        self.offered = versions
        self.machine = ClientStateMachine()
        self.identity: ProducerIdentity | None = None
        self.partitions: set[TopicPartition] = set()
        self.started = False
        self.needs_bump = False
        self.channel = CoordinatorChannel()
        self._timeout_ms = timeout_ms
        self._take_identity = take_identity
        self._new: list[TopicPartition] = []
        self._adding: set[TopicPartition] = set()
        self._call: PendingResult | None = None

    # --- the application --------------------------------------------------------------------------------------

    def init_transactions(self) -> PendingResult:
        """Ask for a producer id; whatever another producer with the id has left open is aborted first."""
        return self._cached(ClientCall.INIT_TRANSACTIONS) or self._initialize()

    def begin(self) -> None:
        """Begin a transaction; the coordinator learns of it with the first partition."""
        self._check_usable("begin")
        self.machine.go(ClientState.IN_TRANSACTION)

    def add_partition(self, partition: TopicPartition) -> None:
        """The application sends to a partition: it joins the transaction, by request or by its first batch."""
        self._check_open("send")
        if self.versions.bumps_by_ending:
            self.partitions.add(partition)
            self.started = True
        elif not self._is_added(partition):
            self._new.append(partition)

    def send_offsets(self, group: str, offsets: Offsets, claim: MemberClaim) -> PendingResult:
        """Commit offsets of a group with the transaction."""
        identity = self._check_open("send offsets")
        result = PendingResult(ClientCall.SEND_OFFSETS)
        if self.versions.bumps_by_ending:
            self.started = True
            self.channel.enqueue(self._offset_commit(identity, group, offsets, claim), result)
            return result
        version = self.versions.add_offsets
        self.channel.enqueue(AddOffsets(version, self.transactional_id, identity, group, offsets, claim), result)
        return result

    def commit(self) -> PendingResult:
        """End the transaction: all of it becomes visible."""
        return self._cached(ClientCall.COMMIT) or self._commit()

    def abort(self) -> PendingResult:
        """End the transaction: none of it becomes visible."""
        return self._cached(ClientCall.ABORT) or self._abort()

    def _initialize(self) -> PendingResult:
        self.machine.check_not_failed()
        self.machine.go(ClientState.INITIALIZING)
        self.versions = self.offered
        self.identity = None
        result = PendingResult(ClientCall.INIT_TRANSACTIONS)
        self.channel.enqueue(
            InitProducerId(self.versions.init_producer_id, self.transactional_id, self._timeout_ms), result
        )
        return self._remembered(result)

    def _commit(self) -> PendingResult:
        self.machine.check_not_failed()
        self.machine.go(ClientState.COMMITTING_TRANSACTION)
        return self._complete_transaction(PendingResult(ClientCall.COMMIT), commit=True)

    def _abort(self) -> PendingResult:
        if self.machine.state is not ClientState.ABORTABLE_ERROR:
            self.machine.check_not_failed()
        self.machine.go(ClientState.ABORTING_TRANSACTION)
        self._new.clear()
        return self._complete_transaction(PendingResult(ClientCall.ABORT), commit=False)

    def _complete_transaction(self, result: PendingResult, commit: bool) -> PendingResult:
        """The transaction ends with the versions that it began with; the next one has those that are offered."""
        self._ask_to_add_partitions()
        identity = self.identity or NO_IDENTITY  # nobody where there is nothing to end, so that nothing is sent
        self.channel.enqueue(EndTxn(self.versions.end_txn, self.transactional_id, identity, commit), result)
        if self.offered.bumps_by_ending and not self.versions.bumps_by_ending:
            self.needs_bump = True
        self.versions = self.offered
        return self._remembered(result)

    def _cached(self, operation: ClientCall) -> PendingResult | None:
        """The same call again waits for what is under way; another call must wait until it is done."""
        if self._call is None or self._call.is_done:
            return None
        if self._call.operation is not operation:
            raise IllegalState(f"{operation} while the producer waits for {self._call.operation}")
        return self._call

    def _remembered(self, result: PendingResult) -> PendingResult:
        self._call = result
        return result

    # --- the sender -------------------------------------------------------------------------------------------

    def may_send(self, incomplete: bool) -> bool:
        """Whether a request can go out or be settled; the end of the transaction waits for incomplete batches."""
        if self._new and self.channel.in_flight is None:
            return True
        return self.channel.may_send(incomplete)

    def poll(self, incomplete: bool) -> Outgoing | None:
        """The next request to send; None if there is none, or if it is settled without being sent."""
        self._ask_to_add_partitions()
        if not self.channel.may_send(incomplete):
            return None
        waiting = self.channel.take()
        if self._fails(waiting):
            waiting.result.fail(self.machine.error)
            return None
        if isinstance(waiting.request, EndTxn) and not self.started:
            self._complete(waiting.result)
            return None
        return self.channel.send(waiting)

    def _fails(self, waiting: PendingRequest) -> bool:
        """In an error state nothing is sent; only the coordinator is still looked for, to abort with."""
        if self.machine.state is ClientState.ABORTABLE_ERROR:
            return not isinstance(waiting.request, FindCoordinator)
        return self.machine.state is ClientState.FATAL_ERROR

    # --- answers ----------------------------------------------------------------------------------------------

    def receive(self, number: int, answer: CoordinatorAnswer) -> None:
        """Handle the answer to a request; one to a request that was given up is ignored."""
        waiting = self.channel.land(number)
        if waiting is None:
            return
        if self.machine.state is ClientState.FATAL_ERROR:
            waiting.result.fail(self.machine.error)
            return
        waiting.settle(partition for partition, error in answer.partitions.items() if error is ErrorCode.NONE)
        error = deciding_error(waiting, answer)
        outcome = meaning(request_of(waiting.request), error)
        if outcome is ErrorHandling.DONE:
            self._succeed(waiting, answer)
        elif outcome is ErrorHandling.RETRY:
            self.channel.retry(waiting)
        elif outcome is ErrorHandling.REFIND:
            self.channel.refind(waiting)
        else:
            self._fail(outcome, error)
            waiting.result.fail(error)

    def lose(self, number: int) -> None:
        """The connection broke or the request timed out: find the coordinator, and send the same request again."""
        waiting = self.channel.land(number)
        if waiting is not None:
            self.channel.refind(waiting)

    def _fail(self, outcome: ErrorHandling, error: ErrorCode) -> None:
        match outcome:
            case ErrorHandling.UNINITIALIZED:
                self.fail_abortably(error)
                self.machine.go_by_itself(ClientState.UNINITIALIZED)
            case ErrorHandling.ABORTABLE:
                self.fail_abortably(error)
            case ErrorHandling.BUMP_OR_FATAL if self._can_go_on:
                self.fail_abortably(error, bump=True)
            case _:
                self.machine.fail_fatally(error)

    def _succeed(self, waiting: PendingRequest, answer: CoordinatorAnswer) -> None:
        match waiting.request:
            case FindCoordinator(coordinator=coordinator):
                self.channel.nodes[coordinator] = answer.node
            case InitProducerId(expected=expected):
                self._initialized(answer.identity, expected is not None)
                waiting.result.succeed()
            case AddPartitions(partitions=partitions):
                self._adding -= set(partitions)
                self.partitions |= set(partitions)
                self.started = True
            case AddOffsets(producer=producer, group=group, offsets=offsets, claim=claim):
                self.started = True
                self.channel.enqueue(self._offset_commit(producer, group, offsets, claim), waiting.result)
            case TxnOffsetCommit():
                waiting.result.succeed()
            case EndTxn():
                self._ended(waiting.result, answer.identity)

    def _initialized(self, identity: ProducerIdentity, bumped: bool) -> None:
        self.identity = identity
        self._take_identity(identity, bumped)
        self.machine.go_by_itself(ClientState.READY)

    def _ended(self, result: PendingResult, identity: ProducerIdentity) -> None:
        """The transaction is decided; an answer with an identity is that of the next one."""
        if identity != NO_IDENTITY:
            self.identity = identity
            self._take_identity(identity, True)
        self._complete(result)

    def _complete(self, result: PendingResult) -> None:
        """Nothing of the transaction is left; before the next one a new epoch is asked for, if one is needed."""
        self.started = False
        self._new.clear()
        self._adding.clear()
        self.partitions.clear()
        if not self.needs_bump:
            self.machine.go_by_itself(ClientState.READY)
            result.succeed()
            return
        self.needs_bump = False
        self.machine.go_by_itself(ClientState.INITIALIZING)
        version = self.versions.init_producer_id
        self.channel.enqueue(
            InitProducerId(version, self.transactional_id, self._timeout_ms, self._identified()), result
        )

    # --- errors -----------------------------------------------------------------------------------------------

    @property
    def _can_go_on(self) -> bool:
        """Whether the producer can get a new epoch, one way or the other."""
        return self.versions.bumps_by_ending or self.versions.bumps_by_asking

    def fail_batch(self, error: ErrorCode) -> None:
        """A batch has a fatal error: the transaction can only be aborted, and the epoch must go up."""
        self.fail_abortably(error, bump=self.machine.state not in COMPLETING)

    def fail_unresolved(self) -> None:
        """Whether a batch was appended can never be known: only a new epoch leaves that behind."""
        if self._can_go_on:
            self.fail_abortably(ErrorCode.REQUEST_TIMED_OUT, bump=True)
        else:
            self.machine.fail_fatally(ErrorCode.REQUEST_TIMED_OUT)

    def fail_abortably(self, error: ErrorCode, bump: bool = False) -> None:
        """Only an abort can follow; one that is under way continues."""
        if bump and self._can_go_on and not self.versions.bumps_by_ending:
            self.needs_bump = True
        self.machine.fail_abortably(error)

    @property
    def is_giving_up(self) -> bool:
        """Whether batches that have never been sent are to be dropped."""
        return self.machine.state in (ClientState.ABORTING_TRANSACTION, *FAILED)

    # --- inside -----------------------------------------------------------------------------------------------

    def _check_usable(self, call: str) -> None:
        if self._call is not None and not self._call.is_done:
            raise IllegalState(f"{call} while the producer waits for {self._call.operation}")
        self.machine.check_not_failed()

    def _check_open(self, call: str) -> ProducerIdentity:
        self._check_usable(call)
        if self.machine.state is not ClientState.IN_TRANSACTION:
            raise IllegalState(f"{call} in state {self.machine.state.name}")
        return self._identified()

    def _identified(self) -> ProducerIdentity:
        if self.identity is None:
            raise IllegalState("the producer has no producer id")
        return self.identity

    def _is_added(self, partition: TopicPartition) -> bool:
        return partition in self.partitions or partition in self._adding or partition in self._new

    def _ask_to_add_partitions(self) -> None:
        if self._new:
            self._adding.update(self._new)
            version, producer = self.versions.add_partitions, self._identified()
            added = AddPartitions(version, self.transactional_id, producer, tuple(sorted(self._new)))
            self._new.clear()
            self.channel.enqueue(added, PendingResult())

    def _offset_commit(
        self, producer: ProducerIdentity, group: str, offsets: Offsets, claim: MemberClaim
    ) -> TxnOffsetCommit:
        version = self.versions.txn_offset_commit
        reported = claim if version >= CLAIMS_SINCE else NO_CLAIM
        return TxnOffsetCommit(version, self.transactional_id, producer, group, offsets, reported)

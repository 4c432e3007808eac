"""What nodes do with requests and answers: who is asked first, what is appended, and when an answer goes out."""

from collections.abc import Callable, Collection, Mapping

from reference.broker.coordinator_errors import CoordinatorNotAvailable
from reference.broker.group_api import OffsetsVerification, handle_txn_offset_commit
from reference.broker.group_offsets import RecordedOffset
from reference.broker.group_record import OffsetKey
from reference.broker.ids import ProducerIdentity
from reference.broker.produce import check_acks
from reference.broker.transaction_api import OFFSETS_TOPIC
from reference.broker.transaction_metadata import TopicPartition
from reference.broker.verification import NetworkException, ProduceVerification, Question
from reference.client.coordinator_channel import (
    AddPartitions,
    CoordinatorAnswer,
    CoordinatorRequest,
    CoordinatorType,
    FindCoordinator,
    TxnOffsetCommit,
)
from reference.client.producer import AttemptReply
from reference.errors import Refusal, UnsupportedVersion
from reference.log.producer_entry import NO_GUARD
from reference.world.appends import Appends, SendAnswer
from reference.world.authorization import AclOperation
from reference.world.brokers import Brokers
from reference.world.coordinator_rows import known_of, memory_of
from reference.world.group_rows import commit_columns, observed, state_columns
from reference.world.messages import (
    BrokerSender,
    ClientSender,
    CoordinatorCall,
    MarkerAnswer,
    Plain,
    Produce,
    Request,
    Response,
    Verified,
    Verify,
    WriteMarker,
)
from reference.world.node import (
    AnsweredVerification,
    Node,
    ParkedRequest,
    TransactionRequest,
    agree,
    ask_transactions,
    offset_commit,
)
from reference.world.steps import TraceSteps, sender_name, transaction_of
from spec.vocabulary import ABSENT, NO_SEQUENCE, Api, ErrorCode

Principal = Callable[[int], str]
"""The name under which an instance of a transactional id is authorized."""

OffsetsCommitted = Callable[[Mapping[OffsetKey, RecordedOffset]], None]
"""Takes the offsets that the marker of a committed transaction has made those of their groups."""


class Handling:
    """The requests at all nodes.

    Attributes:
        appends: what reaches the log.
        offsets_committed: called when a marker commits offsets of groups.
    """

    def __init__(self, brokers: Brokers, steps: TraceSteps, principal: Principal, send_answer: SendAnswer) -> None:
        """Nothing has arrived."""
        self.brokers = brokers
        self.steps = steps
        self.appends = Appends(brokers, steps, send_answer)
        self.offsets_committed: OffsetsCommitted = lambda _: None
        self._principal = principal
        self._answer = send_answer

    def _node(self, request: Request) -> Node:
        return self.brokers.nodes[request.node]

    def _principal_of(self, request: Request) -> str:
        match request.sender:
            case ClientSender(instance):
                return self._principal(instance)
            case Plain() as sender:
                return f"User:{sender_name(sender)}"
            case _:
                return ""

    # --- what arrives -----------------------------------------------------------------------------------------

    def receive(self, request: Request) -> None:
        """A request reaches its node."""
        match request.body:
            case CoordinatorCall(request=call):
                self._receive_call(request, call)
            case Produce():
                self._receive_produce(request, request.body)
            case WriteMarker() as marker if marker.partition.topic == OFFSETS_TOPIC:
                self._answer(request, MarkerAnswer(self._mark_offsets(request, marker)))
            case WriteMarker():
                self.appends.mark(request, request.body)
            case Verify():
                self._receive_verify(request, request.body)

    def receive_answer(self, response: Response) -> None:
        """An answer reaches the node that asked."""
        request, answer = response
        match request.body, answer:
            case Verify(), Verified() as verified:
                self._resume(request, verified)
            case WriteMarker() as marker, MarkerAnswer(error):
                self._marked(request, marker, error)

    def lose(self, request: Request) -> None:
        """A node does not learn what became of its request."""
        match request.body:
            case Verify():
                self._resume(request, None)
            case WriteMarker() as marker:
                self._marked(request, marker, ErrorCode.NETWORK_EXCEPTION)

    # --- coordinators -----------------------------------------------------------------------------------------

    def _receive_call(self, request: Request, requested: CoordinatorRequest) -> None:
        denied = self.brokers.authorizer.check(self._principal_of(request), requested)
        if denied is not ErrorCode.NONE:
            self._answer(request, refused_answer(requested, denied))
        elif isinstance(requested, FindCoordinator):
            self._answer(request, self.brokers.found_coordinator(request.node, requested.coordinator, requested.key))
        elif isinstance(requested, TxnOffsetCommit):
            self._receive_offsets(request, requested)
        else:
            self._receive_transactional(request, requested)

    def _receive_transactional(self, request: Request, requested: TransactionRequest) -> None:
        coordinator = self._node(request).transactions
        before = known_of(coordinator, requested.transactional_id)
        answer = self._denied_partitions(request, requested) or ask_transactions(
            coordinator, requested, self.brokers.partitions, self.brokers.shape.offsets_partitions
        )
        self.steps.answered_by_coordinator(request, requested, before, coordinator, answer)
        self._answer(request, answer)

    def _denied_partitions(self, request: Request, requested: TransactionRequest) -> CoordinatorAnswer | None:
        """One partition that the producer may not write to fails the whole request."""
        if not isinstance(requested, AddPartitions):
            return None
        principal = self._principal_of(request)
        denied = self.brokers.authorizer.check_partitions(principal, AclOperation.WRITE, requested.partitions)
        if not denied:
            return None
        others = dict.fromkeys(requested.partitions, ErrorCode.OPERATION_NOT_ATTEMPTED)
        return CoordinatorAnswer(partitions=others | denied)

    def _receive_verify(self, request: Request, requested: Verify) -> None:
        """Answer each transaction; one that no record can hold fails the whole request, and ends it there."""
        answers: dict[str, Refusal | None] = {}
        for each in requested.all:
            answers[each.transactional_id] = refusal = self._verified(request, each)
            if isinstance(refusal, UnsupportedVersion):
                self._answer(request, Verified(answers, refusal))
                return
        self._answer(request, Verified(answers))

    def _verified(self, request: Request, requested: Verify) -> Refusal | None:
        coordinator = self._node(request).transactions
        before, found = known_of(coordinator, requested.transactional_id), None
        try:
            agree(coordinator, requested)
        except Refusal as refusal:
            found = refusal.with_traceback(None)  # else it holds this frame, which holds it
        self.steps.verified(request, requested, before, coordinator, ErrorCode.NONE if found is None else found.code)
        return found

    # --- requests that wait for a verification ----------------------------------------------------------------

    def _verify(self, parked: ParkedRequest) -> None:
        """Have the transaction's coordinator asked; until it answers the request waits."""
        request, number = parked.verify, parked.request.node
        node = self.brokers.coordinator_of(CoordinatorType.TRANSACTION, request.transactional_id)
        if node is None:
            self._go_on(parked, CoordinatorNotAvailable())
            return
        question = Question(
            request.transactional_id, request.producer, (request.partition,), parked.verification.supported
        )
        reported = self.brokers.nodes[number].manager.verify(node, question, parked)
        self._ask_coordinators(number)
        if reported is not None:
            self._go_on(*reported)

    def _ask_coordinators(self, number: int) -> None:
        """Send what a node has to ask, a request to each coordinator to which none is under way."""
        asking = self.brokers.nodes[number]
        for node, batch in asking.manager.requests():
            first, *others = (asker.who.verify for asker in batch.askers.values())
            sent = self.brokers.send(BrokerSender(number), node, first._replace(others=tuple(others)))
            asking.questions[node] = sent.number

    def _resume(self, question: Request, answer: Verified | None) -> None:
        """The coordinator has answered, or its answer is lost; the node that asked may have been down since."""
        number = question.sender.node if isinstance(question.sender, BrokerSender) else question.node
        asking = self.brokers.nodes[number]
        if asking.questions.get(question.node) != question.number:
            return
        del asking.questions[question.node]
        if answer is None:
            reported = asking.manager.failed(question.node, NetworkException())
        elif answer.refusal is not None:
            reported = asking.manager.failed(question.node, answer.refusal)
        else:
            reported = asking.manager.answered(question.node, answer.answers)
        for each in reported:
            self._go_on(*each)
        self._ask_coordinators(number)

    def _go_on(self, parked: ParkedRequest, refusal: Refusal | None) -> None:
        request = parked.request
        match request.body:
            case Produce() as produce:
                reported = None if refusal is None else parked.verification.reported(refusal)
                self.appends.append(request, produce, parked.guard, reported)
            case CoordinatorCall(request=TxnOffsetCommit() as committed):
                self._commit_offsets(request, committed, parked, refusal)

    # --- Produce ----------------------------------------------------------------------------------------------

    def _receive_produce(self, request: Request, requested: Produce) -> None:
        principal, batch = self._principal_of(request), requested.attempt.records
        denied = self.brokers.authorizer.check_produce(
            principal, requested.transactional_id or None, requested.partition.topic
        )
        if denied is not ErrorCode.NONE:
            self._answer(request, AttemptReply(denied))
            return
        if not batch.is_transactional:
            self.appends.append(request, requested, NO_GUARD, None)
            return
        number = requested.partition.partition
        producer = ProducerIdentity(batch.producer_id, batch.producer_epoch)
        try:
            if not self.brokers.profile.verified_before_acks:
                check_acks(requested.acks)
            verification = self._verification(request, requested)
            guard = verification.start(number, producer, batch.base_sequence)
        except Refusal as refusal:
            self._answer(request, AttemptReply(refusal.code))
            return
        if guard == NO_GUARD:
            self.appends.append(request, requested, NO_GUARD, None)
        else:
            question = Verify(
                requested.transactional_id,
                producer,
                requested.partition,
                verification.adds,
                requested.made_by.transaction,
            )
            self._verify(ParkedRequest(request, verification, guard, question))

    def _verification(self, request: Request, requested: Produce) -> ProduceVerification:
        number = requested.partition.partition
        return ProduceVerification(
            self.brokers.profile,
            self._node(request).transactions,
            {number: self.appends.replica(request.node, requested.partition)},
            {number: requested.partition},
            requested.version,
            self.brokers.now_at(request.node),
        )

    # --- markers ----------------------------------------------------------------------------------------------

    def _mark_offsets(self, request: Request, requested: WriteMarker) -> ErrorCode:
        groups, number = self._node(request).groups, requested.partition.partition
        try:
            committed = groups.committed_by(number, requested.marker)
            groups.write_marker(number, requested.marker, requested.version)
        except Refusal as refusal:
            return refusal.code
        self.offsets_committed(committed)
        return ErrorCode.NONE

    def _marked(self, request: Request, requested: WriteMarker, error: ErrorCode) -> None:
        """The coordinator has an answer about a marker; the last one completes its transaction."""
        if not isinstance(request.sender, BrokerSender):
            return
        node = self.brokers.nodes[request.sender.node]
        node.markers.take(requested.partition, requested.marker, request.number, error)
        before = memory_of(node.transactions)
        node.transactions.send_markers()
        node.markers.forget_answers()
        self.steps.answered(request.sender.node, before, node.transactions, requested, error)

    # --- offsets ----------------------------------------------------------------------------------------------

    def _receive_offsets(self, request: Request, requested: TxnOffsetCommit) -> None:
        groups, number = self._node(request).groups, self.brokers.offsets.number_of(requested.group)
        verification = OffsetsVerification(
            self.brokers.profile,
            self._node(request).transactions,
            {number: self.brokers.offsets.partitions[number]},
            {number: TopicPartition(OFFSETS_TOPIC, number)},
            requested.version,
            self.brokers.now_at(request.node),
        )
        try:
            groups.begin_commit(offset_commit(requested).of(requested.offsets))
            guard = verification.start(number, requested.producer, NO_SEQUENCE)
        except Refusal as refusal:
            self._answer(request, refused_answer(requested, refusal.code))
            return
        name = TopicPartition(OFFSETS_TOPIC, number)
        transaction = request.body.transaction if isinstance(request.body, CoordinatorCall) else ABSENT
        question = Verify(requested.transactional_id, requested.producer, name, verification.adds, transaction)
        parked = ParkedRequest(request, verification, guard, question)
        if guard == NO_GUARD:
            self._commit_offsets(request, requested, parked, None)
        else:
            self._verify(parked)

    def _commit_offsets(
        self, request: Request, requested: TxnOffsetCommit, parked: ParkedRequest, refusal: Refusal | None
    ) -> None:
        begun = parked.verification
        answered = AnsweredVerification(
            begun.profile,
            begun.coordinator,
            begun.partitions,
            begun.names,
            begun.version,
            begun.now,
            parked.guard,
            refusal,
        )
        principal = self._principal_of(request)
        denied = self.brokers.authorizer.check_partitions(principal, AclOperation.READ, tuple(requested.offsets))
        allowed = [partition for partition in self.brokers.partitions if partition not in denied]
        groups = self._node(request).groups
        before = observed(groups, requested.group, requested.offsets)
        errors = handle_txn_offset_commit(groups, offset_commit(requested), answered, allowed, begun=True) | denied
        after = observed(groups, requested.group, requested.offsets)
        for partition in sorted(before.keys() & after.keys()):
            columns = commit_columns(requested, partition) | transaction_of(request.body)
            columns |= {"error": int(errors[partition])} | state_columns(before[partition], after[partition])
            self.steps.of_group(Api.TXN_OFFSET_COMMIT, request.node, sender_name(request.sender), columns)
        self._answer(request, CoordinatorAnswer(partitions=errors))


def refused_answer(request: CoordinatorRequest, error: ErrorCode) -> CoordinatorAnswer:
    """One error for a whole request, partition by partition where the answer has no other place for it."""
    match request:
        case AddPartitions(partitions=partitions):
            return each_refused(partitions, error)
        case TxnOffsetCommit(offsets=offsets):
            return each_refused(tuple(offsets), error)
        case _:
            return CoordinatorAnswer(error)


def each_refused(partitions: Collection[TopicPartition], error: ErrorCode) -> CoordinatorAnswer:
    """The same error for every partition."""
    return CoordinatorAnswer(partitions=dict.fromkeys(partitions, error))

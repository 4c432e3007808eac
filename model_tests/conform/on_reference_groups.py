"""The groups of a session on the reference: commits, fetches, a single member that joins, and their state."""

from collections.abc import Iterable
from typing import Final

from model_tests.conform.answers import (
    Answer,
    FetchedOffsetAnswer,
    OffsetsAdded,
    OffsetsCommitted,
    OffsetsFetched,
    RecordedJoin,
    SeenGroup,
    SeenOffset,
    SeenProducer,
)
from model_tests.conform.on_reference_broker import ReferenceBroker
from model_tests.conform.on_reference_views import named, names_of, producers_of
from model_tests.conform.requests import (
    AddOffsetsToTxn,
    JoinSync,
    RecordedOffsetCommit,
    RecordedOffsetFetch,
    RecordedTxnOffsetCommit,
    Request,
)
from reference.broker import group_api, transaction_api
from reference.broker.group_requests import FetchedOffset as Reported
from reference.broker.group_requests import (
    JoinAnswer,
    JoinRequest,
    MemberClaim,
    OffsetAndMetadata,
    Offsets,
    SyncAnswer,
    SyncRequest,
)
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_api import OFFSETS_TOPIC
from reference.broker.transaction_metadata import TopicPartition
from spec.vocabulary import Epoch, ErrorCode, Offset, ProducerId

IN_BRACKETS: Final = f"{OFFSETS_TOPIC}["
"""How a session begins to name the offsets partition of a group: `__consumer_offsets[g0]`."""


class ReferenceGroups:
    """The groups that a session has named, at the reference's broker."""

    def __init__(self, broker: ReferenceBroker) -> None:
        """No group was named yet."""
        self._broker = broker
        self._named: dict[int, str] = {}

    def answer(self, request: Request) -> Answer | None:
        """Answer a request about a group; None if it is about none."""
        match request:
            case AddOffsetsToTxn():
                return self.add_offsets(request)
            case RecordedTxnOffsetCommit():
                return self.commit_in_transaction(request)
            case RecordedOffsetCommit():
                return self.commit(request)
            case RecordedOffsetFetch():
                return self.fetch(request)
            case JoinSync():
                return self.join(request)
        return None

    def seen(self) -> dict[str, SeenGroup]:
        """What is observable of the groups."""
        return {group: SeenGroup(self._offsets(group), self._producers(n)) for n, group in self._named.items()}

    def shown(self, partitions: Iterable[TopicPartition]) -> tuple[str, ...]:
        """Partitions of a transaction as a session names them."""
        return tuple(
            f"{IN_BRACKETS}{self._named[partition.partition]}]"
            if partition.topic == OFFSETS_TOPIC
            else names_of([partition])[0]
            for partition in sorted(partitions)
        )

    def partition(self, name: str) -> TopicPartition:
        """The partition that a session names, be it a group's."""
        if not name.startswith(IN_BRACKETS):
            return named(name)
        return TopicPartition(OFFSETS_TOPIC, self._number(name.removeprefix(IN_BRACKETS).removesuffix("]")))

    def _number(self, group: str) -> int:
        number = self._broker.offsets.number_of(group)
        self._named.setdefault(number, group)
        return number

    # --- requests ---------------------------------------------------------------------------------------------

    def add_offsets(self, request: AddOffsetsToTxn) -> OffsetsAdded:
        """Put the offsets partition of a group into a transaction."""
        partition = TopicPartition(OFFSETS_TOPIC, self._number(request.group))
        error = transaction_api.handle_add_offsets(
            self._broker.coordinator, request.version, request.transactional_id, _identity(request), partition
        )
        return OffsetsAdded(error)

    def commit_in_transaction(self, request: RecordedTxnOffsetCommit) -> OffsetsCommitted:
        """Commit offsets in a transaction."""
        self._number(request.group)
        requested = group_api.TxnOffsetCommitRequest(
            request.version,
            request.transactional_id,
            request.group,
            _identity(request),
            _offsets(request.offsets),
            MemberClaim(request.generation, request.member, request.group_instance_id),
        )
        return _committed(self._broker.commit_in_transaction(requested))

    def commit(self, request: RecordedOffsetCommit) -> OffsetsCommitted:
        """Commit offsets at once."""
        self._number(request.group)
        claim = MemberClaim(request.generation, request.member)
        existing = self._broker.names.values()
        offsets = _offsets(request.offsets)
        errors = group_api.handle_offset_commit(
            self._broker.groups, request.group, offsets, claim, existing, request.version
        )
        return _committed(errors)

    def fetch(self, request: RecordedOffsetFetch) -> OffsetsFetched:
        """Fetch committed offsets."""
        self._number(request.group)
        partitions = [named(name) for name in request.partitions]
        answer = group_api.handle_offset_fetch(self._broker.groups, request.group, partitions, request.require_stable)
        parts = {names_of([partition])[0]: _reported(found) for partition, found in answer.partitions.items()}
        return OffsetsFetched(answer.error, parts)

    def join(self, request: JoinSync) -> RecordedJoin:
        """Have a member join, and take its assignment; a new one joins twice, with the id that it got."""
        self._number(request.group)
        answer = self._joined(JoinRequest(request.group, group_instance_id=request.group_instance_id))
        if answer.error is ErrorCode.MEMBER_ID_REQUIRED:
            answer = self._joined(JoinRequest(request.group, answer.member_id, request.group_instance_id))
        if answer.error is not ErrorCode.NONE:
            return RecordedJoin(answer.error, answer.member_id, answer.generation)
        claim = MemberClaim(answer.generation, answer.member_id, request.group_instance_id)
        synced: list[SyncAnswer] = []
        self._broker.groups.sync(SyncRequest(request.group, claim, {}), synced.append)
        return RecordedJoin(synced[0].error, answer.member_id, answer.generation)

    def _joined(self, request: JoinRequest) -> JoinAnswer:
        answers: list[JoinAnswer] = []
        self._broker.groups.join(request, answers.append)
        return answers[0]

    # --- views ------------------------------------------------------------------------------------------------

    def _offsets(self, group: str) -> dict[str, SeenOffset]:
        partitions = tuple(self._broker.names.values())
        committed = self._broker.groups.fetch_offsets(group, partitions, require_stable=False)
        stable = self._broker.groups.fetch_offsets(group, partitions, require_stable=True)
        return {
            names_of([partition])[0]: SeenOffset(committed[partition].offset, _reported(stable[partition]))
            for partition in partitions
        }

    def _producers(self, number: int) -> tuple[SeenProducer, ...]:
        return producers_of(self._broker.offsets.partitions[number])


def _identity(request: AddOffsetsToTxn | RecordedTxnOffsetCommit) -> ProducerIdentity:
    return ProducerIdentity(ProducerId(int(request.producer_id)), Epoch(request.producer_epoch))


def _offsets(requested: Iterable[tuple[str, int]]) -> Offsets:
    return {named(partition): OffsetAndMetadata(Offset(offset)) for partition, offset in requested}


def _committed(errors: dict[TopicPartition, ErrorCode]) -> OffsetsCommitted:
    return OffsetsCommitted({names_of([partition])[0]: error for partition, error in errors.items()})


def _reported(found: Reported) -> FetchedOffsetAnswer:
    return FetchedOffsetAnswer(found.error, found.offset)

"""What consumers ask of the nodes: records of leaders, and the offsets of their groups."""

from collections.abc import Mapping

from reference.broker.group_api import Answers, OffsetsAnswer, handle_offset_commit, handle_offset_fetch
from reference.broker.group_coordinator import GroupCoordinator
from reference.broker.group_offsets import RecordedOffset
from reference.broker.group_record import OffsetKey
from reference.broker.group_requests import NO_CLAIM, FetchedOffset, MemberClaim, Offsets
from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Consumer, Delivered
from reference.client.coordinator_channel import CoordinatorType
from reference.client.group_exchange import GroupAnswer, GroupRequest, OffsetCommit
from reference.errors import OffsetOutOfRange
from reference.log.partition import FetchResult, Partition
from reference.log.reading import WITHOUT_LIMIT
from reference.recording.recorder import Fate, Row
from reference.world.brokers import Brokers
from reference.world.exchanges import member_rows
from reference.world.group_rows import fetch_columns, observed, of_group, state_columns
from reference.world.history import HistoryRows, noted_by
from reference.world.partition_readers import consumer_fetch_columns, readable_end, taken
from reference.world.replica_rows import node_name
from reference.world.steps import TraceSteps
from spec.vocabulary import ABSENT, Api, ErrorCode, Offset


class Consumers:
    """Consumers and their brokers; a read asks once and is answered at once."""

    __slots__ = ("_consumers", "_history", "_steps", "brokers")

    def __init__(self, brokers: Brokers, steps: TraceSteps, history: HistoryRows) -> None:
        """Consumers of these brokers, of which none has asked for anything."""
        self.brokers = brokers
        self._steps = steps
        self._history = history
        self._consumers: list[Consumer] = []

    def name_of(self, consumer: Consumer) -> str:
        """The consumer's name in rows: they are numbered in the order in which they first ask."""
        for number, known in enumerate(self._consumers):
            if known is consumer:
                return f"reader-{number}"
        self._consumers.append(consumer)
        return f"reader-{len(self._consumers) - 1}"

    def is_due(self, consumer: Consumer, partition: TopicPartition) -> bool:
        """Whether a fetch would bring something: records, or that the position is out of range."""
        end = readable_end(self.brokers.partitions[partition].leader, consumer.isolation)
        return consumer.positions.get(partition, 0) != end

    def consumer_fetches(
        self, consumer: Consumer, partition: TopicPartition, max_bytes: int = WITHOUT_LIMIT
    ) -> tuple[Delivered, ...]:
        """A consumer reads on; a position that the log does not have is reset, and nothing is delivered.

        Raises:
            NoPosition: the consumer has no position and may not choose one.
        """
        leader = self.brokers.partitions[partition].leader
        ends = (leader.log_start, readable_end(leader, consumer.isolation))
        offset = consumer.fetch_offset(partition, *ends)
        try:
            result = leader.fetch(offset, consumer.isolation, max_bytes)
        except OffsetOutOfRange as refusal:
            self._note_fetch(consumer, partition, leader, offset, refusal.code)
            consumer.out_of_range(partition, *ends)
            return ()
        self._note_fetch(consumer, partition, leader, offset, ErrorCode.NONE, result)
        received = consumer.receive(partition, result)
        self._note_received(consumer, partition, offset, result, received)
        return received

    def consumer_commits(self, consumer: Consumer, group: str, offsets: Offsets) -> Answers:
        """A consumer that is no member commits offsets of a group, outside of any transaction."""
        answers = self._answers_to_commit(consumer, OffsetCommit(group, NO_CLAIM, offsets))
        note_commit(self._history, group, offsets, NO_CLAIM, answers)
        return answers

    def _answers_to_commit(self, consumer: Consumer, request: OffsetCommit) -> Answers:
        node = self.brokers.coordinator_of(CoordinatorType.GROUP, request.group)
        if node is None:
            return dict.fromkeys(request.offsets, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        groups, partitions = self.brokers.nodes[node].groups, self.brokers.partitions
        self.annotate(Fate.ARRIVED, consumer, node, request)
        answers = handle_offset_commit(groups, request.group, request.offsets, request.claim, partitions)
        self.annotate(Fate.ANSWERED, consumer, node, request, answers)
        return answers

    def consumer_starts(self, consumer: Consumer, group: str, *, require_stable: bool = True) -> OffsetsAnswer:
        """A consumer resumes from its group's offset; one that a transaction may change is fetched again."""
        answer = self._fetched(consumer, group, require_stable)
        for partition in sorted(consumer.assigned):
            fetched = answer.partitions.get(partition, FetchedOffset(answer.error))
            reported: Row = {"offset": fetched.offset, "isolation": int(require_stable), "error": int(fetched.error)}
            reported |= noted_by(fetched.metadata)
            self._history.note("ClientFetchOffsets", self.name_of(consumer), of_group(group, partition) | reported)
        consumer.start_from(answer)
        return answer

    def _fetched(self, consumer: Consumer, group: str, require_stable: bool) -> OffsetsAnswer:
        node, partitions = self.brokers.coordinator_of(CoordinatorType.GROUP, group), sorted(consumer.assigned)
        if node is None:
            return OffsetsAnswer(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        coordinator = self.brokers.nodes[node].groups
        answer = handle_offset_fetch(coordinator, group, partitions, require_stable)
        record_offset_fetch(self._steps, node, self.name_of(consumer), coordinator, group, require_stable, answer)
        return answer

    # --- rows -------------------------------------------------------------------------------------------------

    def annotate(
        self,
        fate: Fate,
        consumer: Consumer,
        node: int,
        request: GroupRequest,
        answer: GroupAnswer | None = None,
        message: int = ABSENT,
    ) -> None:
        """Say what became of a consumer's request to its group's coordinator, where that is to be drawn.

        Args:
            fate: of the request, or of its answer.
            consumer: that asks.
            node: that is asked.
            request: what it asks for.
            answer: None where there is none.
            message: the consumer's own number of the request.
        """
        recorder = self._steps.recorder
        if recorder.annotates:
            exchange: Row = {"client": self.name_of(consumer), "node": node_name(node), "message": message}
            for columns in member_rows(request, answer):
                recorder.annotate(fate, request.API, exchange | columns)

    def _note_fetch(
        self,
        consumer: Consumer,
        partition: TopicPartition,
        leader: Partition,
        offset: Offset,
        error: ErrorCode,
        result: FetchResult | None = None,
    ) -> None:
        node = self.brokers.partitions[partition].leader_node
        request = {"client": self.name_of(consumer), **consumer_fetch_columns(partition, offset, consumer.isolation)}
        self._steps.fetched(node, leader, request, error, result)

    def _note_received(
        self,
        consumer: Consumer,
        partition: TopicPartition,
        offset: Offset,
        result: FetchResult,
        received: tuple[Delivered, ...],
    ) -> None:
        request = consumer_fetch_columns(partition, offset, consumer.isolation)
        for reported in taken(result.batches, received):
            self._history.note("ClientFetched", self.name_of(consumer), request | reported)


def note_commit(
    history: HistoryRows, group: str, offsets: Offsets, claim: MemberClaim, answers: Mapping[TopicPartition, ErrorCode]
) -> None:
    """A consumer has been answered about offsets that it commits outside of any transaction: a row for each.

    Args:
        history: that has the rows.
        group: whose offsets they are.
        offsets: that are committed.
        claim: of which member and generation.
        answers: by partition.
    """
    for partition, error in answers.items():
        reported: Row = {"offset": offsets[partition].offset, "error": int(error)}
        reported |= {"generation": claim.generation, "member": claim.member_id}
        history.note("ClientCommitOffsets", group, of_group(group, partition) | reported)


def note_committed(history: HistoryRows, committed: Mapping[OffsetKey, RecordedOffset]) -> None:
    """The marker of a transaction has made offsets those of their groups: a row for each.

    Args:
        history: that has the rows.
        committed: the offsets.
    """
    for key, recorded in committed.items():
        reported: Row = {"offset": recorded.value.offset, "error": int(ErrorCode.NONE)}
        history.note("ClientCommitOffsets", key.group, of_group(key.group, key.partition) | reported)


def record_offset_fetch(
    steps: TraceSteps,
    node: int,
    client: str,
    coordinator: GroupCoordinator,
    group: str,
    require_stable: bool,
    answer: OffsetsAnswer,
) -> None:
    """A group's coordinator has answered committed offsets: a row for each.

    Args:
        steps: that have the rows.
        node: of the coordinator.
        client: who asked.
        coordinator: as it is now.
        group: whose offsets they are.
        require_stable: offsets that an open transaction may still change were to be withheld.
        answer: to the request.
    """
    for partition, state in observed(coordinator, group, answer.partitions).items():
        columns = fetch_columns(group, partition, require_stable, answer.partitions[partition])
        steps.of_group(Api.OFFSET_FETCH, node, client, columns | state_columns(state, state))

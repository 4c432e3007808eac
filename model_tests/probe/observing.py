"""What a broker shows of its state after a step, as far as it announces requests that ask for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import Any, Final

from model_tests.probe.connection import BrokerFailure
from model_tests.probe.script import GROUP, OFFSETS_TOPIC, SessionNames
from model_tests.probe.target import GROUP as GROUP_KIND
from model_tests.probe.target import TRANSACTION, NodeRequest, Target, java_hash, list_offsets, name_of
from spec.vocabulary import Api, ErrorCode

STABLE_SINCE: Final = 7
"""First version of OffsetFetch that can require stable offsets."""

ISOLATED_SINCE: Final = 2
"""First version of ListOffsets that has an isolation level."""

UNDER_WAY: Final = "Prepare"
"""How the states begin in which a transaction owes markers."""


@unique
class Level(StrEnum):
    """How much of its state a broker shows."""

    FULL = "full"  # producers, transactions, offsets
    OFFSETS = "offsets"  # the ends of partitions and their last stable offsets
    NONE = "none"  # nothing but answers


def level_of(target: Target) -> Level:
    """What the announced versions allow."""
    if not target.has(Api.LIST_OFFSETS) or target.newest(Api.LIST_OFFSETS, 5) < ISOLATED_SINCE:
        return Level.NONE
    if target.has(Api.DESCRIBE_PRODUCERS) and target.has(Api.DESCRIBE_TRANSACTIONS):
        return Level.FULL
    return Level.OFFSETS


@dataclass(slots=True)
class Observer:
    """Asks for the state of one session's partitions, transactional ids and group.

    Attributes:
        level: of what is asked for.
        ids: transactional ids, by their short names.
        groups: whether the session has a group.
        plan: the requests that ask for the state, none before the session begins.
    """

    target: Target
    names: SessionNames
    level: Level
    ids: Sequence[str]
    groups: bool = False
    plan: list[NodeRequest] = field(default_factory=list)
    _offsets_node: tuple[int, int] | None = None

    def begin(self) -> None:
        """Find coordinators, and lower the level where a group's partition cannot be described."""
        if self.groups and self.level is Level.FULL:
            self._offsets_node = self._offsets_partition()
            if self._offsets_node is None:
                self.level = Level.OFFSETS
        self.plan = list(self._requests())

    @property
    def sees_transactions(self) -> bool:
        """Whether transactional ids are described."""
        return self.target.has(Api.DESCRIBE_TRANSACTIONS) and bool(self.ids)

    def observe(self) -> dict[str, Any] | None:
        """The state as a session records it; None where nothing can be asked for.

        Raises:
            NotObservable: a node answers for a partition or id that it should have with an error.
        """
        return self.read(self.target.request_all(self.plan)) if self.plan else None

    def read(self, answers: Sequence[Any]) -> dict[str, Any]:
        """The state that the answers to the requests of the plan show.

        Raises:
            NotObservable: a node answers for a partition or id that it should have with an error.
        """
        found: dict[str, Any] = {}
        for request, answer in zip(self.plan, answers, strict=True):
            self._take(request, answer, found)
        if self.level is Level.FULL:
            found.setdefault("producers", {})
        return found

    @staticmethod
    def is_under_way(state: dict[str, Any] | None) -> bool:
        """Whether some transaction still owes markers."""
        listed = (state or {}).get("transactions", {}).values()
        return any(str(each.get("state", "")).startswith(UNDER_WAY) for each in listed)

    # --- requests -------------------------------------------------------------------------------------------------

    def _requests(self) -> Iterator[NodeRequest]:
        if self.sees_transactions:
            yield from self._described_transactions()
        if self.level is Level.NONE:
            return
        by_leader: dict[int, list[int]] = {}
        for number, leader in enumerate(self.names.info.leaders):
            by_leader.setdefault(leader, []).append(number)
        version = self.target.newest(Api.LIST_OFFSETS, 5)
        for leader, numbers in by_leader.items():
            if self.level is Level.FULL:
                topics = [{"name": self.names.topic, "partition_indexes": numbers}]
                yield NodeRequest(leader, Api.DESCRIBE_PRODUCERS, 0, {"topics": topics})
            for committed in (False, True):
                yield NodeRequest(
                    leader, Api.LIST_OFFSETS, version, list_offsets(self.names.topic, numbers, committed=committed)
                )
        if self._offsets_node is not None:
            leader, number = self._offsets_node
            topics = [{"name": OFFSETS_TOPIC, "partition_indexes": [number]}]
            yield NodeRequest(leader, Api.DESCRIBE_PRODUCERS, 0, {"topics": topics})
        if self.groups and self.target.newest(Api.OFFSET_FETCH, STABLE_SINCE) >= STABLE_SINCE:
            yield from self._group_offsets()

    def _described_transactions(self) -> Iterator[NodeRequest]:
        by_node: dict[int, list[str]] = {}
        for short in self.ids:
            name = self.names.named(short)
            by_node.setdefault(self.target.coordinator(TRANSACTION, name), []).append(name)
        for node, names in by_node.items():
            yield NodeRequest(node, Api.DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": names})

    def _group_offsets(self) -> Iterator[NodeRequest]:
        group = self.names.named(GROUP)
        numbers = list(range(len(self.names.info.leaders)))
        topics = [{"name": self.names.topic, "partition_indexes": numbers}]
        node = self.target.coordinator(GROUP_KIND, group)
        for stable in (False, True):
            fields = {"group_id": group, "topics": topics, "require_stable": stable}
            yield NodeRequest(node, Api.OFFSET_FETCH, STABLE_SINCE, fields)

    def _offsets_partition(self) -> tuple[int, int] | None:
        """Leader and number of the partition where the group's offsets are; None where it is not shown."""
        group = self.names.named(GROUP)
        self.target.coordinator(GROUP_KIND, group)  # which makes the topic, if there is none yet
        info = self.target.described_topics([OFFSETS_TOPIC]).get(OFFSETS_TOPIC)
        if info is None or info.error or not info.leaders:
            return None
        number = java_hash(group) % len(info.leaders)
        return info.leaders[number], number

    # --- answers --------------------------------------------------------------------------------------------------

    def _take(self, request: NodeRequest, answer: Any, found: dict[str, Any]) -> None:
        match request.api:
            case Api.DESCRIBE_TRANSACTIONS:
                listed = found.setdefault("transactions", {})
                listed.update((self._short(each), self._transaction(each)) for each in answer.transaction_states)
            case Api.DESCRIBE_PRODUCERS:
                listed = found.setdefault("producers", {})
                listed.update(self._producers(answer))
            case Api.LIST_OFFSETS:
                self._take_offsets(request, answer, found.setdefault("offsets", {}))
            case Api.OFFSET_FETCH:
                group = found.setdefault("groups", {}).setdefault(GROUP, {})
                self._take_group(request, answer, group)

    def _short(self, each: Any) -> str:
        return next(short for short in self.ids if self.names.named(short) == each.transactional_id)

    def _transaction(self, each: Any) -> dict[str, Any]:
        if each.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return {"error": name_of(each.error_code)}
        _check(Api.DESCRIBE_TRANSACTIONS, each.error_code)
        partitions = {
            self.names.recorded_partition(topic.topic, int(number))
            for topic in each.topics
            for number in topic.partitions
        }
        return {
            "state": each.transaction_state,
            "producer_id": self.names.meet(int(each.producer_id)),
            "producer_epoch": int(each.producer_epoch),
            "timeout": int(each.transaction_timeout_ms),
            "started": int(each.transaction_start_time_ms) >= 0,
            "partitions": sorted(partitions),
        }

    def _producers(self, answer: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        for topic in answer.topics:
            for part in topic.partitions:
                _check(Api.DESCRIBE_PRODUCERS, part.error_code)
                name = self.names.recorded_partition(topic.name, int(part.partition_index))
                ours = topic.name != OFFSETS_TOPIC
                known = self.names.known()
                yield (
                    name,
                    [
                        self._producer(each, offsets=not ours)
                        for each in part.active_producers
                        if ours or int(each.producer_id) in known
                    ],
                )

    def _producer(self, each: Any, *, offsets: bool) -> dict[str, Any]:
        producer_id, start = int(each.producer_id), int(each.current_txn_start_offset)
        return {
            "producer_id": self.names.meet(producer_id),
            "producer_epoch": int(each.producer_epoch),
            "last_sequence": int(each.last_sequence),
            "coordinator_epoch": self.names.coordinator_epoch(producer_id, int(each.coordinator_epoch)),
            "current_txn_start_offset": ("open" if start >= 0 else -1) if offsets else start,
        }

    def _take_offsets(self, request: NodeRequest, answer: Any, offsets: dict[str, Any]) -> None:
        column = "lso" if request.fields["isolation_level"] else "hw"
        for topic in answer.topics:
            for part in topic.partitions:
                _check(Api.LIST_OFFSETS, part.error_code)
                name = self.names.recorded_partition(topic.name, int(part.partition_index))
                offsets.setdefault(name, {})[column] = int(part.offset)

    def _take_group(self, request: NodeRequest, answer: Any, group: dict[str, Any]) -> None:
        stable = bool(request.fields["require_stable"])
        _check(Api.OFFSET_FETCH, answer.error_code)
        for topic in answer.topics:
            for part in topic.partitions:
                name = self.names.recorded_partition(topic.name, int(part.partition_index))
                error, offset = int(part.error_code), int(part.committed_offset)
                seen = group.setdefault(name, {})
                if stable:
                    seen["stable"] = name_of(error) if error else offset
                else:
                    _check(Api.OFFSET_FETCH, error)
                    seen["committed"] = offset


class NotObservable(BrokerFailure):
    """A node that should answer for something does not."""


def _check(api: str, code: int) -> None:
    if code:
        raise NotObservable(f"{api}, which only asks for the state, is answered {name_of(int(code))}")

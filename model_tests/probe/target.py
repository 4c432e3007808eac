"""The cluster that is judged: which versions it announces, who leads and coordinates what, and its topics."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from model_tests.common.addresses import Address
from model_tests.probe.connection import BrokerConnection, BrokerFailure, Prepared, prepared
from reference.server.service import Fields
from reference.wire.codec import known_versions, messages
from spec.vocabulary import Api, ErrorCode

GROUP: Final = 0
TRANSACTION: Final = 1
"""Kinds of coordinators, as FindCoordinator has them."""

SEVERAL_KEYS_SINCE: Final = 4
"""First version of FindCoordinator that asks for several keys at once."""

TRANSIENT: Final = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_CONTROLLER,
    }
)
"""What a cluster answers while it is not ready; the request had no effect, and clients send it again."""

START_S: Final = 30.0
"""How long a cluster may take until a topic has its leaders, and a coordinator has loaded."""

PAUSE_S: Final = 0.02
"""Between two questions about the same."""

ANSWER_MS: Final = 15_000
"""How long a broker may take over a change of topics."""

TRANSACTION_VERSION: Final = "transaction.version"


class NotReady(BrokerFailure):
    """The cluster is not ready after so long."""


BURST_S: Final = 0.1
"""Requests of so long may be sent at once after a pause."""


class Pace:
    """At most so many requests in a second."""

    def __init__(self, per_second: float, now: Callable[[], float] = time.monotonic) -> None:
        """No request was sent yet; a rate of 0 is no limit."""
        self._gap = 1 / per_second if per_second > 0 else 0.0
        self._now = now
        self._next = now()

    def wait(self, requests: int = 1) -> None:
        """Wait until so many requests may be sent."""
        if not self._gap:
            return
        self._next = max(self._next, self._now() - BURST_S) + requests * self._gap
        ahead = self._next - self._now()
        if ahead > 0:
            time.sleep(ahead)


class TopicInfo(NamedTuple):
    """A topic as Metadata shows it.

    Attributes:
        topic_id: hexadecimal, empty where the broker names none.
        leaders: node by partition, -1 where there is none.
    """

    error: int
    topic_id: str
    leaders: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NodeRequest:
    """A request for a node."""

    node: int
    api: str
    version: int
    fields: Fields
    prepared: Prepared = field(init=False)

    def __post_init__(self) -> None:
        """Put it into bytes."""
        object.__setattr__(self, "prepared", prepared(self.api, self.version, self.fields))


@dataclass(slots=True)
class Target:
    """A cluster, over one connection for each node.

    Attributes:
        bootstrap: addresses of some of its brokers.
        patience_s: seconds after which a silent broker is given up.
        pace: of the requests.
        announced: versions by the api's name, as ApiVersions names them.
        transaction_version: the finalized feature, None where the broker has no such feature.
        nodes: their addresses by number.
        topics_there: names of the topics that there were in the beginning, internal ones aside.
        requests: how many were sent.
    """

    bootstrap: Sequence[Address]
    patience_s: float
    pace: Pace
    announced: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    transaction_version: int | None = None
    nodes: dict[int, Address] = field(default_factory=dict)
    controller: int = -1
    topics_there: tuple[str, ...] = ()
    requests: int = 0
    _connections: dict[tuple[int, int], BrokerConnection] = field(default_factory=dict)
    _coordinators: dict[tuple[int, str], int] = field(default_factory=dict)

    def open(self) -> None:
        """Connect to the first address that answers, and learn what the cluster is.

        Raises:
            BrokerFailure: none answers as a Kafka broker does; the first reason.
        """
        failures: list[BrokerFailure] = []
        for address in self.bootstrap:
            try:
                with BrokerConnection(address, self.patience_s) as connection:
                    self._learn(connection)
                return
            except BrokerFailure as failure:
                failures.append(failure)
        raise failures[0]

    def close(self) -> None:
        """End every connection."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # --- requests -------------------------------------------------------------------------------------------------

    def newest(self, api: str, most: int) -> int:
        """The newest version of a request that the broker announces and the codec has, up to one that we know.

        Raises:
            BrokerFailure: there is none.
        """
        known, announced = known_versions(api), self.announced.get(api)
        if known is not None and announced is not None:
            version = min(most, known[1], announced[1])
            if version >= max(known[0], announced[0]):
                return version
        raise BrokerFailure(f"{self.bootstrap[0]} announces no version of {api} that is known here")

    def has(self, api: str) -> bool:
        """Whether some version of a request is announced."""
        return api in self.announced

    def request(self, node: int, api: str, version: int, fields: Fields) -> Any:
        """The answer of a node to one request.

        Args:
            node: its number; -1 is any node.
            api: name of the request.
            version: of the request.
            fields: the body by name.

        Raises:
            BrokerFailure: there is none.
        """
        return self.request_all([NodeRequest(node, api, version, fields)])[0]

    def request_all(self, requests: Sequence[NodeRequest]) -> list[Any]:
        """The answers to several requests, sent before the first answer is waited for; a node has them in order.

        Raises:
            BrokerFailure: one has none.
        """
        connections = [self.connection(request.node) for request in requests]
        for connection in dict.fromkeys(connections):
            self.send(connection, [r for c, r in zip(connections, requests, strict=True) if c is connection])
        return [connection.receive() for connection in connections]

    def send(self, connection: BrokerConnection, requests: Sequence[NodeRequest]) -> None:
        """Send requests over one connection, at the pace that is allowed."""
        self.pace.wait(len(requests))
        self.requests += len(requests)
        connection.send(*(request.prepared for request in requests))

    def connection(self, node: int, lane: int = 0) -> BrokerConnection:
        """A connection to a node; each lane is one of its own.

        Raises:
            BrokerFailure: it cannot be connected to.
        """
        known = self._connections.get((node, lane))
        if known is None:
            address = self.nodes.get(node, self.bootstrap[0] if not self.nodes else next(iter(self.nodes.values())))
            known = self._connections[node, lane] = BrokerConnection(address, self.patience_s)
            known.request(Api.API_VERSIONS, 0, {})
        return known

    def forget_connections(self) -> None:
        """Close what is open, so that the next request connects anew."""
        self.close()
        self._coordinators.clear()

    # --- who leads, who coordinates -------------------------------------------------------------------------------

    def coordinator(self, kind: int, key: str, *, anew: bool = False) -> int:
        """The node that coordinates a group or a transactional id.

        Raises:
            BrokerFailure: none does after a while.
        """
        if anew:
            self._coordinators.pop((kind, key), None)
        if (kind, key) not in self._coordinators:
            self._coordinators[kind, key] = self._found_coordinator(kind, key)
        return self._coordinators[kind, key]

    def _found_coordinator(self, kind: int, key: str) -> int:
        version = self.newest(Api.FIND_COORDINATOR, 4)
        several = version >= SEVERAL_KEYS_SINCE
        fields = {"key_type": kind} | ({"coordinator_keys": [key]} if several else {"key": key})
        for _ in attempts():
            answer = self.request(-1, Api.FIND_COORDINATOR, version, fields)
            found = answer.coordinators[0] if several else answer
            if not found.error_code:
                self.nodes.setdefault(int(found.node_id), Address(found.host, found.port))
                return int(found.node_id)
            if found.error_code not in TRANSIENT:
                raise BrokerFailure(f"FindCoordinator of {key} is answered {name_of(found.error_code)}")
        raise NotReady(f"there is no coordinator of {key} after {START_S:.0f} s")

    def described_topics(self, names: Sequence[str]) -> dict[str, TopicInfo]:
        """Topics by name, as any node knows them; nothing is created by it from Metadata 4 on."""
        version = self.newest(Api.METADATA, 12)
        fields: dict[str, Any] = {"topics": [{"name": name} for name in names], "allow_auto_topic_creation": False}
        answer = self.request(-1, Api.METADATA, version, fields)
        self._take_nodes(answer)
        return {each.name: _topic_info(each) for each in answer.topics}

    def _take_nodes(self, answer: Any) -> None:
        self.nodes = {int(each.node_id): Address(each.host, each.port) for each in answer.brokers} or self.nodes
        self.controller = int(getattr(answer, "controller_id", -1) or 0)

    # --- topics ---------------------------------------------------------------------------------------------------

    def create_topics(self, names: Sequence[str], partitions: int) -> dict[str, TopicInfo]:
        """Make topics, and wait until each of their partitions has a leader that answers.

        Raises:
            BrokerFailure: they cannot be made, or are not ready after a while.
        """
        version = self.newest(Api.CREATE_TOPICS, 5)
        wanted = [
            {"name": name, "num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": []}
            for name in names
        ]
        fields = {"topics": wanted, "timeout_ms": ANSWER_MS, "validate_only": False}
        for _ in attempts():
            answer = self.request(self.controller, Api.CREATE_TOPICS, version, fields)
            errors = {each.error_code: each for each in answer.topics if each.error_code not in (0, TOPIC_EXISTS)}
            if not errors:
                return self._ready(names, partitions)
            error, refused = next(iter(errors.items()))
            if error not in TRANSIENT | {ErrorCode.REQUEST_TIMED_OUT}:
                why = getattr(refused, "error_message", None) or name_of(error)
                raise BrokerFailure(f"the topic {refused.name} cannot be made: {why}")
            self.described_topics([])
        raise NotReady(f"no topic could be made for {START_S:.0f} s")

    def _ready(self, names: Sequence[str], partitions: int) -> dict[str, TopicInfo]:
        for _ in attempts():
            found = self.described_topics(names)
            whole = all(
                found[name].error == 0 and len(found[name].leaders) == partitions and min(found[name].leaders) >= 0
                for name in names
                if name in found
            )
            if whole and len(found) == len(names) and self._all_lead(found):
                return found
        raise NotReady(f"the topic {names[0]} has no leader after {START_S:.0f} s")

    def _all_lead(self, found: Mapping[str, TopicInfo]) -> bool:
        """Whether the leader of every partition answers for it."""
        version = self.newest(Api.LIST_OFFSETS, 5)
        requested = [
            NodeRequest(leader, Api.LIST_OFFSETS, version, list_offsets(name, [partition], committed=False))
            for name, info in found.items()
            for partition, leader in enumerate(info.leaders)
        ]
        return not any(each.topics[0].partitions[0].error_code for each in self.request_all(requested))

    def delete_topics(self, names: Sequence[str]) -> tuple[str, ...]:
        """Remove topics; those that could not be removed.

        Raises:
            BrokerFailure: the cluster does not answer.
        """
        if not names:
            return ()
        version = self.newest(Api.DELETE_TOPICS, 5)
        left = list(names)
        for _ in attempts():
            fields = {"topic_names": left, "timeout_ms": ANSWER_MS}
            answer = self.request(self.controller, Api.DELETE_TOPICS, version, fields)
            left = [each.name for each in answer.responses if each.error_code in TRANSIENT]
            refused = [each for each in answer.responses if each.error_code not in {0, 3, *TRANSIENT}]
            if refused or not left:
                return (*left, *(each.name for each in refused))
            self.described_topics([])
        return tuple(left)

    def delete_group(self, group: str) -> bool:
        """Remove a group; whether it is gone."""
        version = self.newest(Api.DELETE_GROUPS, 2)
        answer = self.request(self.coordinator(GROUP, group), Api.DELETE_GROUPS, version, {"groups_names": [group]})
        return answer.results[0].error_code in (0, ErrorCode.GROUP_ID_NOT_FOUND)

    # --- the beginning --------------------------------------------------------------------------------------------

    def _learn(self, connection: BrokerConnection) -> None:
        answer = self._versions(connection)
        names = {int(found.API_KEY): name for name, found in messages("request").items()}
        self.announced = {
            names[int(each.api_key)]: (int(each.min_version), int(each.max_version))
            for each in answer.api_keys
            if int(each.api_key) in names
        }
        features = getattr(answer, "finalized_features", None) or ()
        levels = {each.name: int(each.max_version_level) for each in features}
        supported = {each.name for each in getattr(answer, "supported_features", None) or ()}
        if TRANSACTION_VERSION in levels or TRANSACTION_VERSION in supported:
            self.transaction_version = levels.get(TRANSACTION_VERSION, 0)
        version = self.newest(Api.METADATA, 12)
        everything = connection.request(Api.METADATA, version, {"topics": None, "allow_auto_topic_creation": False})
        self._take_nodes(everything)
        self.topics_there = tuple(
            sorted(each.name for each in everything.topics if not (each.is_internal or each.name.startswith("__")))
        )

    def _versions(self, connection: BrokerConnection) -> Any:
        """The answer to ApiVersions, in the newest version that the broker has.

        Raises:
            BrokerFailure: it has none.
        """
        software = {"client_software_name": "eos-conform", "client_software_version": "1.0"}
        answer = connection.request(Api.API_VERSIONS, 0, {})
        own = next((each for each in answer.api_keys if int(each.api_key) == 18), None)
        if answer.error_code or own is None:
            raise BrokerFailure(f"{connection.address} answers ApiVersions with {name_of(answer.error_code)}")
        known = known_versions(Api.API_VERSIONS)
        newest = min(int(own.max_version), 4 if known is None else known[1])
        if newest < 3:
            return answer
        return connection.request(Api.API_VERSIONS, newest, software)


TOPIC_EXISTS: Final = 36
"""A topic of that name is there: made by a request whose answer was lost."""


def list_offsets(topic: str, numbers: Sequence[int], *, committed: bool) -> Fields:
    """The fields of a ListOffsets of the ends of some partitions, the last stable offsets if committed."""
    partitions = [
        {"partition_index": number, "current_leader_epoch": -1, "timestamp": -1, "max_num_offsets": 1}
        for number in numbers
    ]
    return {
        "replica_id": -1,
        "isolation_level": int(committed),
        "topics": [{"name": topic, "partitions": partitions}],
    }


def attempts(seconds: float = START_S, pause_s: float = PAUSE_S) -> Iterator[int]:
    """Count attempts until the time is up, with a pause between two that grows to half a second."""
    until, number = time.monotonic() + seconds, 0
    while True:
        yield number
        if time.monotonic() > until:
            return
        time.sleep(min(pause_s * 2 ** min(number, 5), 0.5))
        number += 1


def name_of(code: int) -> str:
    """Kafka's name of an error code, or the number where it is not known."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"UNKNOWN_CODE_{code}"


def _topic_info(each: Any) -> TopicInfo:
    by_number = {int(part.partition_index): int(part.leader_id) for part in each.partitions}
    topic_id = getattr(each, "topic_id", None)
    leaders = tuple(by_number.get(number, -1) for number in range(len(by_number)))
    return TopicInfo(int(each.error_code), topic_id.hex if topic_id else "", leaders)


def java_hash(text: str) -> int:
    """`String.hashCode` without its sign (`Utils.abs`): the partition of a group or transactional id by remainder."""
    value = 0
    for unit in memoryview(text.encode("utf-16-le")).cast("H"):
        value = (31 * value + unit) & 0xFFFFFFFF
    signed = value - 2**32 if value >= 2**31 else value
    return 0 if signed == -(2**31) else abs(signed)

"""The settings of nodes and topics, with the defaults of each release, and the answers of DescribeConfigs.

Sources: `KafkaConfig`, `LogConfig`; for DescribeConfigs `AdminManager` and `ConfigHelper`.
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum, unique
from typing import Any, Final, NamedTuple

from reference.broker.group_coordinator import GroupConfig
from reference.server.errors import ServerError
from reference.server.service import ClientRequest, Fields, ServerSettings, Service
from reference.server.topics import is_legal
from reference.wire.versions import is_since
from spec.versions import Profile
from spec.vocabulary import ErrorCode

# --- settings ---------------------------------------------------------------------------------------------------------


DAY_MS: Final = 24 * 60 * 60 * 1000
LARGER_MESSAGES_SINCE: Final = "2.5"
"""First release whose default of max.message.bytes is a binary megabyte."""

LONGER_SESSIONS_SINCE: Final = "2.4"
"""First release of those that are served whose default of group.max.session.timeout.ms is half an hour (2.3)."""

DELETION_SINCE: Final = "1.0"
"""First release whose default of delete.topic.enable is true."""


@unique
class ConfigType(IntEnum):
    """Types of values, by their number on the wire."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    LIST = 7


class Config(NamedTuple):
    """One setting.

    Attributes:
        name: of the setting.
        value: that it has here.
        default: of the release.
        kind: of the value.
        synonym: name of the node's setting, of a topic's.
        dynamic: whether it may be changed while a node runs (since 1.1).
    """

    name: str
    value: str
    default: str
    kind: ConfigType
    synonym: str = ""
    dynamic: bool = False

    @property
    def is_default(self) -> bool:
        """Whether it is the default."""
        return self.value == self.default


def max_message_bytes(profile: Profile) -> int:
    """Default of max.message.bytes, with the 12 bytes before a batch."""
    return (1024 * 1024 if is_since(profile, LARGER_MESSAGES_SINCE) else 1_000_000) + 12


def topic_configs(settings: ServerSettings) -> Iterator[Config]:
    """The settings of every topic: none has settings of its own."""
    yield from _log_configs(settings.profile)
    least = str(settings.shape().min_insync)
    yield Config("min.insync.replicas", least, "1", ConfigType.INT, "min.insync.replicas")


def broker_configs(settings: ServerSettings, node: int) -> Iterator[Config]:
    """The settings of a node, with those that topics inherit from it."""
    profile, config = settings.profile, GroupConfig()
    yield Config("broker.id", str(node), "-1", ConfigType.INT)
    yield Config("auto.create.topics.enable", _text(settings.auto_create), "true", ConfigType.BOOLEAN)
    yield Config("delete.topic.enable", "true", _text(is_since(profile, DELETION_SINCE)), ConfigType.BOOLEAN)
    yield Config("num.partitions", str(settings.default_partitions), "1", ConfigType.INT)
    yield Config("default.replication.factor", str(settings.shape().replicas), "1", ConfigType.INT)
    for each in topic_configs(settings):
        yield each._replace(name=each.synonym, synonym="", dynamic=True)
    partitions = str(settings.coordinator_partitions)
    yield Config("offsets.topic.num.partitions", partitions, "50", ConfigType.INT)
    yield Config("transaction.state.log.num.partitions", partitions, "50", ConfigType.INT)
    shape = settings.shape()
    yield Config("transaction.max.timeout.ms", str(shape.max_timeout_ms), str(15 * 60 * 1000), ConfigType.INT)
    yield Config("transactional.id.expiration.ms", str(shape.id_expiration_ms), str(7 * DAY_MS), ConfigType.INT)
    yield Config("group.initial.rebalance.delay.ms", str(settings.initial_delay_ms), "3000", ConfigType.INT)
    yield Config("group.min.session.timeout.ms", str(config.min_session_timeout_ms), "6000", ConfigType.INT)
    longest = 1_800_000 if is_since(profile, LONGER_SESSIONS_SINCE) else 300_000
    yield Config("group.max.session.timeout.ms", str(config.max_session_timeout_ms), str(longest), ConfigType.INT)


def _text(value: bool) -> str:
    return str(value).lower()


def _log_configs(profile: Profile) -> Iterator[Config]:
    """Settings of logs, all with the defaults of the release."""
    plain = (
        ("cleanup.policy", "delete", ConfigType.LIST, "log.cleanup.policy"),
        ("compression.type", "producer", ConfigType.STRING, "compression.type"),
        ("delete.retention.ms", str(DAY_MS), ConfigType.LONG, "log.cleaner.delete.retention.ms"),
        ("max.message.bytes", str(max_message_bytes(profile)), ConfigType.INT, "message.max.bytes"),
        ("message.timestamp.type", "CreateTime", ConfigType.STRING, "log.message.timestamp.type"),
        ("retention.bytes", "-1", ConfigType.LONG, "log.retention.bytes"),
        ("retention.ms", str(7 * DAY_MS), ConfigType.LONG, "log.retention.ms"),
        ("segment.bytes", str(2**30), ConfigType.INT, "log.segment.bytes"),
        ("segment.ms", str(7 * DAY_MS), ConfigType.LONG, "log.roll.ms"),
        ("unclean.leader.election.enable", "false", ConfigType.BOOLEAN, "unclean.leader.election.enable"),
    )
    for name, value, kind, synonym in plain:
        yield Config(name, value, value, kind, synonym)


# --- DescribeConfigs --------------------------------------------------------------------------------------------------


TOPIC: Final = 2
BROKER: Final = 4
"""Kinds of resources; a request that names another kind is refused as a whole."""

STATIC: Final = 4
DEFAULT: Final = 5
"""Where a value comes from."""

DYNAMIC_SINCE: Final = "2.0"
"""First release of those that are served in which settings may change while a node runs, and that looks for topics."""

EMPTY_IS_ALL_SINCE: Final = "2.7"
"""First release of those that are served in which an empty list of settings asks for all of them."""


def describe_configs(service: Service, call: ClientRequest) -> None:
    """The settings of the named resources; a request for anything but topics and nodes is refused as a whole."""
    resources = call.message.resources
    unknown = next((each for each in resources if each.resource_type not in (TOPIC, BROKER)), None)
    if unknown is not None:
        why = f"Unexpected resource type {unknown.resource_type} for resource {unknown.resource_name}"
        call.reply({"results": [_refused(each, ErrorCode.INVALID_REQUEST, why) for each in resources]})
        return
    call.reply({"results": [_described(service, call, each) for each in resources]})


def _refused(request: Any, error: int, why: str | None) -> Fields:
    named = {"resource_type": request.resource_type, "resource_name": request.resource_name}
    return named | {"error_code": int(error), "error_message": why, "configs": []}


def _described(service: Service, call: ClientRequest, request: Any) -> Fields:
    profile, name = service.settings.profile, request.resource_name
    if request.resource_type == TOPIC:
        if not is_legal(name):
            return _refused(request, ServerError.INVALID_TOPIC_EXCEPTION, "no topic can be called so")
        if name not in service.topics.by_name and is_since(profile, DYNAMIC_SINCE):
            return _refused(request, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
        return _answer(service, call, request, topic_configs(service.settings))
    if not name and is_since(profile, DYNAMIC_SINCE):
        return _answer(service, call, request, ())
    if not _is_number(name):
        return _refused(request, ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    if int(name) != call.node:
        why = f"Unexpected broker id, expected {call.node}, but received {name}"
        return _refused(request, ErrorCode.INVALID_REQUEST, why)
    return _answer(service, call, request, broker_configs(service.settings, call.node))


def _is_number(name: str) -> bool:
    digits = name.removeprefix("-").removeprefix("+")
    return digits.isascii() and digits.isdecimal() and len(digits) <= 10


def _answer(service: Service, call: ClientRequest, request: Any, configs: Iterable[Config]) -> Fields:
    profile, keys = service.settings.profile, request.configuration_keys
    wants_all = keys is None or (not keys and is_since(profile, EMPTY_IS_ALL_SINCE))
    is_topic, synonyms = request.resource_type == TOPIC, bool(call.message.include_synonyms)
    changes = is_since(profile, DYNAMIC_SINCE)
    listed = [_entry(each, is_topic, synonyms, changes) for each in configs if wants_all or each.name in keys]
    named = {"resource_type": request.resource_type, "resource_name": request.resource_name}
    return named | {"error_code": 0, "error_message": None, "configs": listed}


def _entry(config: Config, is_topic: bool, synonyms: bool, changes: bool) -> Fields:
    source = DEFAULT if config.is_default else STATIC
    known = [(config.value, source)] if config.is_default else [(config.value, STATIC), (config.default, DEFAULT)]
    name = config.synonym or config.name
    return {
        "name": config.name,
        "value": config.value,
        "read_only": not (is_topic or (config.dynamic and changes)),
        "config_source": source,
        "is_default": config.is_default,
        "is_sensitive": False,
        "synonyms": [{"name": name, "value": value, "source": where} for value, where in known] if synonyms else [],
        "config_type": int(config.kind),
        "documentation": None,
    }

"""The settings of nodes and topics here, with the defaults of each release (`KafkaConfig`, `LogConfig`)."""

from collections.abc import Iterator
from enum import IntEnum, unique
from typing import Final, NamedTuple

from reference.broker.group_coordinator import GroupConfig
from reference.server.service import ServerSettings
from reference.wire.versions import is_since
from spec.versions import Profile

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
    """What applies to every topic: none has settings of its own."""
    yield from _log_configs(settings.profile)
    least = str(settings.shape().min_insync)
    yield Config("min.insync.replicas", least, "1", ConfigType.INT, "min.insync.replicas")


def broker_configs(settings: ServerSettings, node: int) -> Iterator[Config]:
    """What applies to a node, those settings among them that topics have from it."""
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
    """Settings of logs, all as the release has them."""
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

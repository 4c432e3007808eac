"""Who led each partition and who was in sync, by the controller's log."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from model_tests.audit.findings import Finding
from model_tests.logs.controller_log import UnreadRecords
from spec.vocabulary import ABSENT


@dataclass(frozen=True, slots=True)
class LeaderEpochEntry:
    """A leader epoch.

    Attributes:
        leader: -1 where there is no leader.
        offset: of the record in the controller's log.
        timestamp: when it was decided, by the controller's clock.
        in_sync: the in-sync set that it began with.
        unclean: the leader was not in sync and had not led last: it may lack what is committed.
        again: the leader was not in sync, but led last: it lacks what its own broker lost, if that lost anything.
    """

    epoch: int
    leader: int
    offset: int
    timestamp: int
    in_sync: tuple[int, ...] = ()
    unclean: bool = False
    again: bool = False


@dataclass(frozen=True, slots=True)
class PartitionLeaders:
    """The leader epochs of a partition, in order, and its in-sync set at the end.

    Attributes:
        topic_id: as `partition.metadata` has it.
        shrinks: how often the in-sync set lost a member, `expansions`, how often it gained one.
    """

    topic: str
    partition: int
    leaderships: tuple[LeaderEpochEntry, ...]
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    topic_id: str = ""
    shrinks: int = 0
    expansions: int = 0

    def led(self, epoch: int) -> bool | None:
        """Whether the partition had a leader in this epoch; None where the log at hand does not reach so far."""
        if epoch < self.leaderships[0].epoch or epoch > self.leaderships[-1].epoch:
            return None
        return any(one.epoch == epoch and one.leader != ABSENT for one in self.leaderships)

    def is_of(self, topic_id: str) -> bool:
        """Whether it is the same topic, and no earlier one of the name; an empty id is not known."""
        return not topic_id or not self.topic_id or topic_id == self.topic_id

    @property
    def leader(self) -> int:
        """The last leader."""
        return next((one.leader for one in reversed(self.leaderships) if one.leader != ABSENT), ABSENT)

    @property
    def elections(self) -> int:
        """Changes of the leader after the first one; the loss of the leader is one too."""
        return len(self.leaderships) - 1

    @property
    def unclean(self) -> tuple[LeaderEpochEntry, ...]:
        """The elections of replicas that may lack what another one had."""
        return tuple(one for one in self.leaderships if one.unclean)

    @property
    def again(self) -> tuple[LeaderEpochEntry, ...]:
        """The elections of the last leader, of which it is not known whether its broker lost anything."""
        return tuple(one for one in self.leaderships if one.again)


@dataclass(frozen=True, slots=True)
class Changed:
    """One record of a partition: what it changed, and what holds after it."""

    offset: int
    topic: str
    partition: int
    kinds: tuple[str, ...]
    leader: int
    leader_epoch: int
    in_sync: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ControllerHistory:
    """The contents of one copy of the controller's log.

    Attributes:
        end: the offset after its last record; `last_epoch`, of its last batch.
        last_ms: when the last record was appended.
        judged: records of partitions that were looked at.
        passed_over: records that have nothing to do with leaders, by name.
        unread: records that are not read: of kinds or versions that are not known, or damaged.
        findings: what the rules of elections do not allow; offsets are those of the controller's log.
    """

    end: int
    last_epoch: int
    last_ms: int
    whole: bool
    partitions: tuple[PartitionLeaders, ...] = ()
    judged: int = 0
    passed_over: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[UnreadRecords, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def knows_leaders(self) -> bool:
        """No record that is not read may have changed who leads."""
        return not any(one.of_leaders for one in self.unread)

    @property
    def reach(self) -> tuple[int, int]:
        """How far the copy goes, as replicas compare it."""
        return self.last_epoch, self.end

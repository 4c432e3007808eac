"""Symbolic scripts: the steps of a session, in words that do not depend on the answers of the broker so far.

A session has names of its own: short ones in its record, new ones on the broker, and symbols for the ids that the
broker hands out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from model_tests.probe.target import TopicInfo
from spec.vocabulary import NO_PRODUCER_ID, Api

COPY: Final = "copy"
SETTLE: Final = "_Settle"
JOIN: Final = "_JoinSync"
EXHAUST: Final = "_BumpEpochs"
"""InitProducerId as often as it takes to hand out the last epoch of a client."""

AWAIT: Final = "_AwaitState"
"""The coordinator aborts a transaction whose timeout has passed."""

MARKER: Final = "a marker"
EMPTY: Final = "without records"
DOUBLED: Final = "twice in one request"
UNNUMBERED: Final = "without a sequence"
LONGER: Final = "said to be one record longer"
SHORTER: Final = "said to be one record shorter"
ACKS: Final = "with acks=2"
ILL: Final = (MARKER, EMPTY, DOUBLED, UNNUMBERED, LONGER, SHORTER, ACKS)
"""Ill-formed Produce requests, as no client sends them."""

NO_TIMEOUT: Final = "with a timeout of 0"
HALF: Final = "with a producer id and no epoch"
ILL_INITIALIZED: Final = (NO_TIMEOUT, HALF)
"""Ill-formed InitProducerId requests, as no client sends them."""

STRANGER: Final = "stranger"
"""A member that no group knows."""

IDEMPOTENT: Final = "p0"
"""A producer without a transactional id."""

PARTITIONS: Final = 2
BRIEF_MS: Final = 4_000
"""The timeout of a transaction that a session waits for; the steps before take less time."""

NEWEST: Final = 0.999
"""Which version of a request is sent: a share of the versions, oldest first."""


@dataclass(frozen=True, slots=True)
class ScriptAction:
    """One step of a script.

    Attributes:
        key: its number in the script as it was drawn, by which a copy names its original; shrinking keeps it.
        api: Kafka's name of the request, or `copy`, `_Settle`, `_JoinSync`, `_AwaitState`.
        who: the transactional id, or the producer without one; empty where none is named.
        of: whose identity the request has, if it is not that of `who`; if there are two batches, the second one has it.
        both: both partitions are named: of a Produce there are two batches, one for each.
        partition: of the topic.
        sequence: first sequence number, counted from the one that comes next.
        epoch: producer epoch, counted from the one that was handed out last.
        records: of a batch.
        transactional: the batch belongs to a transaction.
        commits: EndTxn or marker commits, else aborts.
        expects: InitProducerId names the identity that its sender has.
        committed_only: the fetch is read_committed.
        offset: to be committed, or of the fetch.
        limit: bytes of the fetch, 0 for none.
        member: the commit of offsets comes from the member of the group.
        stranger: it comes from a member that the group does not know.
        generation: the generation that it names, counted from the member's.
        instance: name of the static member that joins, or that a transactional commit names; empty for none.
        timeout_ms: of the transactions of the id that is initialized, 0 for one that no session reaches.
        ill: what is wrong with the form of the request, of `ILL` or `ILL_INITIALIZED`; empty for nothing.
        marker_epoch: coordinator epoch of a marker, counted from that of the markers before.
        version: which of the versions, as a share of those that the broker has.
        by_broker: the request is of the versions that brokers send each other.
        verifies: an AddPartitionsToTxn of such a version only verifies that the partition is in the transaction.
        original: key of the action whose bytes are sent again.
        racy: sent without waiting for markers.
        lane: connection that it is sent over; actions of different lanes that follow each other race.
    """

    key: int
    api: str
    who: str = ""
    of: str = ""
    both: bool = False
    partition: int = 0
    sequence: int = 0
    epoch: int = 0
    records: int = 1
    transactional: bool = False
    commits: bool = True
    expects: bool = False
    committed_only: bool = False
    offset: int = 0
    limit: int = 0
    member: bool = False
    stranger: bool = False
    generation: int = 0
    instance: str = ""
    timeout_ms: int = 0
    ill: str = ""
    marker_epoch: int = 0
    version: float = NEWEST
    by_broker: bool = False
    verifies: bool = False
    original: int = -1
    racy: bool = False
    lane: int = 0

    def __str__(self) -> str:
        """The step in a few words."""
        if self.api == COPY:
            return f"late copy of step {self.original}"
        parts: dict[str, str] = {
            Api.PRODUCE: f"{self.who or 'nobody'}: produce {_relative('next', self.sequence)} to {self.partition}",
            Api.INIT_PRODUCER_ID: f"{self.who}: InitProducerId" + (" with its identity" if self.expects else ""),
            Api.ADD_PARTITIONS_TO_TXN: f"{self.who}: add partition {self.partition}",
            Api.END_TXN: f"{self.who}: end {'commit' if self.commits else 'abort'}",
            Api.WRITE_TXN_MARKERS: f"marker {'COMMIT' if self.commits else 'ABORT'} of {self.who} to {self.partition}",
            EXHAUST: f"{self.who}: InitProducerId until only {-self.epoch} epochs are left",
            AWAIT: f"the transaction of {self.who} times out",
            JOIN: f"a member joins{f' as {self.instance}' if self.instance else ''}",
            Api.FETCH: f"fetch {self.partition} {'read_committed' if self.committed_only else 'read_uncommitted'}",
        }
        line = parts.get(self.api, f"{self.who}: {self.api}" if self.who else self.api)
        special = {
            "both partitions": self.both,
            f"identity of {self.of}": self.of and not (self.both and self.api == Api.PRODUCE),
            f"the second batch of {self.of}": self.of and self.both and self.api == Api.PRODUCE,
            _relative("epoch", self.epoch): self.epoch and self.api != EXHAUST,
            "as a member": self.member,
            "as a stranger": self.stranger,
            _relative("generation", self.generation): self.generation,
            f"instance {self.instance}": self.instance and self.api != JOIN,
            f"{self.ill}": self.ill,
            f"timeout {self.timeout_ms} ms": self.timeout_ms,
            "verifies": self.verifies,
            "by a broker": self.by_broker and not self.verifies,
        }
        return ", ".join((line, *(words for words, holds in special.items() if holds)))


@dataclass(frozen=True, slots=True)
class Script:
    """What one session does.

    Attributes:
        family: of the session.
        seed: it was drawn from.
        legacy: its client knows no transactions of version 2.
    """

    family: str
    seed: int
    actions: tuple[ScriptAction, ...]
    legacy: bool = False

    def keeping(self, actions: Sequence[ScriptAction]) -> "Script":
        """The same with some of its actions."""
        return replace(self, actions=tuple(actions))


def _relative(base: str, delta: int) -> str:
    return base if not delta else f"{base} {'+' if delta > 0 else '-'} {abs(delta)}"


# --- the names of one session -----------------------------------------------------------------------------------------


TOPIC: Final = "t"
GROUP: Final = "g0"
OFFSETS_TOPIC: Final = "__consumer_offsets"


@dataclass(slots=True)
class SessionNames:
    """The names of a session, and the names on the broker that stand for them.

    Attributes:
        prefix: of every transactional id and group on the broker.
        topic: on the broker, the only one of the session.
        info: of the topic.
        members: member ids by symbol.
        coordinator_epochs: by producer id, the coordinator epoch that its first marker had; epochs count from there.
    """

    prefix: str
    topic: str
    info: TopicInfo
    members: dict[str, str] = field(default_factory=dict)
    coordinator_epochs: dict[int, int] = field(default_factory=dict)
    _symbols: dict[int, str] = field(default_factory=dict)

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partitions as the record names them."""
        return tuple(f"{TOPIC}-{number}" for number in range(len(self.info.leaders)))

    def leader(self, number: int) -> int:
        """The node that leads a partition."""
        return self.info.leaders[number]

    def named(self, short: str) -> str:
        """The name on the broker of a transactional id or group."""
        return f"{self.prefix}-{short}"

    def meet(self, producer_id: int) -> int | str:
        """The symbol of a producer id, a new one if it is met for the first time; -1 for none."""
        if producer_id <= NO_PRODUCER_ID:
            return NO_PRODUCER_ID
        return self._symbols.setdefault(producer_id, f"pid{len(self._symbols)}")

    def known(self) -> Mapping[int, str]:
        """Every producer id that was met, with its symbol."""
        return self._symbols

    def number(self, named: int | str) -> int:
        """The producer id of a symbol."""
        if isinstance(named, int):
            return named
        return next(number for number, symbol in self._symbols.items() if symbol == named)

    def recorded_partition(self, topic: str, number: int) -> str:
        """A partition as the record names it; that of a group's offsets by the group, the only one of a session."""
        return f"{OFFSETS_TOPIC}[{GROUP}]" if topic == OFFSETS_TOPIC else f"{TOPIC}-{number}"

    def coordinator_epoch(self, producer_id: int, epoch: int) -> int:
        """A coordinator epoch as the record counts it: from the first one of the producer's markers on."""
        if epoch < 0:
            return epoch
        return epoch - self.coordinator_epochs.setdefault(producer_id, epoch)


def number_of(partition: str) -> int:
    """The number of a partition of the session's topic."""
    return int(partition.rpartition("-")[2])

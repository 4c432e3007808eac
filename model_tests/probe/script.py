"""Symbolic scripts: what a session does, in words that mean something whatever the broker has answered before."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from spec.vocabulary import Api

COPY: Final = "copy"
SETTLE: Final = "_Settle"
JOIN: Final = "_JoinSync"
EXHAUST: Final = "_BumpEpochs"
"""InitProducerId as often as it takes to hand out the last epoch of a client."""

MARKER: Final = "a marker"
EMPTY: Final = "without records"
DOUBLED: Final = "twice in one request"
UNNUMBERED: Final = "without a sequence"
LONGER: Final = "said to be one record longer"
SHORTER: Final = "said to be one record shorter"
ILL: Final = (MARKER, EMPTY, DOUBLED, UNNUMBERED, LONGER, SHORTER)
"""What no client's batch is like."""

STRANGER: Final = "stranger"
"""A member that no group knows."""

IDEMPOTENT: Final = "p0"
"""A producer without a transactional id."""

PARTITIONS: Final = 2
NEWEST: Final = 0.999
"""Which of the versions of a request is sent: a share of them, oldest first."""


@dataclass(frozen=True, slots=True)
class ScriptAction:
    """One step of a script.

    Attributes:
        key: its number in the script as it was drawn, by which a copy names its original; shrinking keeps it.
        api: Kafka's name of the request, or `copy`, `_Settle`, `_JoinSync`.
        who: the transactional id, or the producer without one; empty where nobody is named.
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
        generation: that it names, counted from the member's.
        instance: name of the static member that joins, or that a transactional commit names; empty for none.
        ill: what is wrong with the form of the batch, one of `ILL`; empty for nothing.
        marker_epoch: coordinator epoch of a marker, counted from that of the markers before.
        version: which of the versions, as a share of those that the broker has.
        by_broker: the request is of the versions that brokers send each other.
        verifies: such an AddPartitionsToTxn only asks whether the partition is in the transaction.
        original: key of the action whose bytes are sent again.
        racy: sent without waiting for markers.
        lane: connection that it is sent over; actions of different lanes that follow each other race.
    """

    key: int
    api: str
    who: str = ""
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
            JOIN: f"a member joins{f' as {self.instance}' if self.instance else ''}",
            Api.FETCH: f"fetch {self.partition} {'read_committed' if self.committed_only else 'read_uncommitted'}",
        }
        said = parts.get(self.api, f"{self.who}: {self.api}" if self.who else self.api)
        special = {
            _relative("epoch", self.epoch): self.epoch and self.api != EXHAUST,
            "as a member": self.member,
            "as a stranger": self.stranger,
            _relative("generation", self.generation): self.generation,
            f"instance {self.instance}": self.instance and self.api != JOIN,
            f"{self.ill}": self.ill,
            "verifies": self.verifies,
            "by a broker": self.by_broker and not self.verifies,
        }
        return ", ".join((said, *(words for words, holds in special.items() if holds)))


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


# --- drawing --------------------------------------------------------------------------------------------------


class _Draw:
    """The chances of one script."""

    def __init__(self, family: str, seed: int) -> None:
        self.random = random.Random(f"{family}-{seed}")  # repeatable, no secret
        self.style = self.chosen({"newest": 5, "legacy": 3, "mixed": 3})
        self.count = 0

    def chosen(self, weights: Mapping[str, int]) -> str:
        """One of some names."""
        return self.random.choices(list(weights), list(weights.values()))[0]

    def happens(self, chance: float) -> bool:
        """Whether something happens."""
        return self.random.random() < chance

    def action(self, api: str, **fields: object) -> ScriptAction:
        """The next action, of a version that fits the client."""
        self.count += 1
        version = NEWEST if self.style == "newest" else self.random.random()
        return replace(ScriptAction(self.count, api, version=version), **fields)  # type: ignore[arg-type]

    def delta(self, chance: float, *deltas: int) -> int:
        """Mostly 0."""
        return self.random.choice(deltas) if self.happens(chance) else 0

    def partition(self) -> int:
        """One of the topic's partitions."""
        return int(self.happens(0.3))

    def produce(self, who: str, *, transactional: bool, wrong: float = 0.15, racy: bool = False) -> ScriptAction:
        """A batch, mostly the one that comes next."""
        return self.action(
            Api.PRODUCE,
            who=who,
            partition=self.partition(),
            records=self.random.choice((1, 1, 2, 3, 8)),
            sequence=self.delta(wrong, -1, 1, -2, 1000),
            epoch=self.delta(wrong / 2, -1, 1),
            transactional=transactional,
            racy=racy,
        )

    def fetch(self, *, racy: bool = False) -> ScriptAction:
        """A read of one partition."""
        return self.action(
            Api.FETCH,
            partition=self.partition(),
            committed_only=self.happens(0.6),
            offset=self.random.choice((0, 0, 0, 1, 3, 7)),
            limit=self.delta(0.15, 1, 100, 200),
            racy=racy,
        )

    def copy(self, of: Sequence[ScriptAction]) -> Iterator[ScriptAction]:
        """A late copy of one of these."""
        sendable = [each for each in of if each.api not in (COPY, SETTLE, JOIN)]
        if sendable:
            yield self.action(COPY, original=self.random.choice(sendable).key)


def drawn(family: str, seed: int, *, implicit: bool) -> Script:
    """The script of a family and a seed: the same for the same.

    Args:
        family: A, B, C, D or R.
        seed: any number.
        implicit: a client of the newest versions adds no partitions (transaction version 2).
    """
    draw = _Draw(family, seed)
    actions = tuple(DRAWS[family](draw, implicit and draw.style == "newest"))
    return Script(family, seed, actions, legacy=draw.style == "legacy")


def _appends(draw: _Draw, implicit: bool) -> Iterator[ScriptAction]:
    yield draw.action(Api.INIT_PRODUCER_ID, who=IDEMPOTENT)
    made: list[ScriptAction] = []
    if draw.happens(0.25):  # numbers run out where any first sequence is taken
        wraps = draw.produce(IDEMPOTENT, transactional=False, wrong=0)
        made = [replace(wraps, sequence=-draw.random.randint(1, 6))]
        yield from made
    for _ in range(draw.random.randint(6, 18)):
        kind = draw.chosen({"produce": 70, "copy": 14, "fetch": 8, "init": 3, "plain": 5, "ill": 6})
        match kind:
            case "produce":
                found = [draw.produce(IDEMPOTENT, transactional=draw.happens(0.03), wrong=0.3)]
            case "copy":
                found = list(draw.copy(made))
            case "init":
                found = [draw.action(Api.INIT_PRODUCER_ID, who=IDEMPOTENT)]
            case "plain":
                found = [draw.produce("", transactional=False, wrong=0)]
            case "ill":
                found = [_ill_formed(draw, draw.produce(IDEMPOTENT, transactional=False))]
            case _:
                found = [draw.fetch()]
        made += found
        yield from found


def _ill_formed(draw: _Draw, batch: ScriptAction) -> ScriptAction:
    """A batch that no client makes."""
    return replace(batch, ill=draw.random.choice(ILL))


def _transaction(draw: _Draw, who: str, implicit: bool) -> Iterator[ScriptAction]:
    """A transaction as a client makes it, with something missing or wrong now and then."""
    wrong = 0.08
    for _ in range(draw.random.choice((1, 1, 1, 2, 0))):
        made = draw.produce(who, transactional=True, wrong=wrong)
        if not (implicit and draw.happens(0.9)) and not draw.happens(0.08):
            yield draw.action(
                Api.ADD_PARTITIONS_TO_TXN, who=who, partition=made.partition, epoch=draw.delta(wrong, -1, 1)
            )
        yield made
    if draw.happens(0.06):
        yield _marker(draw, who)
    if not draw.happens(0.15):
        yield _end(draw, who, wrong)


def _marker(draw: _Draw, who: str) -> ScriptAction:
    """A marker as a coordinator writes it, or a coordinator of before."""
    return draw.action(
        Api.WRITE_TXN_MARKERS,
        who=who,
        partition=draw.partition(),
        commits=draw.happens(0.5),
        epoch=draw.delta(0.5, -1, 1),
        marker_epoch=draw.delta(0.5, -1, 1),
    )


def _end(draw: _Draw, who: str, wrong: float, *, racy: bool = False) -> ScriptAction:
    return draw.action(Api.END_TXN, who=who, commits=draw.happens(0.55), epoch=draw.delta(wrong, -1, 1, -2), racy=racy)


def _init(draw: _Draw, who: str, *, racy: bool = False) -> ScriptAction:
    return draw.action(
        Api.INIT_PRODUCER_ID, who=who, expects=draw.happens(0.35), epoch=draw.delta(0.2, -1, 1), racy=racy
    )


ODD: Final = MappingProxyType(
    {"copy": 30, "end": 15, "init": 15, "add": 12, "produce": 12, "markers": 6, "list": 3, "one": 7, "ill": 3}
)
"""What happens out of turn, and how often."""


def _odd(draw: _Draw, who: str, made: Sequence[ScriptAction]) -> Iterator[ScriptAction]:
    """Something that a client does out of turn, or a network."""
    kind = draw.chosen(ODD)
    match kind:
        case "copy":
            yield from draw.copy(made)
        case "end":
            yield _end(draw, who, 0.3)
        case "init":
            yield _init(draw, who)
        case "add":
            added = draw.action(
                Api.ADD_PARTITIONS_TO_TXN, who=who, partition=draw.partition(), epoch=draw.delta(0.3, -1, 1)
            )
            by_broker = draw.happens(0.4)
            yield replace(added, by_broker=by_broker, verifies=by_broker and draw.happens(0.7))
        case "produce":
            yield draw.produce(who, transactional=draw.happens(0.85), wrong=0.3)
        case "ill":
            yield _ill_formed(draw, draw.produce(who, transactional=True))
        case "markers":
            yield _marker(draw, who)
        case "list":
            yield draw.action(Api.LIST_TRANSACTIONS, who=who)
        case _:
            yield draw.fetch()


def _transactions(draw: _Draw, implicit: bool) -> Iterator[ScriptAction]:
    ids = ("t0", "t1")[: draw.random.choice((1, 1, 2))]
    made: list[ScriptAction] = [draw.action(Api.INIT_PRODUCER_ID, who=who) for who in ids]
    yield from made
    for _ in range(draw.random.randint(3, 7)):
        who = draw.random.choice(ids)
        found = list(_transaction(draw, who, implicit) if draw.happens(0.6) else _odd(draw, who, made))
        made += found
        yield from found
    yield draw.action(Api.FETCH, partition=0, committed_only=True)


def _reads(draw: _Draw, implicit: bool) -> Iterator[ScriptAction]:
    ids = ("t0", "t1", "t2")[: draw.random.choice((1, 2, 3))]
    yield from (draw.action(Api.INIT_PRODUCER_ID, who=who) for who in ids)
    for _ in range(draw.random.randint(3, 6)):
        if draw.happens(0.2):
            yield draw.produce("", transactional=False, wrong=0)
        yield from _transaction(draw, draw.random.choice(ids), implicit)
        yield draw.fetch()
        if draw.happens(0.5):
            yield draw.fetch()
    yield draw.action(Api.FETCH, partition=0, committed_only=True)
    yield draw.action(Api.FETCH, partition=1, committed_only=True)


def _groups(draw: _Draw, implicit: bool) -> Iterator[ScriptAction]:
    ids = ("t0", "t1")[: draw.random.choice((1, 1, 2))]
    made: list[ScriptAction] = [draw.action(Api.INIT_PRODUCER_ID, who=who) for who in ids]
    yield from made
    member = draw.happens(0.3)
    if member:
        yield draw.action(JOIN, instance="i0" if draw.happens(0.4) else "")
    for _ in range(draw.random.randint(4, 9)):
        found = list(_group_step(draw, draw.random.choice(ids), implicit, made, member=member))
        made += found
        yield from found


def _group_step(
    draw: _Draw, who: str, implicit: bool, made: Sequence[ScriptAction], *, member: bool
) -> Iterator[ScriptAction]:
    kind = draw.chosen({"transaction": 50, "commit": 12, "fetch": 12, "copy": 14, "init": 8, "produce": 4})
    commit = {"partition": draw.partition(), "offset": draw.random.randint(0, 20), **_claim(draw, member=member)}
    match kind:
        case "transaction":
            if not (implicit and draw.happens(0.9)) and not draw.happens(0.1):
                yield draw.action(Api.ADD_OFFSETS_TO_TXN, who=who, epoch=draw.delta(0.08, -1, 1))
            for _ in range(draw.random.choice((1, 1, 2))):
                yield draw.action(Api.TXN_OFFSET_COMMIT, who=who, epoch=draw.delta(0.1, -1, 1), **commit)
            if draw.happens(0.2):  # somebody else commits while this is pending
                yield draw.action(Api.OFFSET_COMMIT, **commit | {"offset": draw.random.randint(0, 20)})
            if draw.happens(0.8):
                yield _end(draw, who, 0.08)
        case "commit":
            yield draw.action(Api.OFFSET_COMMIT, **commit)
        case "copy":
            yield from draw.copy(made)
        case "init":
            yield _init(draw, who)
        case "produce":
            yield from _transaction(draw, who, implicit)
        case _:
            yield draw.action(Api.OFFSET_FETCH, committed_only=draw.happens(0.6))


def _claim(draw: _Draw, *, member: bool) -> dict[str, Any]:
    """As whom offsets are committed: nobody or the member, and now and then somebody who may not."""
    claim: dict[str, Any] = {"member": member}
    if draw.happens(0.15):
        claim["stranger"] = True
    if draw.happens(0.15):
        claim["generation"] = draw.random.choice((-1, 1))
    if draw.happens(0.1):
        claim["instance"] = draw.random.choice(("i0", "i1"))
    return claim


def _exhausted(draw: _Draw, implicit: bool) -> Iterator[ScriptAction]:
    """The last epochs of a producer id, and what comes after them."""
    made = [draw.action(Api.INIT_PRODUCER_ID, who="t0"), draw.action(EXHAUST, who="t0", epoch=draw.delta(0.4, -1, -2))]
    yield from made
    for _ in range(draw.random.randint(3, 6)):
        found = list(_transaction(draw, "t0", implicit) if draw.happens(0.6) else _odd(draw, "t0", made[:1]))
        made += found
        yield from found


def _races(draw: _Draw, implicit: bool) -> Iterator[ScriptAction]:
    """A client that does not wait for markers, and a second one over another connection."""
    yield draw.action(Api.INIT_PRODUCER_ID, who="t0")
    for _ in range(draw.random.randint(2, 4)):
        batch = draw.produce("t0", transactional=True, wrong=0)
        if not implicit:
            yield draw.action(Api.ADD_PARTITIONS_TO_TXN, who="t0", partition=batch.partition)
        yield batch
        if draw.happens(0.4):
            yield _end(draw, "t0", 0.0)
            yield replace(_raced(draw, fetches=False), lane=1)  # a fetch reads several things, one after the other
        else:
            yield _end(draw, "t0", 0.0, racy=True)
            for _ in range(draw.random.randint(1, 2)):
                yield replace(_raced(draw), racy=True)
        yield draw.action(SETTLE)
    yield draw.action(Api.FETCH, partition=0, committed_only=True)


def _raced(draw: _Draw, *, fetches: bool = True) -> ScriptAction:
    kind = draw.chosen({"end": 3, "init": 3, "add": 2, "fetch": int(fetches)})
    match kind:
        case "end":
            return _end(draw, "t0", 0.2)
        case "init":
            return _init(draw, "t0")
        case "add":
            return draw.action(Api.ADD_PARTITIONS_TO_TXN, who="t0", partition=draw.partition())
    return draw.fetch()


DRAWS: Final = MappingProxyType(
    {"A": _appends, "B": _transactions, "C": _groups, "D": _reads, "R": _races, "X": _exhausted}
)
"""By the family of sessions."""


# --- directed -------------------------------------------------------------------------------------------------


DIRECTED: Final = "B"
"""The family of the directed scripts."""


def directed() -> tuple[Script, ...]:
    """Scripts that lead to behaviours which chance meets too seldom."""
    listed = (_marker_again(), _first_sequence(), _late_copies(), _next_epoch(), _bumped(), _aborts_nothing())
    return tuple(
        Script(DIRECTED, number, tuple(replace(action, key=key) for key, action in enumerate(actions, 1)))
        for number, actions in enumerate(listed)
    )


def _began(*, epoch: int = 0) -> tuple[ScriptAction, ...]:
    """A transaction with one batch."""
    return (
        ScriptAction(0, Api.INIT_PRODUCER_ID, who="t0"),
        ScriptAction(0, Api.ADD_PARTITIONS_TO_TXN, who="t0", epoch=epoch),
        ScriptAction(0, Api.PRODUCE, who="t0", transactional=True, epoch=epoch),
    )


def _marker_again() -> tuple[ScriptAction, ...]:
    """Markers of the epoch that has just ended, of the one after, and of an older coordinator."""
    end = ScriptAction(0, Api.END_TXN, who="t0")
    marker = ScriptAction(0, Api.WRITE_TXN_MARKERS, who="t0")
    return (*_began(), end, marker, replace(marker, epoch=1), replace(marker, epoch=-1), *_began()[1:], end)


def _first_sequence() -> tuple[ScriptAction, ...]:
    """A producer that the partition does not know begins in the middle, and again after a gap."""
    produce = ScriptAction(0, Api.PRODUCE, who=IDEMPOTENT, sequence=5)
    return (ScriptAction(0, Api.INIT_PRODUCER_ID, who=IDEMPOTENT), produce, replace(produce, sequence=0), produce)


def _late_copies() -> tuple[ScriptAction, ...]:
    """Copies of each of six batches."""
    produced = tuple(ScriptAction(0, Api.PRODUCE, who=IDEMPOTENT, records=2) for _ in range(6))
    copies = tuple(ScriptAction(0, COPY, original=original) for original in (7, 6, 3, 2))
    return (ScriptAction(0, Api.INIT_PRODUCER_ID, who=IDEMPOTENT), *produced, *copies)


def _next_epoch() -> tuple[ScriptAction, ...]:
    """A client ends a transaction with the epoch after its own, and then begins anew."""
    end = ScriptAction(0, Api.END_TXN, who="t0", epoch=1)
    return (*_began(), end, replace(end, epoch=0), ScriptAction(0, Api.INIT_PRODUCER_ID, who="t0"))


def _bumped() -> tuple[ScriptAction, ...]:
    """A new epoch begins with another sequence than 0, and an old one writes after it."""
    initialize = ScriptAction(0, Api.INIT_PRODUCER_ID, who="t0", expects=True)
    produce = ScriptAction(0, Api.PRODUCE, who="t0", transactional=True)
    first = (*_began(), ScriptAction(0, Api.END_TXN, who="t0"), initialize)
    late = replace(produce, epoch=-1)
    return (
        *first,
        late,
        _began()[1],
        replace(produce, sequence=3),
        late,
        produce,
        ScriptAction(0, Api.END_TXN, who="t0"),
    )


def _aborts_nothing() -> tuple[ScriptAction, ...]:
    """A client aborts what it has not begun, twice, and begins a transaction after it."""
    abort = ScriptAction(0, Api.END_TXN, who="t0", commits=False)
    return (
        ScriptAction(0, Api.INIT_PRODUCER_ID, who="t0"),
        abort,
        abort,
        *_began()[1:],
        ScriptAction(0, Api.END_TXN, who="t0"),
    )

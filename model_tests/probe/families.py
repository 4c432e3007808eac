"""Scripts that are drawn: of each family, the same for the same seed."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from model_tests.probe.script import (
    AWAIT,
    BRIEF_MS,
    COPY,
    EXHAUST,
    IDEMPOTENT,
    ILL,
    ILL_INITIALIZED,
    JOIN,
    NEWEST,
    PARTITIONS,
    SETTLE,
    Script,
    ScriptAction,
)
from spec.vocabulary import Api


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

    def ill(self, chance: float, kinds: Sequence[str]) -> str:
        """Mostly nothing that is wrong with the form of a request."""
        return self.random.choice(kinds) if self.happens(chance) else ""

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
        sendable = [each for each in of if each.api not in (COPY, SETTLE, JOIN, AWAIT)]
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
                batch = draw.produce(IDEMPOTENT, transactional=draw.happens(0.03), wrong=0.3)
                found = [replace(batch, both=draw.happens(0.15))]
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
    yield from _all_read(draw, committed_only=False)


def _all_read(draw: _Draw, *, committed_only: bool) -> Iterator[ScriptAction]:
    """Both partitions are read from their beginning."""
    for number in range(PARTITIONS):
        yield draw.action(Api.FETCH, partition=number, committed_only=committed_only)


def _ill_formed(draw: _Draw, batch: ScriptAction) -> ScriptAction:
    """A batch that no client makes."""
    return replace(batch, ill=draw.random.choice(ILL))


def _transaction(draw: _Draw, who: str, implicit: bool) -> Iterator[ScriptAction]:
    """A transaction as a client makes it, with something missing or wrong now and then."""
    wrong = 0.08
    for _ in range(draw.random.choice((1, 1, 1, 2, 0))):
        made = replace(draw.produce(who, transactional=True, wrong=wrong), both=draw.happens(0.15))
        if not (implicit and draw.happens(0.9)) and not draw.happens(0.08):
            added = draw.action(
                Api.ADD_PARTITIONS_TO_TXN, who=who, partition=made.partition, epoch=draw.delta(wrong, -1, 1)
            )
            yield replace(added, both=made.both != draw.happens(0.1))
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
        Api.INIT_PRODUCER_ID,
        who=who,
        expects=draw.happens(0.35),
        epoch=draw.delta(0.3, -1, 1, -2),
        ill="" if racy else draw.ill(0.08, ILL_INITIALIZED),
        racy=racy,
    )


ODD: Final = MappingProxyType(
    {
        "copy": 26,
        "end": 13,
        "init": 14,
        "add": 11,
        "produce": 12,
        "other": 9,
        "markers": 6,
        "list": 3,
        "one": 6,
        "ill": 3,
    }
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
        case "other":
            yield _of_another(draw, who)
        case "markers":
            yield _marker(draw, who)
        case "list":
            yield draw.action(Api.LIST_TRANSACTIONS, who=who)
        case _:
            yield draw.fetch()


OTHER: Final = MappingProxyType({"t0": "t1", "t1": "t0", "t2": "t0"})
"""Another transactional id, which may have been given no identity yet."""


def _of_another(draw: _Draw, who: str) -> ScriptAction:
    """A request of one transactional id with the identity of another, either of which may be unknown."""
    named, of = draw.random.choice(((who, OTHER[who]), (OTHER[who], who)))
    kind = draw.chosen({"end": 3, "add": 3, "produce": 2, "both": 2, "init": 1})
    match kind:
        case "end":
            return replace(_end(draw, named, 0.0), of=of)
        case "add":
            return draw.action(Api.ADD_PARTITIONS_TO_TXN, who=named, of=of, partition=draw.partition())
        case "produce":
            return replace(draw.produce(named, transactional=True, wrong=0), of=of)
        case "both":
            return replace(draw.produce(named, transactional=True, wrong=0), of=of, both=True)
    return replace(_init(draw, named), expects=True, of=of)


def _transactions(draw: _Draw, implicit: bool) -> Iterator[ScriptAction]:
    ids = ("t0", "t1")[: draw.random.choice((1, 1, 2))]
    made: list[ScriptAction] = [draw.action(Api.INIT_PRODUCER_ID, who=who) for who in ids]
    yield from made
    for _ in range(draw.random.randint(3, 7)):
        who = draw.random.choice(ids)
        found = list(_transaction(draw, who, implicit) if draw.happens(0.6) else _odd(draw, who, made))
        made += found
        yield from found
    yield from _all_read(draw, committed_only=True)


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
    yield from _all_read(draw, committed_only=True)


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
    kind = draw.chosen({"transaction": 50, "commit": 12, "fetch": 12, "copy": 12, "init": 7, "produce": 4, "other": 3})
    commit = {
        "partition": draw.partition(),
        "both": draw.happens(0.15),
        "offset": draw.random.randint(0, 20),
        **_claim(draw, member=member),
    }
    match kind:
        case "transaction":
            if not (implicit and draw.happens(0.9)) and not draw.happens(0.1):
                yield draw.action(Api.ADD_OFFSETS_TO_TXN, who=who, epoch=draw.delta(0.08, -1, 1))
            for _ in range(draw.random.choice((1, 1, 2))):
                yield draw.action(Api.TXN_OFFSET_COMMIT, who=who, epoch=draw.delta(0.1, -1, 1), **commit)
            if draw.happens(0.2):  # another client commits while this is pending
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
        case "other":
            api = draw.random.choice((Api.ADD_OFFSETS_TO_TXN, Api.TXN_OFFSET_COMMIT))
            yield draw.action(api, who=who, of=OTHER[who], **commit)
        case _:
            yield draw.action(Api.OFFSET_FETCH, committed_only=draw.happens(0.6))


def _claim(draw: _Draw, *, member: bool) -> dict[str, Any]:
    """As whom offsets are committed: without a member, as the member, and now and then as one that may not."""
    claim: dict[str, Any] = {"member": member}
    if draw.happens(0.15):
        claim["stranger"] = True
    if draw.happens(0.15):
        claim["generation"] = draw.random.choice((-1, 1))
    if draw.happens(0.1):
        claim["instance"] = draw.random.choice(("i0", "i1"))
    return claim


def _exhausted(draw: _Draw, implicit: bool) -> Iterator[ScriptAction]:
    """The last epochs of a producer id, and what comes after them; the very last is a coordinator's alone."""
    made = [draw.action(Api.INIT_PRODUCER_ID, who="t0"), draw.action(EXHAUST, who="t0", epoch=draw.delta(0.4, -1, -2))]
    yield from made
    ahead = 0
    for _ in range(draw.random.randint(3, 6)):
        found = list(_transaction(draw, "t0", implicit) if draw.happens(0.6) else _odd(draw, "t0", made[:1]))
        yield from (_with_epoch(each, ahead) for each in found)
        made += found
        if draw.happens(0.15):  # the coordinator fences, and a client continues with the fencing epoch
            yield _init(draw, "t0")
            ahead = 1


def _with_epoch(action: ScriptAction, ahead: int) -> ScriptAction:
    """A step of a transaction with an epoch that is so much further."""
    moved = (Api.PRODUCE, Api.ADD_PARTITIONS_TO_TXN, Api.END_TXN)
    return replace(action, epoch=action.epoch + ahead) if action.api in moved else action


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


def _timeouts(draw: _Draw, implicit: bool) -> Iterator[ScriptAction]:
    """A transaction that times out, with another one beside it or not, and what comes after it."""
    made = [draw.action(Api.INIT_PRODUCER_ID, who="t0", timeout_ms=BRIEF_MS)]
    beside = draw.happens(0.5)
    made += [draw.action(Api.INIT_PRODUCER_ID, who="t1")] if beside else []
    for who in ("t0", "t1") if beside else ("t0",):
        batch = replace(draw.produce(who, transactional=True, wrong=0), both=draw.happens(0.3))
        if not implicit:
            made.append(
                replace(draw.action(Api.ADD_PARTITIONS_TO_TXN, who=who, partition=batch.partition), both=batch.both)
            )
        made.append(batch)
    yield from made
    yield draw.action(AWAIT, who="t0")
    for _ in range(draw.random.randint(2, 5)):
        if draw.happens(0.5):
            yield from _odd(draw, "t0", made)
        else:
            yield from _transaction(draw, "t0", implicit)
    if beside:
        yield _end(draw, "t1", 0.0)
    yield from _all_read(draw, committed_only=True)


DRAWS: Final = MappingProxyType(
    {
        "A": _appends,
        "B": _transactions,
        "C": _groups,
        "D": _reads,
        "R": _races,
        "T": _timeouts,
        "X": _exhausted,
    }
)
"""By the family of sessions."""

"""Chains on Spark: the steps of a trace on one key, in order, each with what the one before it left.

A step is on several keys at once: its producer's on a partition, the log's of a replica, its transactional id's at a
node. It becomes one narrow row for each, so that one sort by trace and key, and one look back, serve every link rule.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any, Final, NamedTuple, TypeAlias

from model_tests.judging import coordinator_links, follower_links, join_links, links, log_links, place_links
from model_tests.judging.compiled import Compiled, compiled
from model_tests.judging.coordinator_links import (
    COMPLETING_LINK,
    COMPLETING_LINKS,
    ID_LINK,
    ID_LINKS,
    NEW_ID_LINK,
    NEW_ID_LINKS,
    OPEN_LINK,
    OPEN_LINKS,
    SEARCH_LINK,
    SEARCH_LINKS,
)
from model_tests.judging.follower_links import FOLLOWER_LINK, FOLLOWER_LINKS
from model_tests.judging.join_links import DECIDED_LINK, DECIDED_LINKS, MARKED_LINK, MARKED_LINKS
from model_tests.judging.links import LINKS, LinkRule, linked
from model_tests.judging.log_links import LOG_LINK, LOG_LINKS
from model_tests.judging.place_links import PLACE_LINK, PLACE_LINKS
from model_tests.judging.replication_verdicts import of_replication
from model_tests.judging.step_link import StepLink
from model_tests.judging.verdicts import LINK, verdict_columns
from model_tests.traces.schema import BY_NAME, Row
from reference.recording.trace import ColumnType
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.judging.judge import RuleCheck
from spec.readings.formulas import Sheet, columns_read
from spec.readings.row_values import Element, GuardedValue, Integers, NamedValues, Value
from spec.vocabulary import ABSENT

ITSELF: Final = 0
"""The row that is the step itself, on no chain."""
OF_REPLICATION: Final = -1
"""The row of a step that leader, follower or controller is also judged by."""

CHAIN: Final = "chain"
OF_KEY: Final = "key"
KEY: Final = (OF_KEY, "trace", CHAIN)
"""Columns that distinguish one chain from another.

What a chain's key consists of, texts and integers, is one integer of 64 bits: of a thousand chains in a trace two would
have the same in one of 3 * 10^13 traces.
"""

NOTHING: Final = GuardedValue(False, Integers(()))
"""The value of a step that leaves or finds nothing."""

NO_MARK: Final = GuardedValue(False, ABSENT)
"""The mark of a step that leaves none."""

Rows: TypeAlias = Iterator[tuple[Term, NamedValues]]
"""Whether a step is on a chain, and the row that it becomes there."""

AT: Final = "at"
"""The column by which the rows of a chain are sorted; those alike, by step."""
MARK: Final = "mark"
"""The column that a row leaves to all that follow it on its chain."""
LATEST: Final = "latest"
"""The column that holds the latest mark before a row."""

LEFT, FOUND, PREVIOUS = "left", "found", "previous"
"""The columns that hold what a step leaves, what it finds, and what the one before it on its chain left."""

_EARLIER: Final = ("previous_", "accepted_")
HAS_PREVIOUS: Final = "has_previous"
"""The column that is true where a step came before on the chain."""

_OF_CHAIN: Final = frozenset(
    ("faults", "previous_faults", "accepted_faults", HAS_PREVIOUS, "handed_out_before", LATEST)
)
"""The columns that a link reads and no single step has."""

AnyLink = LinkRule | StepLink
Scalar = Callable[[str], Term]


@dataclass(frozen=True, slots=True)
class Chain:
    """The steps on one kind of key, and the links between them.

    Attributes:
        kind: of its verdicts.
        members: whether a step is on such a key.
        texts: columns of the key that hold text, after the trace.
        numbers: columns of the key that hold integers.
        drawn: an integer of the key that is computed from columns, if there is one.
        mark: whether a step leaves a mark to all that follow, and which.
        leaves: whether a step leaves anything to the next; after one that does not, the chain begins anew.
    """

    kind: str
    links: tuple[AnyLink, ...]
    members: Callable[[Scalar], Term]
    texts: tuple[str, ...]
    numbers: tuple[str, ...]
    drawn: Callable[[Scalar], Term] | None = None
    mark: Callable[[Scalar], tuple[Term, Term]] = lambda _: (False, ABSENT)
    leaves: Callable[[Scalar], Term] = lambda _: True

    @property
    def found(self) -> tuple[str, ...]:
        """Columns of a step that its links look at."""
        return tuple(name for name in self.read if not name.startswith(_EARLIER))

    @property
    def left(self) -> tuple[str, ...]:
        """Columns of the step before that its links look at, named as the links do."""
        return tuple(name for name in self.read if name.startswith(_EARLIER))

    @property
    def read(self) -> list[str]:
        """Every column that its links look at."""
        columns: frozenset[str] = frozenset()
        return sorted(columns.union(*(link.columns for link in self.links)) - _OF_CHAIN)

    def checks(self, scalar: Scalar) -> tuple[RuleCheck, ...]:
        """The checks of a step, with the values that `scalar` gives for its columns and those of the step before."""
        return tuple(check_of(link, scalar) for link in self.links)


def check_of(link: AnyLink, scalar: Scalar) -> RuleCheck:
    """The check of the link on a step."""
    return link.check(linked(scalar)) if isinstance(link, LinkRule) else link.check(scalar)


def _is_batch_or_break(of: Scalar) -> Term:
    batch = all_of(of("appended"), negate(of("control")))
    return all_of(links.on_key(of), any_of(batch, links.breaks_sequences(of)))


_STATE, _BATCHES, _LOG, _ID, _IDENTITY, _FOLLOWER, _PLACE, _NEW_ID, _OPEN, _COMPLETING, _DECIDED, _MARKED, _SEARCH = (
    range(1, 14)
)

CHAINS: Final[Mapping[int, Chain]] = {
    _STATE: Chain(LINK, LINKS[1:], links.on_key, ("node", "topic"), ("partition", "producer_id")),
    _BATCHES: Chain(
        LINK,
        LINKS[:1],
        _is_batch_or_break,
        ("node", "topic"),
        ("partition", "producer_id"),
        leaves=lambda of: negate(links.breaks_sequences(of)),
    ),
    _LOG: Chain(LOG_LINK, LOG_LINKS, log_links.on_log, ("node", "topic"), ("partition",)),
    _ID: Chain(ID_LINK, ID_LINKS[:1], coordinator_links.on_id, ("node", "transactional_id"), ()),
    _IDENTITY: Chain(
        ID_LINK,
        ID_LINKS[1:],
        lambda of: all_of(coordinator_links.on_id(of), coordinator_links.hands_out(of)),
        ("transactional_id",),
        ("reply_producer_id", "reply_epoch"),
    ),
    _FOLLOWER: Chain(
        FOLLOWER_LINK,
        FOLLOWER_LINKS,
        follower_links.on_follower,
        ("node", "topic"),
        ("partition", "broker"),
    ),
    _PLACE: Chain(PLACE_LINK, PLACE_LINKS, place_links.on_place, ("topic",), ("partition", "first_offset")),
    _NEW_ID: Chain(
        NEW_ID_LINK,
        NEW_ID_LINKS,
        coordinator_links.draws_id,
        (),
        (),
        drawn=coordinator_links.drawn_id,
    ),
    _OPEN: Chain(
        OPEN_LINK,
        OPEN_LINKS,
        coordinator_links.changes_id,
        ("transactional_id",),
        (),
    ),
    _COMPLETING: Chain(
        COMPLETING_LINK,
        COMPLETING_LINKS,
        lambda of: any_of(coordinator_links.begins_completing(of), coordinator_links.completes(of)),
        ("node", "transactional_id"),
        (),
        leaves=coordinator_links.begins_completing,
    ),
    _DECIDED: Chain(
        DECIDED_LINK,
        DECIDED_LINKS,
        join_links.on_decided,
        (),
        (),
        drawn=join_links.decided_id,
        mark=lambda of: (join_links.decides(of), join_links.decision(of)),
    ),
    _MARKED: Chain(
        MARKED_LINK,
        MARKED_LINKS,
        join_links.on_marked,
        ("topic",),
        ("partition",),
        drawn=join_links.marked_id,
        leaves=lambda of: negate(join_links.answers(of)),
    ),
    _SEARCH: Chain(SEARCH_LINK, SEARCH_LINKS, coordinator_links.looks_for_timeouts, ("node", "transactional_id"), ()),
}
"""Every chain by its number."""


def itself(sheet: Sheet) -> NamedValues:
    """The row that is the step itself."""
    return row_of_chain(ITSELF, sheet.column("step"), sheet.column("step"))


def rows_of_step(sheet: Sheet) -> Rows:
    """Whether the step is on each chain, and the row that it becomes there."""
    yield of_replication(sheet.column), row_of_chain(OF_REPLICATION, sheet.column("step"), sheet.column("step"))
    for number in CHAINS:
        yield _row_on(number, sheet)


def row_on_log(sheet: Sheet) -> tuple[Term, NamedValues]:
    """Whether the step is on the log of a replica, and its row there."""
    return _row_on(_LOG, sheet)


def row_at_place(sheet: Sheet) -> tuple[Term, NamedValues]:
    """Whether the step is of a batch at a place of a partition's log, and its row there."""
    return _row_on(_PLACE, sheet)


def _row_on(number: int, sheet: Sheet) -> tuple[Term, NamedValues]:
    chain, of = CHAINS[number], sheet.column
    drawn = () if chain.drawn is None else (chain.drawn(of),)
    key = sheet.hashed(of("trace"), number, *map(of, (*chain.texts, *chain.numbers)), *drawn)
    left = GuardedValue(chain.leaves(of), _integers(sheet, map(_bare, chain.left)))
    found, mark = _integers(sheet, chain.found), GuardedValue(*chain.mark(of))
    return chain.members(of), row_of_chain(number, key, of("step"), left=left, found=found, mark=mark)


def row_of_chain(
    number: int,
    key: Term,
    at: Term,
    left: Value = NOTHING,
    found: Value = NOTHING,
    mark: Value = NO_MARK,
) -> NamedValues:
    """A row of a chain.

    Args:
        number: of the chain.
        key: by which it is distinguished from other chains of the trace.
        at: by what the chain is sorted.
        left: what the step leaves to the next on the chain.
        found: what the step finds.
        mark: what it leaves to all that follow.
    """
    return NamedValues({CHAIN: number, OF_KEY: key, LEFT: left, FOUND: found, AT: at, MARK: mark})


def _integers(sheet: Sheet, columns: Iterable[str]) -> Integers:
    return Integers(tuple(integer(sheet, name) for name in columns))


def integer(sheet: Sheet, name: str) -> Term:
    """A column of integers or facts, a fact as 0 or 1."""
    value = sheet.column(name)
    return choose(value, 1, 0) if BY_NAME[name].kind is ColumnType.BOOLEAN else value


def link_results(sheet: Sheet) -> Iterator[tuple[Term, dict[str, Term]]]:
    """For each chain, whether a row is on it, and the links' verdict on the row."""
    for number, chain in CHAINS.items():
        verdict = verdict_columns(ABSENT, chain.checks(_named(sheet, number)), sheet, chain.kind)
        yield sheet.column(CHAIN) == number, verdict


def _named(sheet: Sheet, number: int) -> Scalar:
    has_previous = sheet.column(HAS_PREVIOUS)
    since = choose(has_previous, 0, ABSENT)
    of_chain = dict.fromkeys((HAS_PREVIOUS, "handed_out_before"), has_previous)
    of_chain[LATEST] = sheet.column(LATEST)
    of_chain |= {"faults": sheet.constant(0), "previous_faults": since, "accepted_faults": since}
    read = frozenset(CHAINS[number].read)

    def scalar(name: str) -> Any:
        if name in read:
            return sheet.column(_column(number, name))
        return of_chain[name] if name in of_chain else sheet.constant(BY_NAME[_bare(name)].absent)

    return scalar


def _column(number: int, name: str) -> str:
    return f"of_{number}_{name}"


def _bare(name: str) -> str:
    return next((name.removeprefix(prefix) for prefix in _EARLIER if name.startswith(prefix)), name)


def elements() -> Iterator[tuple[str, Element]]:
    """The places in a row of what the links read: in what the step finds, and in what the step before left."""
    for number, chain in CHAINS.items():
        for array, names in ((FOUND, chain.found), (PREVIOUS, chain.left)):
            for at, name in enumerate(names):
                column = BY_NAME[_bare(name)]
                yield _column(number, name), Element(array, at, column.kind is ColumnType.BOOLEAN, ABSENT)


def of_kind(kind: str) -> tuple[AnyLink, ...]:
    """The links whose verdicts are of this kind."""
    return reduce(lambda found, chain: (*found, *chain.links), (c for c in CHAINS.values() if c.kind == kind), ())


# --- single steps ---------------------------------------------------------------------------------------------------


class OnChain(NamedTuple):
    """What a step is on a chain.

    Attributes:
        key: of the chain.
        leaves: whether the step leaves anything to the next.
        mark: that it leaves to all that follow, -1 for none.
    """

    key: tuple[Any, ...]
    leaves: bool
    mark: int


BY_KIND: Final[Mapping[str, Chain]] = {
    chain.kind: chain for chain in CHAINS.values() if chain.kind not in (LINK, ID_LINK)
}
"""The chains whose links alone are of their kind."""


def on_chain(kind: str, row: Row) -> OnChain | None:
    """What a step is on the chain of a kind; None where it is on none.

    Args:
        kind: of `BY_KIND`.
        row: the step.
    """
    return dict(chains_of(row)).get(kind)


def chains_of(row: Row) -> Iterator[tuple[str, OnChain]]:
    """The kinds of chains that a step is on, each with what it is there."""
    for (kind, chain), is_member in zip(BY_KIND.items(), _memberships()(row), strict=True):
        if is_member:
            leaves, marks, mark, *drawn = _place_on(kind)(row)
            key = (row["trace"], *(row[name] for name in (*chain.texts, *chain.numbers)), *drawn)
            yield kind, OnChain(key, bool(leaves), mark if marks else ABSENT)


def read_on_chain(kind: str) -> frozenset[str]:
    """The columns on which it depends what a step is on the chain of a kind."""
    chain, of = BY_KIND[kind], Sheet().column
    drawn = () if chain.drawn is None else (chain.drawn(of),)
    read = columns_read(chain.members(of), chain.leaves(of), *chain.mark(of), *drawn)
    return read | {"trace", *chain.texts, *chain.numbers}


@cache
def _memberships() -> Compiled:
    """Whether a step is on the chain of each kind."""
    of = Sheet().column
    return compiled({kind: chain.members(of) for kind, chain in BY_KIND.items()})


@cache
def _place_on(kind: str) -> Compiled:
    """Of a member of the chain whether it leaves anything, whether it leaves a mark, which, and what is drawn."""
    chain, of = BY_KIND[kind], Sheet().column
    marks, mark = chain.mark(of)
    values = {"leaves": chain.leaves(of), "marks": marks, "mark": mark}
    return compiled(values if chain.drawn is None else {**values, "drawn": chain.drawn(of)})

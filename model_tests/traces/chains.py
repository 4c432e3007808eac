"""Chains on Spark: the steps of a trace on one key, in order, each with what the one before it left.

A step is on several keys at once: its producer's on a partition, the log's of a replica, its transactional id's at a
node. It becomes one narrow row for each, so that one sort by trace and key, and one look back, serve every link rule.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import pyspark.sql.functions as F
from pyspark.sql import Column

from model_tests.traces import coordinator_links, follower_links, links, log_links, place_links
from model_tests.traces.coordinator_links import ID_LINK, ID_LINKS, NEW_ID_LINK, NEW_ID_LINKS
from model_tests.traces.follower_links import FOLLOWER_LINK, FOLLOWER_LINKS
from model_tests.traces.formulas import Sheet
from model_tests.traces.judged_column import Element
from model_tests.traces.links import LINKS, Link, linked
from model_tests.traces.log_links import LOG_LINK, LOG_LINKS
from model_tests.traces.place_links import PLACE_LINK, PLACE_LINKS
from model_tests.traces.replication_verdicts import IS_OF_REPLICATION
from model_tests.traces.schema import BY_NAME
from model_tests.traces.step_link import StepLink
from model_tests.traces.verdicts import LINK, verdict_columns
from reference.trace import Kind
from spec.algebra import Term, choose
from spec.protocol.judge import Check
from spec.vocabulary import ABSENT

ITSELF: Final = 0
"""The row that is the step itself, on no chain."""
OF_REPLICATION: Final = -1
"""The row of a step that leader, follower or controller is also judged by."""

CHAIN: Final = "chain"
_TEXTS: Final = ("text_0", "text_1")
_NUMBERS: Final = ("number_0", "number_1")
KEY: Final = ("trace", CHAIN, *_TEXTS, *_NUMBERS)
"""Columns that tell one chain from another."""

AT: Final = "at"
"""The column by which the rows of a chain are sorted; those alike, by step."""
MARK: Final = "mark"
"""The column that a row leaves to all that follow it on its chain."""

_EARLIER: Final = ("previous_", "accepted_")
HAS_PREVIOUS: Final = "has_previous"
"""The column that says whether a step came before on the chain."""

_OF_CHAIN: Final = frozenset(("faults", "previous_faults", "accepted_faults", HAS_PREVIOUS, "handed_out_before"))
"""What a link reads that no single step has."""

AnyLink = Link | StepLink
Scalar = Callable[[str], Term]


@dataclass(frozen=True, slots=True)
class Chain:
    """The steps on one kind of key, and the links between them.

    Attributes:
        kind: of its verdicts.
        members: whether a step is on such a key.
        texts: columns of the key that hold text, after the trace.
        numbers: columns of the key that hold integers.
        leaves: whether a step leaves anything to the next; after one that does not, the chain begins anew.
    """

    kind: str
    links: tuple[AnyLink, ...]
    members: Callable[[], Column]
    texts: tuple[str, ...]
    numbers: tuple[str, ...]
    leaves: Callable[[], Column] = lambda: F.lit(True)

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

    def checks(self, scalar: Scalar) -> tuple[Check, ...]:
        """What a step is held against, its columns and those of the step before being what `scalar` says."""
        return tuple(check_of(link, scalar) for link in self.links)


def check_of(link: AnyLink, scalar: Scalar) -> Check:
    """What the link holds a step against."""
    return link.check(linked(scalar)) if isinstance(link, Link) else link.check(scalar)


def _is_batch_or_fault() -> Column:
    return F.expr(f"({links.ON_KEY}) and ((appended and not control) or origin < 0)")


_STATE, _BATCHES, _LOG, _ID, _IDENTITY, _FOLLOWER, _PLACE, _NEW_ID = range(1, 9)

CHAINS: Final[Mapping[int, Chain]] = {
    _STATE: Chain(LINK, LINKS[1:], lambda: F.expr(links.ON_KEY), ("node", "topic"), ("partition", "producer_id")),
    _BATCHES: Chain(
        LINK,
        LINKS[:1],
        _is_batch_or_fault,
        ("node", "topic"),
        ("partition", "producer_id"),
        leaves=lambda: F.expr("origin >= 0"),
    ),
    _LOG: Chain(LOG_LINK, LOG_LINKS, lambda: F.expr(log_links.ON_LOG), ("node", "topic"), ("partition",)),
    _ID: Chain(ID_LINK, ID_LINKS[:1], lambda: F.expr(coordinator_links.ON_ID), ("node", "transactional_id"), ()),
    _IDENTITY: Chain(
        ID_LINK,
        ID_LINKS[1:],
        lambda: F.expr(coordinator_links.ON_ID) & coordinator_links.hands_out(F.col),
        ("transactional_id",),
        ("reply_producer_id", "reply_epoch"),
    ),
    _FOLLOWER: Chain(
        FOLLOWER_LINK,
        FOLLOWER_LINKS,
        lambda: F.expr(follower_links.ON_FOLLOWER),
        ("node", "topic"),
        ("partition", "broker"),
    ),
    _PLACE: Chain(
        PLACE_LINK, PLACE_LINKS, lambda: F.expr(place_links.ON_PLACE), ("topic",), ("partition", "first_offset")
    ),
    _NEW_ID: Chain(
        NEW_ID_LINK,
        NEW_ID_LINKS,
        lambda: F.coalesce(coordinator_links.hands_out_new_id(F.col), F.lit(False)),
        (),
        ("reply_producer_id",),
    ),
}
"""Every chain by its number."""

_NONE: Final = Chain("", (), lambda: F.lit(True), (), ())


def itself() -> Column:
    """The row that is the step itself."""
    return _row(ITSELF, _NONE)


def rows_of_step(fit: Column) -> tuple[Column, ...]:
    """A row for each chain that the step is on if it is fit; null for the other chains."""
    of_chains = (_row_on(number, fit) for number in CHAINS)
    return (F.when(fit & F.expr(IS_OF_REPLICATION), _row(OF_REPLICATION, _NONE)), *of_chains)


def row_on_log(fit: Column) -> Column:
    """The step's row on the log of a replica; null where it is at none."""
    return _row_on(_LOG, fit)


def row_at_place(fit: Column) -> Column:
    """The step's row at a place of a partition's log; null where it is of no batch."""
    return _row_on(_PLACE, fit)


def _row_on(number: int, fit: Column) -> Column:
    return F.when(fit & CHAINS[number].members(), _row(number, CHAINS[number]))


def _row(number: int, chain: Chain) -> Column:
    texts, numbers = map(F.col, chain.texts), map(F.col, chain.numbers)
    left = F.when(chain.leaves(), _integers(map(_bare, chain.left)))
    return row_of_chain(number, texts, numbers, left=left, found=_integers(chain.found))


def row_of_chain(
    number: int,
    texts: Iterable[Column],
    numbers: Iterable[Column],
    left: Column | None = None,
    found: Column | None = None,
    at: Column | None = None,
    mark: Column | None = None,
) -> Column:
    """A row of a chain: its key, what the step leaves and finds, by what it is sorted there, and its mark.

    Args:
        number: of the chain.
        texts: of its key, at most two.
        numbers: of its key, at most two.
        left: what the step leaves to the next on the chain; none if nothing.
        found: what the step finds; none if nothing.
        at: by what the chain is sorted; by the step's number if none.
        mark: what it leaves to all that follow.
    """
    no_values = F.lit(None).cast("array<bigint>")
    return F.struct(
        F.lit(number).cast("bigint").alias(CHAIN),
        *_padded(texts, _TEXTS, F.lit("")),
        *_padded(numbers, _NUMBERS, F.lit(ABSENT).cast("bigint")),
        (no_values if left is None else left).alias("left"),
        (no_values if found is None else found).alias("found"),
        (F.col("step") if at is None else at.cast("bigint")).alias(AT),
        (F.lit(None) if mark is None else mark).cast("bigint").alias(MARK),
    )


def _padded(columns: Iterable[Column], names: tuple[str, ...], absent: Column) -> Iterable[Column]:
    given = [F.coalesce(column, absent) for column in columns]
    padding = [absent] * (len(names) - len(given))
    return (column.alias(name) for column, name in zip((*given, *padding), names, strict=True))


def _integers(columns: Iterable[str]) -> Column:
    return F.array(*(F.col(name).cast("bigint") for name in columns)).cast("array<bigint>")


def link_results(sheet: Sheet) -> Iterator[tuple[Term, dict[str, Term]]]:
    """For each chain, what says that a row is on it, and what the links say of the row."""
    for number, chain in CHAINS.items():
        verdict = verdict_columns(ABSENT, chain.checks(_named(sheet, number)), sheet, chain.kind)
        yield sheet.column(CHAIN) == number, verdict


def _named(sheet: Sheet, number: int) -> Scalar:
    has_previous = sheet.column(HAS_PREVIOUS)
    since = choose(has_previous, 0, ABSENT)
    of_chain = dict.fromkeys((HAS_PREVIOUS, "handed_out_before"), has_previous)
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
    """Where what the links read stands in a row: in what the step finds, and in what the one before it left."""
    for number, chain in CHAINS.items():
        for array, names in (("found", chain.found), ("previous", chain.left)):
            for at, name in enumerate(names):
                column = BY_NAME[_bare(name)]
                yield _column(number, name), Element(array, at, column.kind is Kind.BOOLEAN, ABSENT)


def of_kind(kind: str) -> tuple[AnyLink, ...]:
    """The links whose verdicts are of this kind."""
    return reduce(lambda found, chain: (*found, *chain.links), (c for c in CHAINS.values() if c.kind == kind), ())

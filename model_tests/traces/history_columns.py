"""Group rules of what clients tell, on Spark: rows of chains beside those of the link rules, in the same one plan."""

from collections.abc import Iterator
from typing import Final

import pyspark.sql.functions as F
from pyspark.sql import Column

from model_tests.traces import chains
from model_tests.traces.formulas import Sheet
from model_tests.traces.history_links import (
    COLUMN_OF,
    HISTORY,
    HISTORY_CHAINS,
    NAMES,
    TELLINGS,
    HistoryChain,
    begins_anew,
    check_of_history,
)
from model_tests.traces.judged_column import Element
from model_tests.traces.reading_spark import literal
from model_tests.traces.schema import BY_NAME
from model_tests.traces.verdicts import verdict_columns
from reference.trace import Kind
from spec.algebra import Term
from spec.protocol.judge_history import NOBODY, Telling, Told
from spec.vocabulary import ABSENT

TELLING: Final = "telling"
TOLD: Final = "told"
PREVIOUS: Final = "previous_told"
LATEST: Final = "latest"

NULLABLE: Final = frozenset(("delivered",))
"""Columns of which it matters whether they say anything."""

_FIELDS: Final = (TELLING, *COLUMN_OF)
_OF_NODES: Final = frozenset((Telling.ANSWERED, Telling.LISTED))
_ASKED: Final = frozenset((Telling.ASKED,))
_OF_CLIENTS: Final = frozenset(Telling) - _OF_NODES - _ASKED
_BOOLEANS: Final = frozenset(
    name for name, column in COLUMN_OF.items() if name not in NAMES and BY_NAME[column].kind is Kind.BOOLEAN
)


def telling() -> Column:
    """What a step tells, absent where nothing.

    A request tells something only if it is of a client's transaction, a batch that was read only if it is said whether
    the application was given it.
    """
    apis = {value: [api for api, told in TELLINGS.items() if told is value] for value in set(TELLINGS.values())}
    found = F.lit(ABSENT).cast("bigint")
    for value, names in apis.items():
        is_it = F.col("api").isin(*names)
        if value in _ASKED:
            is_it &= F.col("transaction") >= 0
        if value is Telling.TAKEN:
            is_it &= F.col("delivered").isNotNull()
        found = F.when(is_it, literal(value.value)).otherwise(found)
    return found.alias(TELLING)


def told() -> Column:
    """What a step tells, as integers in the order of the fields of `Told`; null where nothing."""
    return F.when(F.col(TELLING) >= 0, F.array(F.col(TELLING), *(_integer(name) for name in COLUMN_OF)))


def _integer(name: str) -> Column:
    value = F.col(COLUMN_OF[name])
    if name in NAMES:
        return F.when(F.coalesce(value, F.lit("")) == "", literal(NOBODY)).otherwise(F.xxhash64(value))
    if name == "batch_count":  # nobody says whether its batches were given
        value = F.when(F.col("delivered").isNotNull(), value)
    return F.coalesce(value.cast("bigint"), literal(0 if name in _BOOLEANS else ABSENT))


def anew() -> Column:
    """1 where a reader begins anew."""
    return F.when(F.coalesce(begins_anew(F.col), F.lit(False)), F.lit(1)).otherwise(F.lit(0))


MOST_ROWS: Final = 2 + len(chains.CHAINS) + len(HISTORY_CHAINS)
"""More rows than any step becomes: itself, its verdict as a step of replication, and every chain."""


def rows_of_step(fit: Column) -> Column:
    """The step itself and a row for each chain that it is on: an array, null for the other chains.

    A client's step is on no chain of nodes but that of a place in the log, a node's answer to a reader on its log's
    alone.
    """
    of_clients = F.array(chains.itself(), chains.row_at_place(fit), *_rows(fit, _OF_CLIENTS))
    of_readers = F.array(chains.itself(), chains.row_on_log(fit), *_rows(fit, _OF_NODES))
    of_nodes = F.array(chains.itself(), *chains.rows_of_step(fit), *_rows(fit, _ASKED))
    by_client = F.col(TELLING).isin(*(each.value for each in _OF_CLIENTS))
    by_reader = F.col(TELLING).isin(*(each.value for each in _OF_NODES))
    return F.when(by_client, of_clients).when(by_reader, of_readers).otherwise(of_nodes)


def _rows(fit: Column, tellings: frozenset[Telling]) -> Iterator[Column]:
    for number, chain in HISTORY_CHAINS.items():
        here = tellings & chain.tellings
        if here:
            is_on = F.col(TELLING).isin(*(each.value for each in here)) & _present(chain.members(F.col))
            yield F.when(fit & is_on, _row(number, chain))


def _present(fact: Column) -> Column:
    return F.coalesce(fact, F.lit(False))


def _row(number: int, chain: HistoryChain) -> Column:
    texts = [text(F.col) if callable(text) else F.col(text) for text in chain.texts]
    marks, mark = chain.mark(F.col)
    left = F.when(literal(marks), literal(mark))
    return chains.row_of_chain(number, texts, map(F.col, chain.numbers), at=chain.at(F.col), mark=left)


def is_history() -> Column:
    """Whether a row is on a chain of what clients tell."""
    return F.col(chains.CHAIN) >= min(HISTORY_CHAINS)


def is_in_session() -> Column:
    """Whether a row is on a chain that ends where a reader begins anew."""
    return F.col(chains.CHAIN).isin(*(number for number, chain in HISTORY_CHAINS.items() if chain.in_session))


def elements() -> Iterator[tuple[str, Element]]:
    """Where what the rules read stands in a row: in the telling, and in the one before with `previous_`."""
    for prefix, array in (("", TOLD), ("previous_", PREVIOUS)):
        for at, name in enumerate(_FIELDS):
            yield _column(f"{prefix}{name}"), Element(array, at, name in _BOOLEANS, getattr(Told(), name))


def _column(name: str) -> str:
    return LATEST if name == LATEST else f"of_history_{name}"


def history_results(sheet: Sheet) -> Iterator[tuple[Term, dict[str, Term]]]:
    """For each chain, what says that a row is on it, and what the rules say of the row."""
    for number, chain in HISTORY_CHAINS.items():
        checks = [check_of_history(link, lambda name: sheet.column(_column(name))) for link in chain.links]
        yield sheet.column(chains.CHAIN) == number, verdict_columns(ABSENT, checks, sheet, HISTORY)

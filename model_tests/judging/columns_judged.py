"""Which columns the judgement of a step reads: derived from the formulas themselves, and not listed."""

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from model_tests.judging import coordinator_links, histories, inferred_faults, links, log_links
from model_tests.judging.chains import chains_of, of_kind, read_on_chain
from model_tests.judging.coordinator_links import ID_LINK, hands_out
from model_tests.judging.coordinator_verdicts import as_recorded, is_coordinators
from model_tests.judging.history_links import (
    COLUMN_OF,
    EVENT_KINDS,
    HISTORY_CHAINS,
    begins_anew,
    check_of_history,
)
from model_tests.judging.replication_verdicts import is_of_replication
from model_tests.judging.replication_verdicts import judged as of_replication
from model_tests.judging.step_assumptions import fault_of
from model_tests.judging.verdicts import LINK, REFUSED, judged, verdict_columns
from model_tests.traces.schema import BY_NAME, Row, coordinator_step_of, step_of
from spec.algebra import Term
from spec.judging.judge_coordinator import judge as judge_coordinator
from spec.judging.judge_history import EventKind
from spec.readings.formulas import Sheet, columns_read
from spec.versions import PROFILES

WHICH: Final = frozenset(("api", "profile", "transaction_version", "origin"))
"""The columns that select the decision by which a step is judged."""

_EARLIER: Final = ("previous_", "accepted_")


def columns_judged(row: Row) -> frozenset[str]:
    """The columns of a step on which any verdict on it, or on a later step, depends; none where it is not judged."""
    read = frozenset[str]().union(*_read(row))
    return read | WHICH if read else read


def columns_of_step(row: Row) -> frozenset[str]:
    """The columns by which a step is judged alone; none where only other steps and histories say something of it."""
    return frozenset[str]().union(*_read_alone(row))


def _read_alone(row: Row) -> Iterator[frozenset[str]]:
    if row["origin"] >= 0:
        yield _of_append(row["profile"])
    elif is_coordinators(row):
        yield _of_coordinator(row["api"], row["profile"], row["transaction_version"])
    if is_of_replication(row):
        yield _of_replication(row["api"], row["profile"])


def _read(row: Row) -> Iterator[frozenset[str]]:
    yield from _read_alone(row)
    if log_links.is_on_log(row) and row["producer_id"] >= 0:
        yield _of_links(LINK) | frozenset(links.KEY)
    if coordinator_links.is_on_id(row):
        yield _of_links(ID_LINK) | frozenset((*coordinator_links.AT_NODE, *coordinator_links.IDENTITY))
    for kind, _ in chains_of(row):
        yield _of_links(kind) | _read_on_chain(kind)
    event = EVENT_KINDS.get(row["api"])
    if event is not None:
        yield _of_event(event)
    if fault_of(row.__getitem__):
        yield columns_read(fault_of(Sheet().column))


@cache
def columns_of_histories() -> frozenset[str]:
    """The columns that any verdict on client events depends on: the faults of a trace among them."""
    reported = (_of_event(event) for event in EventKind)
    return frozenset[str]().union(
        *reported, columns_read(fault_of(Sheet().column)), histories.READ, inferred_faults.READ
    )


@cache
def _of_append(profile: str) -> frozenset[str]:
    sheet = Sheet()
    expected, checks = judged(step_of(sheet.column), PROFILES[profile], sheet.column(REFUSED))
    return columns_read(*verdict_columns(expected.branch, checks, sheet, "").values())


@cache
def _of_coordinator(api: str, profile: str, transaction_version: int) -> frozenset[str]:
    sheet = Sheet()
    as_run = as_recorded(PROFILES[profile], transaction_version)
    expected, checks = judge_coordinator(api, coordinator_step_of(sheet.column), as_run)
    return columns_read(*verdict_columns(expected.branch, checks, sheet, "").values())


@cache
def _of_replication(api: str, profile: str) -> frozenset[str]:
    sheet = Sheet()
    branch, checks = of_replication(api, sheet.column, PROFILES[profile])
    return columns_read(*verdict_columns(branch, checks, sheet, "").values())


_read_on_chain: Final = cache(read_on_chain)


@cache
def _of_links(kind: str) -> frozenset[str]:
    """Those of a step, and those by which it is looked back at from a later one."""
    found = frozenset(_without_moment(column) for link in of_kind(kind) for column in link.columns)
    of_step = columns_read(hands_out(Sheet().column)) if kind == ID_LINK else frozenset[str]()
    return (found | of_step) & frozenset(BY_NAME) | {"origin", "appended", "control"}


def _without_moment(column: str) -> str:
    for moment in _EARLIER:
        column = column.removeprefix(moment)
    return column


_COLUMNS: Final[Mapping[str, str]] = MappingProxyType({**COLUMN_OF, "event": "api"})


@cache
def _of_event(event: EventKind) -> frozenset[str]:
    found = set(columns_read(begins_anew(Sheet().column)))
    for chain in HISTORY_CHAINS.values():
        if event not in chain.events:
            continue
        request = set[str]()

        def of(name: str, request: set[str] = request) -> Term:
            request.add(name)
            return event.value if name == "event" else BY_NAME[name].absent

        chain.members(of), chain.at(of), chain.mark(of), [text(of) for text in chain.texts if callable(text)]
        found |= (request - {"event", "step"}) | {text for text in chain.texts if isinstance(text, str)}
        found |= set(chain.numbers)
        for link in chain.links:
            check = check_of_history(link, Sheet().column)
            fields = (_without_moment(name) for name in columns_read(check.at_stake, check.holds))
            found |= {_COLUMNS[name] for name in fields if name in _COLUMNS}
    return frozenset(found)

"""Why no rule detects a corrupted trace: it leads to the same judgements of every step, or the trace lacks evidence.

The decisions and rules judge every step of the corrupted trace again. Where all inputs and results are as before, the
corruption is harmless. Where they are not, and no rule is broken, evidence that would have shown it is missing; a
criterion of its own gives the kind. What fits none of them is a hole in the rules.
"""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum, unique
from functools import lru_cache
from typing import Final, NamedTuple

from model_tests.corruption.equivalent_traces import Reason, changed_epochs, leaves_as_found, shows_no_change
from model_tests.corruption.judged_facts import Facts, facts_of
from model_tests.corruption.random_corruption import CorruptionKind, RandomlyCorruptedTrace
from model_tests.judging.chains import CHAINS, of_kind
from model_tests.judging.explain import KEYS, is_on, is_same_key
from model_tests.judging.histories import NOTHING_REPORTED, Histories
from model_tests.judging.history_links import ANSWERED, HISTORY_CHAINS, begins_anew
from model_tests.judging.log_links import LOG_LINK
from model_tests.traces.schema import Row
from reference.recording.trace import STATE
from spec.vocabulary import Api


@unique
class MissingEvidence(StrEnum):
    """What a trace would have to contain for the corruption to be seen."""

    ARRIVAL = "whether an answer has reached its application: it may be lost, or still be on its way"
    BEGINNING = "what was before the first step on a key: a trace may begin anywhere"
    UNSHOWN = "what the step left: no later step shows it"
    TURN = "what a reader did before it began anew, or after its last row: nothing follows from there"
    LAST_SENT = "what an application handed over last: no number follows, and no row reports on it"
    UNANSWERED = "an application's request without effect: it was not answered, and no coordinator carried it out"
    WATERMARK = "by which step a watermark moved: it may move between steps that show no leader epochs"
    NEIGHBOUR = "which step came directly before: with another one, each rule checks as many steps, and holds"


SENT: Final = "ClientSend"
ENDING: Final = "ClientEndTransaction"

ANSWERS: Final = frozenset(
    ("ClientAcknowledged", "ClientSendFailed", "ClientInitTransactionsAnswered", "ClientEndTransactionAnswered")
)
"""Answers that an application gets; nothing shows when an answer arrives."""

READING: Final = frozenset((ANSWERED, "ConsumerFetchAborted", "ClientFetched"))
"""What a reader is answered, and what it takes of it."""

_COPY: Final = -1  # in place of a row's number: the row was put in by the corruption

BOUNDS: Final = frozenset(("loaded_record",))
"""Checks that allow several states after a step: what it left is bounded by them, and not shown."""


class RuleInputDifference(NamedTuple):
    """What the rules are asked otherwise in a corrupted trace.

    Attributes:
        own: the step that was changed, or its copy, is judged by other values, or elsewhere.
        gained: checks that now apply to other steps, by name; to other values than before, or not at all before.
        lost: checks that applied to other steps before.
        fewer: checks that apply to fewer steps now, or to a step that was attributed to another for another reason than
            that it is the first on its key now; of a step that is left out, its own aside.
    """

    own: bool
    gained: frozenset[str]
    lost: frozenset[str]
    fewer: frozenset[str]


def difference(true: Sequence[Row], found: RandomlyCorruptedTrace) -> RuleInputDifference:
    """In what the two accounts differ, to the rules."""
    before, reported = _facts_of_true(_Kept(true)), _reported_in_place(true, found)
    after = facts_of([row for _, row in reported])
    changed = {found.place} if found.kind in (CorruptionKind.RETIME, CorruptionKind.RELABEL) else set()
    gained, lost, own = set[str](), set[str](), False
    put = Counter[str]()
    for place, row in reported:
        was, now = before.get(2 * place, frozenset()), after[row["step"]]
        names, names_now = {name for name, _ in was}, {name for name, _ in now}
        put.update(names)
        put.subtract(names_now)
        if place in changed or place == _COPY:
            own = own or was != now
            continue
        gained |= {name for name, _ in now - was}
        lost |= {name for name, _ in was - now}
    as_first = _as_first(found.rows, found.place) if changed else set()
    fewer = {name for name, count in put.items() if count > 0} - as_first
    return RuleInputDifference(own, frozenset(gained), frozenset(lost), frozenset(fewer))


def _as_first(rows: Sequence[Row], place: int) -> set[str]:
    """The links that a step is not put to since none is before it on its key."""
    row, before = rows[place], rows[:place]
    first = (kind for kind in KEYS if is_on(kind, row) and not any(is_same_key(kind, row, other) for other in before))
    names = {link.name for kind in first for link in of_kind(kind)}
    histories = Histories()
    for each in rows:
        histories.add(each)
    for judged in histories.judged():
        if judged.row["step"] == row["step"] and judged.previous is NOTHING_REPORTED:
            names |= {link.name for link in HISTORY_CHAINS[judged.number].links}
    return names


def why_unseen(true: Sequence[Row], found: RandomlyCorruptedTrace) -> Reason | MissingEvidence | None:
    """Why a corruption that breaks no rule is none to be seen; None where it should have been.

    Args:
        true: the steps of the true trace, in order.
        found: what was made of it.
    """
    row, differs = true[found.place], difference(true, found)
    same_elsewhere = not (differs.gained or differs.lost)
    unchanged, left_as_found = shows_no_change(row), leaves_as_found(row)
    if found.kind is CorruptionKind.DROP and row["api"] in ANSWERS:
        return MissingEvidence.ARRIVAL
    if same_elsewhere:
        if found.kind in (CorruptionKind.SWAP, CorruptionKind.RETIME, CorruptionKind.RELABEL):
            return Reason.AGAIN
        return _NOT_CHANGING[found.kind] if left_as_found else MissingEvidence.UNSHOWN
    if found.kind is CorruptionKind.DROP and _at_a_turn(true, found.place):
        return MissingEvidence.TURN
    if found.kind is CorruptionKind.DROP and row["api"] == SENT and not _is_reported_of(true, row):
        first, last = (_sent(true, row)[place]["step"] == row["step"] for place in (0, -1))
        if first or last:
            return MissingEvidence.LAST_SENT if last else MissingEvidence.BEGINNING
    if found.kind is CorruptionKind.DROP and row["api"] == ENDING and not _is_carried_out(true, row):
        return MissingEvidence.UNANSWERED
    if not differs.gained:
        return MissingEvidence.BEGINNING
    if _moves_watermarks_alone(true, row):
        return MissingEvidence.WATERMARK
    if found.kind in (CorruptionKind.DROP, CorruptionKind.DUPLICATE) and not left_as_found:
        return MissingEvidence.UNSHOWN if unchanged or not _shown_by(differs.gained, row) else None
    if found.kind is CorruptionKind.RELABEL and differs.fewer and differs.fewer <= _as_first(true, found.place):
        return MissingEvidence.BEGINNING  # what comes after it on its key is the first there now
    return None if differs.fewer else MissingEvidence.NEIGHBOUR


def _is_carried_out(true: Sequence[Row], row: Row) -> bool:
    """Whether the application that ends its transaction got an answer, or a coordinator ended it."""
    of_transaction = (
        other for other in true if (other["client"], other["transaction"]) == (row["client"], row["transaction"])
    )
    return any(
        other["api"] == "ClientEndTransactionAnswered" or (other["api"] == Api.END_TXN and other["error"] == 0)
        for other in of_transaction
    )


def _moved(row: Row) -> set[str]:
    """What of the touched state a step changes, by the names of the schema."""
    return {column.name for column in STATE if row[f"before_{column.name}"] != row[f"after_{column.name}"]}


def _shown_by(checks: frozenset[str], row: Row) -> bool:
    """Whether one of these checks reads something that the step has changed."""
    links = {link.name: link for chain in CHAINS.values() for link in chain.links}
    checks -= BOUNDS
    columns = {f"{moment}_{name}" for name in _moved(row) for moment in ("before", "after")}
    columns |= {column for name in changed_epochs(row) for column in (name, f"{name}_after")}
    if not columns or checks - links.keys():
        return True
    read = {column.removeprefix("previous_") for name in checks for column in links[name].columns}
    return not columns.isdisjoint(read)


def _sent(true: Sequence[Row], row: Row) -> list[Row]:
    """What the application hands over, in order."""
    return [other for other in true if other["api"] == SENT and other["writer"] == row["writer"]]


def _is_reported_of(true: Sequence[Row], row: Row) -> bool:
    """Whether a client gets to know later what has become of what was handed over, or takes it."""
    later = (other for other in true[row["step"] + 1 :] if other["writer"] == row["writer"] and not other["node"])
    return any(other["first_record"] == row["first_record"] for other in later)


def _moves_watermarks_alone(true: Sequence[Row], row: Row) -> bool:
    """The step, or the next on its log, shows no leader epoch, and nothing but watermarks moves."""
    if not _moved(row) or _moved(row) - {"high_watermark", "last_stable"}:
        return False
    following = next((other for other in true[row["step"] + 1 :] if is_same_key(LOG_LINK, row, other)), row)
    return bool(row["leader_epoch"] < 0 or max(following["leader_epoch"], following["leader_epoch_after"]) < 0)


def _at_a_turn(true: Sequence[Row], place: int) -> bool:
    """Whether a reader's row is the first or the last of the rows between which it read without a break."""
    row = true[place]
    if row["api"] not in READING:
        return begins_anew(row.__getitem__) is True
    reader = [other for other in true if other["api"] in READING or begins_anew(other.__getitem__)]
    mine = [other for other in reader if all(other[name] == row[name] for name in ("client", "topic", "partition"))]
    at = next(number for number, other in enumerate(mine) if other["step"] == row["step"])
    neighbours = (mine[at - 1] if at else None, mine[at + 1] if at + 1 < len(mine) else None)
    return any(other is None or begins_anew(other.__getitem__) for other in neighbours)


_NOT_CHANGING: Final = {CorruptionKind.DROP: Reason.OBSERVED, CorruptionKind.DUPLICATE: Reason.REPEATED}


def _reported_in_place(true: Sequence[Row], found: RandomlyCorruptedTrace) -> list[tuple[int, Row]]:
    """The corrupted steps with the places that they have in the true trace, numbered so that steps alike are alike."""
    places = list(range(len(true)))
    if found.kind is CorruptionKind.DROP:
        del places[found.place]
    elif found.kind is CorruptionKind.DUPLICATE:
        places.insert(found.other, _COPY)
    elif found.kind is CorruptionKind.SWAP:
        places[found.place], places[found.other] = places[found.other], places[found.place]
    numbers = range(0, 2 * len(true), 2) if found.kind is CorruptionKind.SWAP else (2 * place for place in places)
    return [
        (place, {**row, "step": 2 * found.other - 1 if place == _COPY else number})
        for place, number, row in zip(places, numbers, found.rows, strict=True)
    ]


class _Kept:
    """The steps of a trace, known by which they are and not by what they say."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kept) and self.rows is other.rows

    def __hash__(self) -> int:
        return id(self.rows)


@lru_cache(maxsize=4)
def _facts_of_true(kept: _Kept) -> Facts:
    return facts_of([{**row, "step": 2 * row["step"]} for row in kept.rows])

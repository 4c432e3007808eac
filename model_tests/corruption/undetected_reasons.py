"""Why no rule detects a corrupted trace: each step is judged as before, or the trace lacks the evidence.

The decisions and rules judge every step of the corrupted trace again. Where all inputs and results are as before, the
corruption is harmless. Where they are not, and no rule is broken, evidence that would have shown it is missing. What
fits none of the kinds of evidence is a hole in the rules. No kind names a request: links say themselves what they show.
"""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum, unique
from functools import lru_cache
from typing import Final, NamedTuple

from model_tests.corruption.judged_facts import Facts, facts_of
from model_tests.corruption.random_corruption import CorruptionKind, RandomlyCorruptedTrace
from model_tests.judging.chains import CHAINS, of_kind
from model_tests.judging.columns_judged import columns_judged
from model_tests.judging.explain import KEYS, is_on, is_same_key
from model_tests.judging.follower_links import is_on_follower, progress, progress_after
from model_tests.judging.histories import NOTHING_REPORTED, Histories
from model_tests.judging.history_links import EVENT_KINDS, HISTORY_CHAINS
from model_tests.judging.step_link import StepLink
from model_tests.traces.schema import Row
from reference.recording.trace import STATE
from spec.judging.judge_history import EventKind


@unique
class Reason(StrEnum):
    """Why a corrupted trace may be true."""

    UNREAD = "no rule reads what was changed"
    SAME = "put to every decision and rule again, each step has the same answer, and no other step is asked otherwise"


@unique
class MissingEvidence(StrEnum):
    """What a trace would have to contain for the corruption to be seen."""

    BEGINNING = "what was before the first step on a key: a trace may begin anywhere"
    CLIENT_EVENT = (
        "a client's event: an answer may be lost, and a client may stop anywhere; fewer checks apply without it"
    )
    UNSHOWN = "what the step left: no later step shows it"
    NEIGHBOUR = "which step came directly before: with another one, each rule checks as many steps, and holds"


_COPY: Final = -1  # in place of a row's number: the row was put in by the corruption
_CLIENT: Final = "Client"
_EPOCHS: Final = ("leader_epoch", "partition_epoch", "controller_epoch")
_ALL_OF_NODE: Final = ("Failover", "Election", "Restart", "Expiry", "Resignation", "Load", "Sessions", "Become")
"""What is in the name of a step that changes more at its node than it shows."""


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


def is_unread(true: Sequence[Row], found: RandomlyCorruptedTrace) -> bool:
    """Whether no rule reads what was changed: not the column, or nothing of the step that is left out or repeated."""
    read = columns_judged(true[found.place])
    if found.kind in (CorruptionKind.DROP, CorruptionKind.DUPLICATE):
        return not read
    if found.kind is CorruptionKind.RELABEL:
        read |= columns_judged(found.rows[found.place])
    return found.kind is not CorruptionKind.SWAP and found.column not in read


def why_unseen(true: Sequence[Row], found: RandomlyCorruptedTrace) -> Reason | MissingEvidence | None:
    """Why a corruption that breaks no rule is none to be seen; None where it should have been.

    Args:
        true: the steps of the true trace, in order.
        found: what was made of it.
    """
    if is_unread(true, found):
        return Reason.UNREAD
    row, differs = true[found.place], difference(true, found)
    once_more_or_less = found.kind in (CorruptionKind.DROP, CorruptionKind.DUPLICATE)
    leaves_more = once_more_or_less and not leaves_as_found(row)
    if not (differs.gained or differs.lost):
        return MissingEvidence.UNSHOWN if leaves_more else Reason.SAME
    if not differs.gained:
        return MissingEvidence.BEGINNING
    if leaves_more and (shows_no_change(row) or not shown_by(differs.gained, row)):
        return MissingEvidence.UNSHOWN
    if found.kind is CorruptionKind.DROP and _is_client_event(row) and differs.fewer:
        return MissingEvidence.CLIENT_EVENT
    return None if leaves_more or differs.fewer else MissingEvidence.NEIGHBOUR


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


def leaves_as_found(row: Row) -> bool:
    """Whether a node leaves all that it knows as it found it, and an application gets no answer."""
    return shows_no_change(row) and not any(part in row["api"] for part in _ALL_OF_NODE)


def shows_no_change(row: Row) -> bool:
    """Whether all that a node's step shows is after it as before, and it is no event of a client."""
    learns = is_on_follower(row) and progress_after(row.__getitem__) != progress(row.__getitem__)
    empty = EVENT_KINDS.get(row["api"]) is EventKind.ANSWERED and max(row["batch_count"], row["aborted_count"]) <= 0
    return not (row["appended"] or _moved(row) or learns) and (empty or not _is_client_event(row))


def _is_client_event(row: Row) -> bool:
    """Whether a client does something or gets an answer; a coordinator's step for its transaction is none."""
    return row["api"].startswith(_CLIENT) or EVENT_KINDS.get(row["api"], EventKind.HANDLED) is not EventKind.HANDLED


def _moved(row: Row) -> set[str]:
    """The columns before and after a step of the touched state and of epochs that it changes."""
    pairs = [(f"before_{column.name}", f"after_{column.name}") for column in STATE]
    epochs = [(name, f"{name}_after") for name in _EPOCHS if row[f"{name}_after"] >= 0]
    return {name for pair in (*pairs, *epochs) if row[pair[0]] != row[pair[1]] for name in pair}


def shown_by(checks: frozenset[str], row: Row) -> bool:
    """Whether one of these checks shows something that the step has changed: a link that only bounds it does not."""
    links = {link.name: link for chain in CHAINS.values() for link in chain.links}
    bounds = {name for name, link in links.items() if isinstance(link, StepLink) and link.bound}
    moved, shown = _moved(row), checks - bounds
    if not moved or shown - links.keys():
        return True
    read = {column.removeprefix("previous_") for name in shown for column in links[name].columns}
    return not moved.isdisjoint(read)


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

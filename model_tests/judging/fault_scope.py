"""How far the faults of a trace reach: from their step on, and some of them no further than their partition.

A rule of histories reads a few client events of one key. Whatever they report had come about by the last of them, so
that a later fault has no part in it. An unclean election, and a batch that a leader met before an earlier one, change
the log of one partition and what it knows of producers: they do not reach client events that depend on another
partition's log alone. Producer state that was forgotten may reach further: before 2.5 a producer that is refused for it
has a new identity everywhere, and so have requests that outlive their transaction, and batches that are renumbered.

All of these but an unclean election are faults of one producer. They reach its own batches, calls and transactions, and
those of the other instances of its transactional id: another application's are as they should be.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

from model_tests.judging.histories import Histories, JudgedEvent, Key
from model_tests.judging.history_links import (
    BATCH,
    CALLS,
    COURSE,
    HANDED_OVER,
    HISTORY_CHAINS,
    IDENTIFYING,
    NUMBERED,
    SENT_TO,
    TRANSACTION,
)
from model_tests.judging.inferred_faults import Families, Happened, hidden_faults, may_excuse
from model_tests.judging.judges import history_judge
from model_tests.judging.step_assumptions import Fault
from model_tests.judging.verdicts import rules_in
from model_tests.traces.schema import Row
from spec.versions import PROFILES
from spec.vocabulary import ABSENT

AT_ONE_PARTITION: Final = Fault.UNCLEAN | Fault.NOT_FIRST
"""Faults that reach no further than their partition."""

OF_ONE_PRODUCER: Final = Fault.FORGOTTEN | Fault.NOT_FIRST | Fault.OUTLIVED | Fault.RENUMBERED
"""Faults that reach no other producer than the one that they concern, and the instances of its transactional id."""

ABOUT_APPLICATIONS: Final = frozenset((BATCH, TRANSACTION, SENT_TO, CALLS, HANDED_OVER, NUMBERED, COURSE, IDENTIFYING))
"""Chains whose client events are of one application: of its batches, or of its calls."""


@dataclass(frozen=True, slots=True)
class Doubtful:
    """The part of a trace that is needed to decide how far its faults reach its client events.

    Attributes:
        keys: on which something is violated.
        rows: the client events on these, and the faults that a step shows.
        looked_at: reads the steps by which it is looked for faults that no single step shows.
    """

    keys: frozenset[Key]
    rows: Sequence[Row]
    looked_at: Callable[[], Sequence[Row]]


class ReachVerdict(NamedTuple):
    """The verdict on a client event on one chain.

    Attributes:
        at_stake: rules, as a set of bits.
        violated: likewise.
        faults: that reach the client event; looked for only where something is violated.
    """

    judged: JudgedEvent
    at_stake: int
    violated: int
    faults: int


def verdicts_of(histories: Histories, looked_at: Callable[[], Iterable[Row]] | None = None) -> Iterator[ReachVerdict]:
    """Every verdict on client events in one trace, with the faults that reach it.

    Args:
        histories: the client events.
        looked_at: the steps by which it is looked for hidden faults; all that the histories have, if not said.
    """
    context: tuple[Families, Sequence[Happened]] | None = None
    for judged in histories.judged():
        _, at_stake, violated = history_judge(judged.number)(*judged.arguments)
        faults = 0
        if violated:
            if context is None:
                rows = tuple(looked_at() if looked_at else histories.rows)
                context = Families(rows), tuple(hidden_faults(rows))
            families, hidden = context
            faults = reaching(histories.happened, judged, families)
            if _may_be_excused(violated, judged.row["profile"], judged.row["transaction_version"], faults):
                faults |= reaching(hidden, judged, families)
        yield ReachVerdict(judged, at_stake, violated, faults)


def reaching(happened: Iterable[Happened], judged: JudgedEvent, families: Families) -> int:
    """The faults, of those that have happened, that may have a part in the client events of a chain.

    Args:
        happened: the faults of the trace.
        judged: the last of the events.
        families: whose batches and identities belong together.
    """
    found, concerned = 0, _concerned(judged, families)
    for each in happened:
        elsewhere = each.fault & AT_ONE_PARTITION and _is_elsewhere(each, judged)
        if each.step <= judged.until and not elsewhere and not _is_of_another(each, concerned, families):
            found |= each.fault
    return found


def _concerned(judged: JudgedEvent, families: Families) -> frozenset[str]:
    """Whose client events are on the chain; none where those of several may be."""
    chain, row = HISTORY_CHAINS[judged.number], judged.row
    if judged.number in ABOUT_APPLICATIONS:
        return families.of(row["writer"] or row["client"], ABSENT)
    return families.of("", row["producer_id"]) if "producer_id" in chain.numbers else frozenset()


def _is_of_another(fault: Happened, concerned: frozenset[str], families: Families) -> bool:
    """Whether a fault concerns no producer of the chain: one of an unclean election concerns everyone's."""
    if not fault.fault & OF_ONE_PRODUCER:
        return False
    faulty = families.of(fault.name, fault.producer_id)
    return bool(faulty and concerned) and not faulty & concerned


def violations_counted(doubtful: Doubtful) -> Iterator[dict[str, Any]]:
    """The verdicts by which something is violated in a trace, as they are counted, with the faults that reach each."""
    histories = Histories(doubtful.keys)
    for row in doubtful.rows:
        histories.add(row)
    counts, firsts = Counter[tuple[int, int, int, int]](), dict[tuple[int, int, int, int], Row]()
    for verdict in verdicts_of(histories, doubtful.looked_at):
        if verdict.violated:
            key = verdict.judged.number, verdict.at_stake, verdict.violated, verdict.faults
            counts[key] += 1
            earliest = firsts.setdefault(key, verdict.judged.row)
            firsts[key] = min(earliest, verdict.judged.row, key=lambda row: row["step"])
    for key, count in counts.items():
        chain, at_stake, violated, faults = key
        reported = {"chain": chain, "judged": at_stake, "violated": violated, "faults": faults, "count": count}
        yield {**reported, **{name: firsts[key][name] for name in ("step", "profile", "transaction_version")}}


def _is_elsewhere(fault: Happened, judged: JudgedEvent) -> bool:
    """Whether a fault is of another partition than all client events on the chain."""
    at_one = "partition" in HISTORY_CHAINS[judged.number].numbers
    return at_one and (fault.topic, fault.partition) != (judged.row["topic"], judged.row["partition"])


@cache
def _may_be_excused(violated: int, profile: str, transaction_version: int, faults: int) -> bool:
    under = PROFILES[profile].under(transaction_version)
    return any(may_excuse(rule, under, faults) for rule in rules_in(violated))

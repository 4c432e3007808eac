"""The append decision on every batch of a log: whether it might be appended, on which state."""

from dataclasses import dataclass, replace
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from model_tests.audit.links import Links
from model_tests.logs.kafka_log_batches import Facts
from spec import rules
from spec.algebra import Term, all_of, any_of, negate
from spec.judging.judge import entries_agree
from spec.protocol import seq
from spec.protocol.append import append
from spec.protocol.guards import PASSED
from spec.protocol.records import AppendRequest, MetVerification, ProducerEntry, build, flatten
from spec.readings.reading_numpy import folding
from spec.rules import Rule
from spec.versions import Profile
from spec.vocabulary import Origin

Record = TypeVar("Record", ProducerEntry, AppendRequest)

CONFIRMED = MetVerification(verification_guarded=True)
"""The log does not say whether the coordinator confirmed a partition; that is another rule's business."""


AT_STAKE: Final = (
    rules.SEQ_FIRST,
    rules.SEQ_EPOCH_RESET,
    rules.SEQ_SUCCESSOR,
    rules.SEQ_EXACTLY_ONCE,
    rules.FENCE_STALE_EPOCH,
    rules.FENCE_EPOCH_MONOTONE,
    rules.FENCE_COORDINATOR_EPOCH,
)
"""The rules that are checked on a batch, in the order in which they are counted."""


@dataclass(frozen=True, slots=True)
class LinkDecisions:
    """For each link, the decision on it.

    Attributes:
        refused: the batch would be refused, or the epoch falls.
        guessed: the gathered state is not the one that the decision leads to.
        unusual: a first batch that does not start at sequence 0, where the release allows it.
        at_stake: for each rule, on which links it is.
    """

    refused: Facts
    guessed: Facts
    unusual: Facts
    at_stake: dict[Rule, Facts]

    @property
    def doubtful(self) -> Facts:
        """What the fold must look at."""
        doubtful: Facts = self.refused | self.guessed
        return doubtful


def decide(links: Links, profile: Profile, without: frozenset[str]) -> LinkDecisions:
    """Hold every link against the decision at once."""
    links = replace(links, before=_folded(links.before), request=_folded(links.request))
    decided = append(links.before, links.request, profile, CONFIRMED, without)
    refused = any_of(negate(decided.branch == PASSED), decided.entry.epoch < links.before.epoch)
    guessed = _wrongly_guessed(links, decided.entry)
    sent, known = _sent(links), negate(seq.is_unknown(links.before))
    strict = replace(profile, any_first_sequence=False)
    unusual = all_of(profile.any_first_sequence, sent, seq.starts_wrongly(links.before, links.request, strict))
    return LinkDecisions(
        refused=_facts(refused, links),
        guessed=guessed,
        unusual=_facts(unusual, links),
        at_stake={rule: _facts(fact, links) for rule, fact in _at_stake(links, sent, known).items()},
    )


def scalar_entry(links: Links, number: int) -> ProducerEntry:
    """The gathered state before one link, in plain values."""
    values = {name: column[number].item() for name, column in flatten(links.before)}
    return build(ProducerEntry, values.__getitem__)


def scalar_request(links: Links, number: int) -> AppendRequest:
    """One link's batch, in plain values."""
    values = {
        name: column[number].item() if isinstance(column, np.ndarray) else column
        for name, column in flatten(links.request)
    }
    return build(AppendRequest, values.__getitem__)


def _wrongly_guessed(links: Links, after: ProducerEntry) -> Facts:
    """The links whose gathered state is not what the decision leaves of the link before."""
    wrong = np.zeros(len(links), np.bool_)
    if len(links) > 1:
        agree = _facts(entries_agree(_rows(links.before, slice(1, None)), _rows(after, slice(None, -1))), links, 1)
        wrong[1:] = ~agree & ~links.first[1:] & ~links.unseen[1:]
    return wrong


def _folded(record: Record) -> Record:
    """The same, where a column that is everywhere the same is a constant, of which a decision carries no trace."""
    columns = {name: folding(column) if isinstance(column, np.ndarray) else column for name, column in flatten(record)}
    folded: Record = build(type(record), columns.__getitem__)
    return folded


def _rows(entry: ProducerEntry, rows: slice) -> ProducerEntry:
    columns = {name: column[rows] if isinstance(column, np.ndarray) else column for name, column in flatten(entry)}
    return build(ProducerEntry, columns.__getitem__)


def _at_stake(links: Links, sent: Term, known: Term) -> dict[Rule, Term]:
    moved = seq.changes_epoch(links.before, links.request)
    facts = (
        all_of(sent, negate(known)),
        all_of(sent, moved),
        all_of(sent, known, negate(moved)),
        sent,
        known,
        known,
        all_of(links.request.control, links.before.coordinator_epoch >= 0),
    )
    return dict(zip(AT_STAKE, facts, strict=True))


def _sent(links: Links) -> Term:
    return all_of(links.request.origin == Origin.CLIENT.value, negate(links.request.control))


def _facts(fact: Term, links: Links, fewer: int = 0) -> npt.NDArray[np.bool_]:
    """The fact as an array, also where it is the same for all links."""
    return np.broadcast_to(np.asarray(fact, np.bool_), len(links) - fewer).copy()

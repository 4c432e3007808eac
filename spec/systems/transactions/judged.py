"""Every lemma that ties the system of transactions to the judges of recorded steps, and what has none."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from spec.systems.language import StepLemma
from spec.systems.transactions.decisions import ReleaseDecisions
from spec.systems.transactions.judged_appends import JudgedAppends
from spec.systems.transactions.judged_refusals import JudgedRefusals
from spec.systems.transactions.judged_steps import JudgedCoordinators
from spec.systems.transactions.world import TransactionKnobs

_CALL: Final = "a call of an application, which the rules of histories judge"
_QUESTION: Final = "a leader's question, of which the coordinator's answer is recorded"
_OTHER: Final = "a step of another transactional id, which is judged as one of that id"

UNJUDGED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "client_adds_partition": _CALL,
        "client_sends_batch": _CALL,
        "client_commits_offset": _CALL,
        "client_ends": _CALL,
        "client_asks_for_bump": _CALL,
        "leader_receives": _QUESTION,
        "group_receives_commit": _QUESTION,
        "leader_fails_over": "no step of a coordinator or of a log: links hold a new leader's entries to its log",
        "group_rebalances": "no step of its own: each commit is recorded with the generation that the group then has",
        "other_id_begins_to_use": _OTHER,
        "other_id_appends": _OTHER,
        "other_id_offset_is_committed": _OTHER,
        "other_id_draws_producer_id": _OTHER,
        "reader_passes_other_id": "a read, which the rules of histories judge",
        "reader_fetches": "a read, which the rules of histories judge",
    }
)
"""Actions that no decision on one recorded step is made of, and what judges them instead."""

LEFT_OUT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "TransactionalIdExpiry": "no transactional id expires in the system; `expire` is judged by its own lemmas",
        "MarkerAnswered": "an answer before the last one changes no memory but the number of partitions to wait for",
    }
)
"""Kinds of recorded steps that no action of the system is."""


def judged_steps(knobs: TransactionKnobs, taken: ReleaseDecisions) -> tuple[StepLemma, ...]:
    """The lemmas of all actions that the knobs leave in the system, and of the requests that none of them takes."""
    return (
        *JudgedAppends(knobs, taken).all(),
        *JudgedCoordinators(knobs, taken).all(),
        *JudgedRefusals(knobs, taken).all(),
    )

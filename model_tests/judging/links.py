"""Link rules on Spark: an append step and the one before it on the same key, after one shared shuffle.

The key is (trace, node, topic, partition, producer id). A fault leaves a step on every key whose state it changes:
the chain of states goes through it, the chain of sequences starts anew.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from model_tests.judging.compiled import holds
from model_tests.judging.log_links import on_log
from model_tests.judging.verdicts import KEPT
from model_tests.traces.schema import column_of, columns_of
from spec import rules
from spec.algebra import Term, all_of, any_of, negate
from spec.evidence import Layer, evidences
from spec.judging.judge import RuleCheck, entries_agree
from spec.protocol import seq
from spec.protocol.records import AppendRequest, ProducerEntry, build
from spec.readings.formulas import Sheet, columns_read
from spec.rules import Rule
from spec.vocabulary import Origin

KEY: Final = ("trace", "node", "topic", "partition", "producer_id")

_STATE: Final = columns_of(("after_", ProducerEntry))
_BATCH: Final = columns_of(("", AppendRequest))
_FAULTS: Final = "faults"


def on_key(of: Callable[[str], Term]) -> Term:
    """A step touches what a partition knows of a producer."""
    return all_of(of("producer_id") >= 0, on_log(of))


def breaks_sequences(of: Callable[[str], Term]) -> Term:
    """After a step the sequences of a producer begin anew: a fault, or a marker of another epoch than the one known.

    A follower takes such a marker also under a lower epoch, from a leader that has forgotten the producer.
    """
    of_another_epoch = all_of(of("appended"), of("control"), negate(of("before_epoch") == of("after_epoch")))
    return any_of(of("origin") < 0, of_another_epoch)


is_break: Final = holds(breaks_sequences)
"""The same of a row."""

NEEDED: Final = tuple(
    dict.fromkeys((*KEPT, *KEY, *_STATE, *_BATCH, *columns_of(("before_", ProducerEntry)), "appended"))
)
"""Columns without which a link cannot be judged."""


@dataclass(frozen=True, slots=True)
class LinkedStep:
    """An append step with what came before it on its key.

    Attributes:
        has_previous: there is a step before it.
        previous: the entry that that step left.
        accepted: the last data batch that was accepted before.
        accepted_unbroken: there is such a batch, and no fault in between.
    """

    request: AppendRequest
    appended: Term
    before: ProducerEntry
    has_previous: Term
    previous: ProducerEntry
    accepted: AppendRequest
    accepted_unbroken: Term


@evidences(rules.SEQ_SUCCESSOR, Layer.TRACE)
def successor(step: LinkedStep) -> RuleCheck:
    """A client's accepted batch directly follows the last accepted one of its epoch."""
    request, accepted = step.request, step.accepted
    at_stake = all_of(
        step.appended,
        step.accepted_unbroken,
        request.origin == Origin.CLIENT.value,
        negate(request.control),
        request.producer_id >= 0,
        request.producer_epoch == accepted.producer_epoch,
    )
    return RuleCheck(
        rules.SEQ_SUCCESSOR, at_stake, seq.is_successor(seq.last_sequence(accepted), request.base_sequence)
    )


def recovered(step: LinkedStep) -> RuleCheck:
    """What a partition knows of a producer is what the step before left."""
    at_stake = all_of(step.has_previous, step.request.producer_id >= 0)
    return RuleCheck(rules.SEQ_STATE_RECOVERABLE, at_stake, entries_agree(step.previous, step.before))


@dataclass(frozen=True, slots=True)
class LinkRule:
    """One link rule.

    Attributes:
        statement: what it allows, in a sentence.
    """

    name: str
    rule: Rule
    check: Callable[[LinkedStep], RuleCheck]
    statement: str

    @property
    def columns(self) -> frozenset[str]:
        """Names of the columns that it looks at, those of earlier steps with `previous_` or `accepted_` before them."""
        check = self.check(linked(Sheet().column))
        return columns_read(check.at_stake, check.holds)


LINKS: Final = (
    LinkRule("previous_batch", rules.SEQ_SUCCESSOR, successor, "the sequence after that of the last accepted batch"),
    LinkRule("previous_state", rules.SEQ_STATE_RECOVERABLE, recovered, "the entry that the step before left"),
)


def linked(scalar: Callable[[str], Term]) -> LinkedStep:
    """The linked step whose scalars have the values that `scalar` gives for the names of their columns."""
    return LinkedStep(
        request=build(AppendRequest, lambda name: scalar(column_of(name))),
        appended=scalar("appended"),
        before=build(ProducerEntry, lambda name: scalar(f"before_{name}")),
        has_previous=scalar(f"previous_{_FAULTS}") >= 0,
        previous=build(ProducerEntry, lambda name: scalar(f"previous_after_{name}")),
        accepted=build(AppendRequest, lambda name: scalar(f"accepted_{column_of(name)}")),
        accepted_unbroken=scalar(f"accepted_{_FAULTS}") == scalar(_FAULTS),
    )

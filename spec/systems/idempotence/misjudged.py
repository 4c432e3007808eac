"""Controls of the judged requests of idempotent producers: with a guard off, or an effect too many."""

from collections.abc import Iterator
from dataclasses import replace

from spec.algebra import Term
from spec.systems.idempotence.stream import StreamKnobs
from spec.systems.idempotence.system import idempotence
from spec.systems.language import State, update
from spec.systems.misjudged import Misjudged, step_of


def misjudged_streams() -> Iterator[Misjudged]:
    """One for each lemma."""
    gaps, true = idempotence(StreamKnobs(without=frozenset({"successor"}))), idempotence()
    answers = step_of(true, "leader_answers_as_judged")
    remembers = replace(answers, action=replace(answers.action, effect=_remembered))
    yield Misjudged("a gap in the sequence is let in", gaps, step_of(gaps, "leader_appends_as_judged"))
    yield Misjudged("a batch that is refused is remembered", true, remembers)


def _remembered(state: State, stream: Term, request: Term) -> State:
    """A batch that is not appended raises the epoch that the leader knows."""
    length = state.length(stream)
    raised = replace(state.entry(stream, length), epoch=state.epoch(stream, request))
    return state.but(entry=update(state.entry, stream, length, to=raised))

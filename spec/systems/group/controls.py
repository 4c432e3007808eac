"""Changes of a group that must break a claim: a defect of Kafka, of a member, or of an application."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from spec.algebra import Term
from spec.systems.group.system import Taken, group
from spec.systems.group.world import COMMIT, GroupBounds, GroupKnobs
from spec.systems.language import Guard, State, System
from spec.systems.misjudged import Misjudged, step_with
from spec.systems.transactions.variant import guarded, with_action


@dataclass(frozen=True, slots=True)
class BrokenGroup:
    """The system with one thing changed.

    Attributes:
        name: what is changed.
        violates: name of the claim that no longer holds.
        knobs: the change, with the bounds of its instance.
    """

    name: str
    violates: str
    knobs: GroupKnobs

    @property
    def mended(self) -> GroupKnobs:
        """The true system, in the same instance."""
        return GroupKnobs(bounds=self.knobs.bounds)


_ONCE, _PASSED, _BEYOND = "has_effect_once_in_order", "passed_had_its_effect", "offset_is_of_effects"

_TWO: Final = GroupBounds(generations=2, runs=2, positions=1, commits=2)
_ONE: Final = GroupBounds(generations=1, runs=1, positions=1, commits=1)
_AGAIN: Final = GroupBounds(generations=1, runs=2, positions=1, commits=1)
_REPEATED: Final = GroupBounds(generations=1, runs=1, positions=1, commits=2)

CONTROLS: Final = (
    BrokenGroup("a past generation commits", _ONCE, GroupKnobs(without=frozenset({"generation_other"}), bounds=_TWO)),
    BrokenGroup("a member does not wait for a stable offset", _ONCE, GroupKnobs(fetches_stable=False, bounds=_TWO)),
    BrokenGroup("a member reads what is not decided", _ONCE, GroupKnobs(waits_for_stable=False, bounds=_ONE)),
    BrokenGroup("what is aborted is given to members", _ONCE, GroupKnobs(aborted_filtered=False, bounds=_ONE)),
    BrokenGroup("offsets have another outcome than outputs", _BEYOND, GroupKnobs(one_outcome=False, bounds=_ONE)),
    BrokenGroup("an earlier commit of a transaction comes last", _BEYOND, GroupKnobs(in_order=False, bounds=_REPEATED)),
    BrokenGroup("an offset beyond what was read is committed", _PASSED, GroupKnobs(read_all=False, bounds=_ONE)),
    BrokenGroup(
        "a transaction is committed without its offset", _BEYOND, GroupKnobs(waits_for_answer=False, bounds=_ONE)
    ),
    BrokenGroup("a member goes on after an abort", _PASSED, GroupKnobs(goes_back=False, bounds=_AGAIN)),
    BrokenGroup("the group's offset expires", _BEYOND, GroupKnobs(keeps_offset=False, bounds=_ONE)),
)
"""Every control."""


def _of_the_latest(state: State, run: Term, _: Term) -> Iterator[Term]:
    yield state.by(run) == state.latest()


def _of_the_last(state: State, run: Term, _: Term) -> Iterator[Term]:
    yield run == state.last()


def _of_what_is_committed(state: State, generation: Term, *_: Term) -> Iterator[Term]:
    yield state.verdict(state.position(generation)) == COMMIT


def _at_any_time(_: State, generation: Term) -> Iterator[Term]:
    yield generation >= 0


TAKES_MORE: Final[tuple[tuple[str, str, str, Guard], ...]] = (
    ("a commit is of the latest member", "commit_is_of_its_generation_and_no_more", "group_accepts", _of_the_latest),
    ("a marker is of the last commit", "outcome_is_the_same_and_no_more", "marker_comes", _of_the_last),
    ("what is read is committed", "read_is_decided_and_no_more", "member_reads", _of_what_is_committed),
)
"""What is taken for granted without being said, the lemma that is lost, the action, and its further guard."""


def takes_more() -> Iterator[Misjudged]:
    """Controls of what a group takes from others: each change takes more of it, or does without it."""
    true = group()
    for what, lemma, action, more in TAKES_MORE:
        yield step_with(what, _with_steps(guarded(true, action, more)), lemma)
    unanswered = with_action(true, "member_begins", guard=_at_any_time)
    yield step_with("a member does not wait for an answer", _with_steps(unanswered), "begins_with_nothing_pending")


def _with_steps(changed: System) -> System:
    return replace(changed, steps=tuple(Taken(GroupKnobs(), changed.actions).steps()))

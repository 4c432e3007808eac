"""One known bug judged: every case searched, the counterexample carried out on the reference."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import starmap

from model_tests.bugs.on_reference import Replay, repeated, replayed
from model_tests.bugs.script import CarriedOut
from model_tests.bugs.searching import SearchResult, searched, searched_as_formulas
from model_tests.diagrams.events import Ending, Sequence
from model_tests.monitor.drawing import sequence_of
from spec.bugs.bug import Bug, ExpectedAnswer, SearchCase


@dataclass(frozen=True, slots=True)
class JudgedBug:
    """A known bug, what the searches said, and what became of the counterexample on the reference.

    Attributes:
        found: one for each case, the bug's own first.
        replay: None where the reference has no place for it.
        repeated: what became of it on each release of the other cases; of those that have the bug too, of their own.
        unrolled: what bounded search says of the bug's own case; None where it was not run.
    """

    bug: Bug
    found: tuple[SearchResult, ...]
    replay: Replay | None
    repeated: tuple[CarriedOut | None, ...]
    unrolled: SearchResult | None = None

    @property
    def replayed(self) -> tuple[bool, ...]:
        """For each case, whether the reference did what the search said."""
        shown = self.replay is not None and self.replay.shown
        return (shown, *starmap(self._agrees, zip(self.bug.cases[1:], self.repeated, strict=True)))

    def _agrees(self, case: SearchCase, run: CarriedOut | None) -> bool:
        if run is None:
            return False
        broken = run.broken.rule if run.broken else None
        return broken is (self.bug.rule if case.expected is ExpectedAnswer.VIOLATED else None)

    @property
    def diagram(self) -> Sequence | None:
        """The shortest counterexample, as the reference carried it out; None where there is none."""
        if self.replay is None:
            return None
        script, case = self.replay.defective.script, self.found[0].case
        title = f"{self.bug.name}: {self.bug.title} ({case.profile})"
        sentence = case.claim_of(case.instance.searched()).sentence
        ending = Ending(self.bug.rule.id, f"it is no longer so that {sentence[0].lower()}{sentence[1:]}")
        return sequence_of(script.story.rows, title, ending, script.story.captions(script.cast))

    @property
    def failures(self) -> tuple[str, ...]:
        """What is not as the catalogue expects, a line each."""
        return tuple(self._failures())

    def _failures(self) -> Iterator[str]:
        for found, again in zip(self.found, self.replayed, strict=True):
            case = found.case
            if not found.as_expected:
                yield f"{self.bug.name} in {case.profile}: expected {case.expected}, got {found.got}"
            elif self.replay is not None and not again:
                yield f"{self.bug.name} in {case.profile}: the reference does not do what the search says"
        first, unrolled = self.found[0], self.unrolled
        if unrolled is not None and (unrolled.got, unrolled.depth) != (first.got, first.depth):
            difference = f"{unrolled.got} at depth {unrolled.depth}, explicit search {first.got} at {first.depth}"
            yield f"{self.bug.name} in {first.case.profile}: bounded search says {difference}"

    def entries(self) -> Iterator[dict[str, object]]:
        """What the report says of each case.

        Fields:
            name: the bug: its ticket, or what it is called
            rule: the rule that it breaks
            profile: the release that was searched
            expected: `violated` or `holds`, as the catalogue says
            got: what the search says: `violated`, `holds`, or `unknown` with the reason
            depth: actions of the shortest counterexample, or how deep was searched
            seconds: seconds that it took
            replayed: the reference did what the search says
        """
        for found, again in zip(self.found, self.replayed, strict=True):
            yield {
                "name": self.bug.name,
                "rule": self.bug.rule.id,
                "profile": found.case.profile,
                "expected": str(found.case.expected),
                "got": str(found.got),
                "depth": found.depth,
                "seconds": found.seconds,
                "replayed": again,
            }


def judged(bug: Bug, *, unrolls: bool = False) -> JudgedBug:
    """Search every case of a bug, and carry its counterexample out.

    Args:
        bug: one that has cases.
        unrolls: ask bounded search for the counterexample too.
    """
    found = tuple(searched(case) for case in bug.cases)
    trace = found[0].trace
    others = tuple(repeated(bug, one.case, one.trace or trace) for one in found[1:])
    unrolled = searched_as_formulas(found[0]) if unrolls and trace else None
    return JudgedBug(bug, found, replayed(bug, trace), others, unrolled)

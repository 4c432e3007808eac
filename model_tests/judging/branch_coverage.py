"""Which branches of the decisions a batch of traces exercised, per release, of those that can be reached."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from model_tests.common.reports import BadInput
from model_tests.judging import verdicts
from model_tests.judging.branch_names import APPEND, Branches, names_in, replicated_name, table
from model_tests.judging.coordinator_verdicts import branch_names
from model_tests.judging.replication_verdicts import JUDGES, KIND
from spec.protocol.append import names
from spec.protocol.coordinator_steps import DECISIONS
from spec.versions import PROFILES

SHOWN: Final = 8
"""Branches of a release that were not met and are printed; a batch that is small, or of few kinds, lacks many."""


class BranchTally(NamedTuple):
    """How often a branch decided: kind of verdict, release, number of the branch."""

    kind: str
    profile: str
    branch: int
    times: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a batch exercised of the decisions of one release.

    Attributes:
        reachable: branches that some step can reach.
        hits: how often each branch decided, by decision and name; those that were not met are not here.
        unreached: decision and name of the branches that could be reached, and were not.
        unexpected: of the branches of a decision that is judged, those that were met though they cannot be reached.
    """

    profile: str
    reachable: int
    hits: Mapping[str, Mapping[str, int]]
    unreached: tuple[str, ...]
    unexpected: tuple[str, ...]

    @property
    def share(self) -> float:
        """Of the branches that can be reached, those that were."""
        return 1 - len(self.unreached) / self.reachable

    def __str__(self) -> str:
        """The release in a line."""
        reached = self.reachable - len(self.unreached)
        others = len(self.unreached) - SHOWN
        listed = [*self.unreached[:SHOWN], *([f"{others} more (--json FILE has all)"] if others > 0 else [])]
        missing = f"; not {', '.join(listed)}" if listed else ""
        return f"branches of {self.profile}: {reached} of {self.reachable} ({self.share:.1%}){missing}"


def share_of(covered: Iterable[Coverage]) -> float:
    """Of the branches that can be reached under the releases that were met, those that were."""
    counted = [(each.reachable, len(each.unreached)) for each in covered]
    reachable = sum(each for each, _ in counted)
    return 1 - sum(missed for _, missed in counted) / reachable if reachable else 0.0


def reported(covered: Sequence[Coverage]) -> Iterator[str]:
    """The batch in a line, a line for each decision with its branches, and a line for each release."""
    if not covered:
        return
    releases = "one release" if len(covered) == 1 else f"{len(covered)} releases"
    yield f"branches of the decisions, under {releases}: {share_of(covered):.1%} of those to be reached"
    met: dict[str, Counter[str]] = {}
    for each in covered:
        for decision, hits in each.hits.items():
            met.setdefault(decision, Counter()).update(hits)
    for decision, counts in met.items():
        yield f"{decision}: " + ", ".join(f"{branch} {count}" for branch, count in counts.most_common())
    yield from map(str, covered)


def coverage(met: Iterable[BranchTally]) -> tuple[Coverage, ...]:
    """What was exercised of each release that was met, in the order of the releases.

    Raises:
        BadInput: what a release can reach was not derived.
    """
    by_profile: dict[str, Counter[tuple[str, str]]] = {}
    for kind, profile, branch, count in met:
        found = _named(kind, profile, branch)
        if found is not None:
            by_profile.setdefault(profile, Counter())[found] += count
    derived = table()
    for name in by_profile.keys() - derived.keys():
        raise BadInput(f"nothing was derived of what {name} can reach: run make tables")
    return tuple(_of(name, by_profile[name], derived[name]) for name in PROFILES if name in by_profile)


def _of(profile: str, hits: Mapping[tuple[str, str], int], branches: Branches) -> Coverage:
    reachable = [(decision, branch) for decision, found in branches.items() for branch in found]
    reported: dict[str, dict[str, int]] = {}
    for (decision, branch), count in hits.items():
        reported.setdefault(decision, {})[branch] = count
    return Coverage(
        profile,
        len(reachable),
        reported,
        tuple(f"{decision}.{branch}" for decision, branch in reachable if not hits.get((decision, branch))),
        tuple(f"{decision}.{branch}" for decision, branch in hits if branch not in branches.get(decision, (branch,))),
    )


_APIS: Final = {KIND.format(api): api for api in JUDGES}


@cache
def _named(kind: str, profile: str, branch: int) -> tuple[str, str] | None:
    """Decision and name of a branch; None where the verdict is none of a decision with branches."""
    if kind == verdicts.ROW:
        return APPEND, names(PROFILES[profile])[branch]
    if kind in DECISIONS:
        return kind, branch_names(kind)[branch]
    api = _APIS.get(kind, "")
    known = names_in(api, PROFILES[profile]) if api else ()
    return (replicated_name(api), known[branch]) if known and branch >= 0 else None

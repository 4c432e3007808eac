"""`python -m model_tests.probe.searching`: searches the specification for probing sessions, and writes them down.

For each pair of neighbouring releases and each behaviour that they differ in, a session is searched for that one of the
two answers otherwise once it has the other's value of that behaviour alone.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from rich.console import Console

from model_tests.probe.distinguishing import Candidates, effort, runs_out, shortest
from model_tests.probe.probes import UNSEEN, Distinction, Probe, differing, neighbours, probes, write
from model_tests.probe.reducing import reduced
from model_tests.probe.script import Script, ScriptAction

SEEDS: Final = 150
"""Of each family that are drawn."""


def wanted() -> Iterator[Sequence[Distinction]]:
    """For each release and each behaviour of a neighbour, what distinguishes them: the first that a session shows.

    A session of the versions that both take comes first, then one of all that the release takes, then one under a lower
    transaction version.
    """
    for older, newer in neighbours():
        for one, other in ((older, newer), (newer, older)):
            for name in differing(one, other):
                if name not in UNSEEN:
                    version = one.transaction_version
                    contexts = [(version, other.name), *((under, one.name) for under in range(version, -1, -1))]
                    yield [Distinction(one.name, name, getattr(other, name), *context) for context in contexts]


def search(seeds: int, known: Sequence[Probe], say: Callable[[str], None]) -> Iterator[list[Probe]]:
    """The probes, each time that one is found; a probe that shows several behaviours is the only one for them.

    Args:
        seeds: of each family that are drawn.
        known: probes that were found before, whose scripts are tried first.
        say: prints a line.
    """
    found: dict[Script, list[Distinction]] = {probe.script: [] for probe in known}
    pools: dict[tuple[str, str, int], Candidates] = {}
    for contexts in wanted():
        for distinction in contexts:
            script = _shortest(distinction, found, pools, seeds)
            if script is not None:
                found.setdefault(script, []).append(distinction)
                say(f"{distinction.release}: {distinction.behaviour} by {len(script.actions)} steps")
                yield [Probe(script, tuple(shown)) for script, shown in found.items() if shown]
                break
        else:
            say(f"{contexts[0].release}: {contexts[0].behaviour} is not seen")


def _shortest(
    distinction: Distinction, found: Iterable[Script], pools: dict[tuple[str, str, int], Candidates], seeds: int
) -> Script | None:
    """The shortest script that shows this: one that was found for something else, or a new one."""
    known = min((each for each in found if distinction.holds_of(each)), key=effort, default=None)
    if known is not None and not runs_out(known):
        return known
    place = (distinction.release, distinction.beside, distinction.under)
    if place not in pools:
        for other in [each for each in pools if each[0] != distinction.release]:
            del pools[other]
        pools[place] = Candidates(distinction.sound, seeds, distinction.announced)
    another = shortest(pools[place], distinction.sound, distinction.changed, distinction.announced)
    return min((each for each in (known, another) if each is not None), key=effort, default=None)


def shortest_for_all(probe: Probe) -> Probe:
    """The probe without the steps that none of its behaviours needs."""

    def shows(actions: Sequence[ScriptAction]) -> bool:
        return all(distinction.holds_of(probe.script.keeping(actions)) for distinction in probe.distinctions)

    return replace(probe, script=probe.script.keeping(tuple(reduced(probe.script.actions, shows))))


if __name__ == "__main__":
    *_, found = search(SEEDS, probes(), Console(stderr=True, soft_wrap=True).print)
    write(map(shortest_for_all, found))

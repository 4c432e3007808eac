"""`python -m model_tests.probe.searching`: searches the specification for probing sessions, and writes them down.

For each pair of neighbouring releases and each behaviour that they differ in, a session is searched for that one of the
two answers otherwise once it has the other's value of that behaviour alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from rich.console import Console

from model_tests.probe.distinguishing import (
    Candidates,
    distinguishes,
    effort,
    runs_out,
    shortest,
)
from model_tests.probe.probes import UNSEEN, Distinction, Probe, differing, neighbours, probes, write
from model_tests.probe.script import Script
from spec.versions import Profile

SEEDS: Final = 150
"""Of each family that are drawn."""


def wanted() -> Iterator[tuple[Profile, Profile, Distinction]]:
    """Each release, itself with one behaviour of a neighbour, and what distinguishes them."""
    for older, newer in neighbours():
        for one, other in ((older, newer), (newer, older)):
            for name in differing(one, other):
                if name not in UNSEEN:
                    value = getattr(other, name)
                    yield one, replace(one, **{name: value}), Distinction(one.name, name, value)


def search(seeds: int, known: Sequence[Probe], say: Callable[[str], None]) -> Iterator[list[Probe]]:
    """The probes, each time that one is found; a probe that shows several behaviours is the only one for them.

    Args:
        seeds: of each family that are drawn.
        known: probes that were found before, whose scripts are tried first.
        say: prints a line.
    """
    found: dict[Script, list[Distinction]] = {probe.script: [] for probe in known}
    pools: dict[str, Candidates] = {}
    for one, changed, distinction in wanted():
        several = [each for each in found if distinguishes(each, one, changed)]
        script = min(several, key=effort, default=None)
        if script is None or runs_out(script):
            if one.name not in pools:
                pools.clear()
                pools[one.name] = Candidates(one, seeds)
            another = shortest(pools[one.name], one, changed)
            script = min((each for each in (script, another) if each is not None), key=effort, default=None)
        if script is None:
            say(f"{distinction.release}: {distinction.behaviour} is not seen")
            continue
        found.setdefault(script, []).append(distinction)
        say(f"{distinction.release}: {distinction.behaviour} by {len(script.actions)} steps")
        yield [Probe(script, tuple(distinctions)) for script, distinctions in found.items() if distinctions]


if __name__ == "__main__":
    *_, found = search(SEEDS, probes(), Console(stderr=True, soft_wrap=True).print)
    write(found)

"""`python -m model_tests.probe.covering`: which branches of the specification sessions can reach, by release.

A branch that no script reaches, of many that are drawn, is taken for one that no client can reach. `branches.json` has
the others, and what was drawn; a run on a broker is compared with them.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import astuple
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from model_tests.conform.decision_log import branch_name
from model_tests.probe.distinguishing import scripts, with_few_epochs
from model_tests.probe.imagined import ImaginedBroker
from spec.versions import NEWEST, RELEASES, Profile

FILE: Final = Path(__file__).with_name("branches.json")
SEEDS: Final = 40
"""Of each family that are drawn."""

COMPARED: Final = 3
"""Seeds of each family by which it is seen that others are drawn by now."""

DRAWN: Final = "drawn"
"""The entry of the file that says from which scripts it was made."""


@cache
def reachable(profile: Profile) -> frozenset[str]:
    """The branches that sessions can reach under a release and a transaction version; empty if not derived."""
    return frozenset(_written().get(_key(profile), ()))


def is_stale() -> bool:
    """Whether other scripts are drawn than those from which the branches are known."""
    return [_drawn()] != _written().get(DRAWN)


def reached_by_drawing(profile: Profile, seeds: int) -> Collection[str]:
    """The branches that drawn scripts and the directed ones reach in the specification."""
    found: set[str] = set()
    for script in scripts(profile, seeds):
        fewer = with_few_epochs(profile, script)
        broker = ImaginedBroker(fewer, script)
        for _ in broker.steps():
            found.update(branch_name(decided, fewer) for decided in broker.decided)
    return found


def _written() -> dict[str, list[str]]:
    written: dict[str, list[str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return written


def _drawn() -> str:
    """A digest of the directed scripts, and of some that are drawn, of new clients and of old ones."""
    listed = [str(astuple(script)) for release in (RELEASES[0], NEWEST) for script in scripts(release, COMPARED)]
    return sha256("\n".join(listed).encode()).hexdigest()


def _key(profile: Profile) -> str:
    return f"{profile.name} under {profile.transaction_version}"


def _variants() -> Iterator[Profile]:
    for release in RELEASES:
        yield from (release.under(version) for version in range(release.transaction_version + 1))


if __name__ == "__main__":
    listed = {_key(profile): sorted(reached_by_drawing(profile, SEEDS)) for profile in _variants()} | {
        DRAWN: [_drawn()]
    }
    FILE.write_text(json.dumps(listed, indent=0) + "\n", encoding="utf-8")

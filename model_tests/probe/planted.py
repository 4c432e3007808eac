"""`python -m model_tests.probe.planted`: which planted defects of brokers sessions see, and why they do not see others.

The broker is imagined, and the reference with the defect answers for it: no restart, no replica, one node, and time
passes only where a session waits for it.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache, wraps
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final
from unittest.mock import patch

from model_tests.bugs.defects import DEFECTS as BUGS
from model_tests.conform.on_reference import OnReference
from model_tests.mutants.defects import of_append, of_coordinator, of_groups, of_identities, of_markers, of_verification
from model_tests.mutants.defects.planted import Planted, planted_in
from model_tests.probe.directed import directed
from model_tests.probe.distinguishing import ImaginedSession, differs, runs_out
from model_tests.probe.families import drawn
from model_tests.probe.imagined import ImaginedBroker
from model_tests.probe.probes import probes
from model_tests.probe.script import Script
from spec.versions import PROFILES, Profile

FILE: Final = Path(__file__).with_name("planted.json")
RELEASES: Final[Mapping[str, int]] = MappingProxyType({"4.3": 12, "3.9.0": 3, "2.4": 3})
"""On which the defects are planted, one after the other, and the sessions of each family: 12 in a default run."""

FAMILIES: Final = ("A", "B", "C", "D", "T")
"""Of the sessions; in races the order is unknown, and epochs that run out take long."""

UNREACHED: Final = "no session comes to the line"
ALIKE: Final = "sessions come to the line, and are answered alike"
STOPPED: Final = "the reference stops"

WHY: Final[Mapping[str, str]] = MappingProxyType(
    dict.fromkeys(("_load_record", "load", "replay", "take_over"), "it shows once a coordinator loads its log again")
    | dict.fromkeys(("write",), "it shows once a log refuses a write, or is loaded again")
    | dict.fromkeys(("MEANING",), "it shows once a marker is not delivered")
    | dict.fromkeys(("send_markers",), "it shows once a marker is not delivered, or in topics of one name alone")
    | dict.fromkeys(
        ("is_timed_out",), "it shows as time passes: a live session may see it, an imagined one has no clock"
    )
    | dict.fromkeys(("is_idle", "is_expired"), "it shows after days without a request")
    | dict.fromkeys(("claim",), "it shows where several nodes hand out producer ids, or one hands out a thousand")
    | dict.fromkeys(
        ("rotate_producer_id", "is_exhausted", "complete_end"), "it shows where epochs run out: sessions of family X"
    )
    | dict.fromkeys(("complete",), "it shows before a marker is replicated")
    | dict.fromkeys(
        ("is_verified", "needs_guard", "clear_verification", "check_lowest_waiting"),
        "it shows for a moment, while a verification is under way",
    )
    | dict.fromkeys(("clean",), "it shows in what the cleaner leaves")
)
"""Why a client does not see a defect, by what is replaced."""


def of_brokers() -> Mapping[str, Planted]:
    """The defects of what a broker does with requests, those of known bugs among them."""
    modules = (of_append, of_coordinator, of_groups, of_identities, of_markers, of_verification, of_append)
    listed = {**planted_in(*modules), **{f"{bug}: {planted.name}": planted for bug, planted in BUGS.items()}}
    return {
        name: planted for name, planted in listed.items() if all(_of_broker(each.owner) for each in planted.patches)
    }


def _of_broker(owner: object) -> bool:
    module = owner.__name__ if isinstance(owner, ModuleType) else str(getattr(owner, "__module__", ""))
    return module.startswith(("reference.broker", "reference.log"))


def found_by(planted: Planted, release: str, seeds: int) -> str:
    """The first session of a release that sees a defect, as `B3, step 4`; otherwise why none does.

    Args:
        planted: the defect.
        release: that the reference behaves like.
        seeds: sessions of each family.
    """
    profile, calls = PROFILES[release], [0]
    with ExitStack() as stack:
        for each in planted.patches:
            stack.enter_context(patch.object(each.owner, each.name, _counted(each.instead, calls)))
        for script in _scripts(release, seeds):
            place = _differing(script, profile)
            if place is not None:
                return f"{script.family}{script.seed}, {place}"
    countable = any(callable(each.instead) for each in planted.patches)
    return ALIKE if calls[0] or not countable else UNREACHED


def _differing(script: Script, profile: Profile) -> str | None:
    """Where a session differs; None if it does not."""
    broker = ImaginedBroker(profile, script, OnReference)
    try:
        played = tuple(broker.steps())
    except Exception as error:  # noqa: BLE001  # a defect may break anything
        return f"{STOPPED}: {type(error).__name__}"
    keys, steps = (tuple(part) for part in zip(*played, strict=True)) if played else ((), ())
    place = differs(ImaginedSession(script, broker.partitions, keys, steps), profile)
    return None if place is None else f"step {place}"


@cache
def _scripts(release: str, seeds: int) -> Sequence[Script]:
    implicit = PROFILES[release].transaction_version == 2
    probing = [probe.script for probe in probes() if not runs_out(probe.script)]
    listed = [drawn(family, seed, implicit=implicit) for seed in range(seeds) for family in FAMILIES]
    return [*probing, *directed(), *listed]


def _counted(instead: Any, calls: list[int]) -> Any:
    """What is planted, and that counts how often it is called; a value or a property as it is."""
    if not callable(instead) or isinstance(instead, type):
        return instead
    plain: Callable[..., Any] = instead

    @wraps(plain)
    def counting(*arguments: Any, **named: Any) -> Any:
        calls[0] += 1
        return plain(*arguments, **named)

    return counting


def tabulated() -> Iterator[tuple[str, dict[str, str]]]:
    """Each defect with what came of it, by release, up to the first that shows it."""
    for name, planted in of_brokers().items():
        found: dict[str, str] = {}
        for release, seeds in RELEASES.items():
            found[release] = found_by(planted, release, seeds)
            if is_seen(found[release]):
                break
        yield name, found


def is_seen(outcome: str) -> bool:
    """Whether a session sees the defect."""
    return outcome not in (UNREACHED, ALIKE)


def unseen() -> Iterator[tuple[str, str]]:
    """The defects that no session has seen, as the table says, and why no client does."""
    for name, found in written().items():
        if not any(map(is_seen, found.values())):
            yield name, WHY[of_brokers()[name].patches[0].name]


def written() -> Mapping[str, Mapping[str, str]]:
    """The table as it was last written."""
    table: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return table


if __name__ == "__main__":
    FILE.write_text(json.dumps(dict(tabulated()), indent=0) + "\n", encoding="utf-8")

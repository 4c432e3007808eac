"""Probing sessions: for each behaviour that a client can see, a script that distinguishes its two values.

`probes.json` is found by `python -m model_tests.probe.searching`; nothing in it is written by hand.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, fields, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from model_tests.probe.directed import directed
from model_tests.probe.distinguishing import distinguishes
from model_tests.probe.requests import Announced, taken_by_both
from model_tests.probe.script import Script, ScriptAction
from spec.versions import KAFKA_3_9, KAFKA_3_9_UNVERIFIED, PROFILES, RELEASES, Profile

FILE: Final = Path(__file__).with_name("probes.json")
NO_BEHAVIOURS: Final = ("name", "transaction_version")
"""Fields of a profile that a cluster says by itself."""

UNSEEN: Final[Mapping[str, str]] = MappingProxyType(
    dict.fromkeys(
        (
            "replica_tolerates_stale_marker",
            "proposal_checked",
            "stale_fetch_refused",
            "truncates_by_leader_epoch",
            "truncation_names_epoch",
            "fetch_names_leader_epoch",
            "fetch_finds_divergence",
            "insync_set_is_asked_for",
            "quorum_controller",
            "replica_lag_time_max_ms",
            "returns_at_epoch_start",
            "shrink_raises_leader_epoch",
            "incarnations_compared",
            "high_watermark_needs_min_isr",
            "eligible_leader_replicas",
            "ids_from_controller",
            "network_exception_converted",
        ),
        "it shows between brokers",
    )
    | dict.fromkeys(
        ("cleaner_compares_marker_keys", "cleaner_keeps_last_of_round", "cleaner_keeps_below_watermark"),
        "it shows in what the cleaner leaves",
    )
    | dict.fromkeys(
        (
            "recovered_batches",
            "rotation_persisted",
            "previous_id_always_follows",
            "read_offsets_create_group",
            "tombstone_drops_pending",
            "leaderless_marker_dropped",
        ),
        "it shows after a restart",
    )
    | dict.fromkeys(
        ("dead_group_is_unavailable", "rebalance_checked_last", "old_member_epoch_commits", "offsets_verified_first"),
        "it shows while members of a group change",
    )
    | dict.fromkeys(
        ("failed_fence_remembered", "scala_group_errors", "refused_commit_drops_pending"),
        "it shows where a log refuses a write",
    )
    | dict.fromkeys(
        (
            "offsets_lag_marker",
            "pending_checked_first",
            "marker_keeps_next_guard",
            "stale_epoch_before_coordinator",
            "stale_epoch_before_verification",
        ),
        "it shows for a moment, while something else is under way",
    )
    | dict.fromkeys(("first_offset_by_sequences",), "it shows after 2^31 records of a producer")
    | dict.fromkeys(("empty_group_id_refused",), "it shows where a group has no name")
    | dict.fromkeys(("max_sequence", "max_epoch", "split_out_of_order"), "it is of finite models and proposals")
)
"""Behaviours that no script here can show, by where they do show."""


HIDDEN: Final = "another difference hides it, or no session met it"
"""Of a behaviour that a client sees between other releases alone."""


@dataclass(frozen=True, slots=True)
class Distinction:
    """Two values of one behaviour, in a release.

    Attributes:
        release: the name of a profile.
        behaviour: a field of it.
        other: the value that the release does not have.
        under: the transaction version of the cluster.
        beside: a release that takes all that is sent, too; the release itself where nothing else shows the behaviour.
    """

    release: str
    behaviour: str
    other: Any
    under: int
    beside: str

    @property
    def sound(self) -> Profile:
        """The release as it is."""
        return PROFILES[self.release].under(self.under)

    @property
    def changed(self) -> Profile:
        """The release with the other value."""
        return replace(self.sound, **{self.behaviour: self.other})

    @property
    def announced(self) -> Announced:
        """The versions of requests that are sent."""
        return taken_by_both(self.sound, PROFILES[self.beside])

    def holds_of(self, script: Script) -> bool:
        """Whether a script is answered otherwise once the release has the other value."""
        return distinguishes(script, self.sound, self.changed, self.announced)


@dataclass(frozen=True, slots=True)
class Probe:
    """A script, and what it distinguishes."""

    script: Script
    distinctions: tuple[Distinction, ...]

    def to_json(self) -> dict[str, Any]:
        """The probe as JSON values; fields of an action that have their default are left out."""
        return {
            "family": self.script.family,
            "legacy": self.script.legacy,
            "actions": [_written(action) for action in self.script.actions],
            "distinctions": [list(astuple(each)) for each in self.distinctions],
        }


@cache
def probes() -> tuple[Probe, ...]:
    """Every probe."""
    return tuple(_read(number, each) for number, each in enumerate(json.loads(FILE.read_text(encoding="utf-8"))))


def origin_of(script: Script) -> str:
    """Where a script is from: it was searched for, or is directed, or drawn."""
    if any(script == probe.script for probe in probes()):
        return "probing"
    return "directed" if script in directed() else "drawn"


def write(found: Iterable[Probe]) -> None:
    """Write every probe anew, a line each."""
    FILE.write_text("[\n" + ",\n".join(json.dumps(each.to_json()) for each in found) + "\n]\n", encoding="utf-8")


def neighbours() -> Iterator[tuple[Profile, Profile]]:
    """Each release with the one after it; a release with a setting changed is the neighbour of that release."""
    yield from pairwise(release for release in RELEASES if release is not KAFKA_3_9_UNVERIFIED)
    yield KAFKA_3_9, KAFKA_3_9_UNVERIFIED


def differing(one: Profile, other: Profile) -> tuple[str, ...]:
    """The behaviours in which two releases differ."""
    return tuple(
        part.name
        for part in fields(Profile)
        if part.name not in NO_BEHAVIOURS and getattr(one, part.name) != getattr(other, part.name)
    )


def unseen_between(one: Profile, other: Profile) -> str:
    """In what two releases differ that no client sees, and where each of it shows."""
    reasons = (f"{name} ({why})" for name, why in unseen_in(one, other))
    return "they differ in " + (", ".join(reasons) or "nothing else")


def unseen_in(one: Profile, other: Profile) -> Iterator[tuple[str, str]]:
    """Each behaviour in which two releases differ and that no probe distinguishes, and why."""
    seen = set(seen_between(one, other))
    for name in differing(one, other):
        if name not in seen:
            yield name, UNSEEN.get(name) or _hidden(name, one, other)


def indistinct(profile: Profile) -> Iterator[str]:
    """The neighbours of a release that no client can distinguish from it, a line each."""
    for one, other in neighbours():
        if profile.name in (one.name, other.name) and not any(seen_between(one, other)):
            neighbour = other if profile.name == one.name else one
            yield f"no client can distinguish Kafka {neighbour.name} from {profile.name}: {unseen_between(one, other)}"


@cache
def seen_between(one: Profile, other: Profile) -> tuple[str, ...]:
    """The behaviours of two releases that a probe distinguishes in one of them.

    The probe is sent in the versions of requests that both take: one that is compared with the other is asked no more.
    """

    def is_seen(name: str) -> bool:
        several = [
            Distinction(each.name, name, getattr(another, name), each.transaction_version, another.name)
            for each, another in ((one, other), (other, one))
        ]
        return any(distinction.holds_of(probe.script) for probe in _showing(name) for distinction in several)

    return tuple(name for name in differing(one, other) if is_seen(name))


def _showing(name: str) -> Iterator[Probe]:
    """The probes that show a behaviour somewhere."""
    return (probe for probe in probes() if name in {distinction.behaviour for distinction in probe.distinctions})


def _hidden(name: str, one: Profile, other: Profile) -> str:
    """Why a client that may see a behaviour does not see it between two releases."""
    listed = [
        distinction for probe in _showing(name) for distinction in probe.distinctions if distinction.behaviour == name
    ]
    there = [distinction for distinction in listed if distinction.release in (one.name, other.name)]
    alone = next(
        (
            distinction
            for distinction in there
            if distinction.under == PROFILES[distinction.release].transaction_version
        ),
        None,
    )
    if alone is not None:
        return f"{alone.release} shows it in versions of requests that not both take"
    return next((f"it shows under transaction.version {distinction.under}" for distinction in there), HIDDEN)


def _written(action: ScriptAction) -> dict[str, Any]:
    plain = ScriptAction(0, "")
    return {
        part.name: getattr(action, part.name)
        for part in fields(ScriptAction)
        if getattr(action, part.name) != getattr(plain, part.name)
    }


def _read(number: int, written: Mapping[str, Any]) -> Probe:
    actions = tuple(ScriptAction(**each) for each in written["actions"])
    distinctions = tuple(Distinction(*each) for each in written["distinctions"])
    return Probe(Script(written["family"], number, actions, written["legacy"]), distinctions)

"""Which release a broker behaves like: its sessions judged under every release, and under each with one change."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import combinations
from typing import Any, Final

from model_tests.conform.api_versions import APIS, TAKEN
from model_tests.conform.sessions import Session
from model_tests.conform.side_by_side import SessionSides
from model_tests.probe.judging import LIVE
from model_tests.probe.played import PlayedSession
from model_tests.probe.probes import NO_BEHAVIOURS, UNSEEN, differing, neighbours, unseen_between
from model_tests.probe.target import Target
from reference.wire.versions import is_since
from spec.versions import PROFILES, RELEASES, Profile

FEATURE_SINCE: Final = "4.0"
"""First release that has the feature `transaction.version`."""


@dataclass(frozen=True, slots=True)
class ShownBehaviour:
    """One behaviour as a broker shows it.

    Attributes:
        shown: its value, under which some sessions agree that disagree under the other one.
        expected: its value in the release that fits best.
        sessions: how many distinguish the two.
    """

    name: str
    shown: object
    expected: object
    sessions: int

    def to_json(self) -> dict[str, object]:
        """The behaviour as JSON values.

        Fields:
            behaviour: name of a behaviour that some session shows
            shown: its value at this broker
            release: its value in the release that fits best
            sessions: sessions that distinguish the two values
        """
        return {"behaviour": self.name, "shown": self.shown, "release": self.expected, "sessions": self.sessions}


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a broker behaves like.

    Attributes:
        best: the release under which most of its sessions agree.
        alike: the names of the releases that no session distinguishes from it.
        agreeing: how many sessions agree, by release.
        sessions: how many there were.
        behaviours: those that some session shows.
    """

    best: Profile
    alike: tuple[str, ...]
    agreeing: Mapping[str, int]
    sessions: int
    behaviours: tuple[ShownBehaviour, ...] = field(default_factory=tuple)

    def to_json(self) -> dict[str, Any]:
        """The fingerprint as JSON values.

        Fields:
            best: the release under which most sessions agree
            alike[]: releases that no session distinguishes from it
            agreeing.*: sessions that agree, by release
            sessions: sessions that were compared with every release
        """
        return {
            "best": self.best.name,
            "alike": list(self.alike),
            "agreeing": dict(self.agreeing),
            "sessions": self.sessions,
            "behaviours": [shown.to_json() for shown in self.behaviours],
        }

    def lines(self) -> Iterator[str]:
        """The fingerprint for a person to read."""
        agreeing = self.agreeing[self.best.name]
        yield f"behaves most like Kafka {self.best.name}: {agreeing} of {self.sessions} sessions agree"
        for name in self.alike:
            yield f"cannot be distinguished from Kafka {name}: {unseen_between(self.best, PROFILES[name])}"
        shown = ", ".join(f"{each.name}={each.shown}" for each in self.behaviours)
        yield f"{len(self.behaviours)} behaviours shown: {shown or 'none'}"
        for each in self.behaviours:
            if each.shown != each.expected:
                yield f"differs from {self.best.name}: {each.name} is {each.shown}, there {each.expected}"


def guessed(target: Target) -> Profile:
    """The newest of the releases that take just what the oldest one does that takes all that a broker announces."""
    possible = [release for release in RELEASES if may_be(release, target.transaction_version)]
    taking = [release for release in possible if _takes_all(release, target)] or possible[-1:]
    return [release for release in taking if TAKEN[release.name] == TAKEN[taking[0].name]][-1]


def may_be(release: Profile, transaction_version: int | None) -> bool:
    """Whether a release has the feature `transaction.version` if and only if the cluster does."""
    return is_since(release, FEATURE_SINCE) == (transaction_version is not None)


def _takes_all(release: Profile, target: Target) -> bool:
    """Whether a release takes every version that a broker announces."""
    taken = TAKEN[release.name]
    return all(target.announced[api][1] <= taken.get(api, (0, -1))[1] for api in APIS if api in target.announced)


def under_feature(profile: Profile, transaction_version: int | None) -> Profile:
    """The release under the transaction version that the cluster has finalized, None where it has no such feature.

    A release that knows the feature takes what is not finalized for version 0.
    """
    if not is_since(profile, FEATURE_SINCE):
        return profile
    return profile.under(min(transaction_version or 0, 2))


def agrees(played: PlayedSession, profile: Profile) -> bool:
    """Whether a specification of this profile answers a whole session as the broker did."""
    session = Session(played.session["id"], played.script.family, profile, played.partitions, ())
    judge = SessionSides(session, LIVE)
    return not any(judge.play(step).disagreed for step in played.typed)


def held_against(played: PlayedSession, profile: Profile) -> PlayedSession:
    """A session that was played to its end, as if it had been compared with another release from the beginning."""
    session = {**played.session, "kafka": profile.name, "txn_version": profile.transaction_version}
    judged = replace(played, session=session, comparisons=[])
    judge = SessionSides(Session(session["id"], played.script.family, profile, played.partitions, ()), LIVE)
    for step in played.typed:
        judged.comparisons.append(judge.play(step))
        if judged.disagreed is not None:
            break
    return judged


def fingerprint_of(
    probing: Sequence[PlayedSession], drawn: Sequence[PlayedSession], transaction_version: int | None, guess: Profile
) -> Fingerprint:
    """The release that sessions fit best; where several do alike, the guess, or else the newest.

    Args:
        probing: probing sessions as they were recorded, which show behaviours.
        drawn: further sessions.
        transaction_version: that the cluster has finalized, None where it has no such feature.
        guess: by what the broker announces.
    """
    possible = [release for release in RELEASES if may_be(release, transaction_version)]
    candidates = [under_feature(release, transaction_version) for release in possible]
    sessions = (*probing, *drawn)
    agreeing = {each.name: sum(agrees(played, each) for played in sessions) for each in candidates}
    most = max(agreeing.values())
    fitting = [each for each in candidates if agreeing[each.name] == most]
    best = next((each for each in fitting if each.name == guess.name), fitting[-1])
    alike = tuple(each.name for each in fitting if each is not best)
    return Fingerprint(best, alike, agreeing, len(sessions), tuple(_shown(probing, best)))


def _shown(sessions: Sequence[PlayedSession], best: Profile) -> Iterator[ShownBehaviour]:
    """Every behaviour by whose change alone some session agrees or does not."""
    verdicts = [agrees(played, best) for played in sessions]
    for name, changed in changes(best):
        for_it = against_it = 0
        for played, verdict in zip(sessions, verdicts, strict=True):
            other = agrees(played, changed)
            for_it += verdict and not other
            against_it += other and not verdict
        if for_it or against_it:
            value = getattr(best if for_it >= against_it else changed, name)
            yield ShownBehaviour(name, value, getattr(best, name), max(for_it, against_it))


def changes(profile: Profile) -> Iterator[tuple[str, Profile]]:
    """The profile with another value of each behaviour that a client may see, one at a time."""
    for behaviour in fields(Profile):
        name = behaviour.name
        if name in NO_BEHAVIOURS or name in UNSEEN:
            continue
        value = getattr(profile, name)
        for other in dict.fromkeys(getattr(release, name) for release in RELEASES):
            if other != value:
                yield name, replace(profile, **{name: other})


def explained_by(played: PlayedSession, profile: Profile) -> tuple[str, ...]:
    """The behaviours by whose change alone a session agrees that does not: what its broker does otherwise.

    Where none does so alone, two of a neighbouring release that do together.
    """
    alone = [(name, getattr(changed, name)) for name, changed in changes(profile) if agrees(played, changed)]
    if alone:
        return tuple(f"{name}={value}" for name, value in alone)
    return tuple(
        " and ".join(f"{name}={value}" for name, value in two.items())
        for two in _pairs_of_neighbours(profile)
        if agrees(played, replace(profile, **two))
    )


def _pairs_of_neighbours(profile: Profile) -> Iterator[dict[str, Any]]:
    """Each two behaviours in which a release differs from one beside it, with the values there."""
    for pair in neighbours():
        names = [each.name for each in pair]
        if profile.name in names:
            other = pair[1 - names.index(profile.name)]
            seen = [name for name in differing(profile, other) if name not in UNSEEN]
            yield from ({name: getattr(other, name) for name in two} for two in combinations(seen, 2))

"""Scripts and their shortening, without a broker."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from model_tests.common.reports import BadInput
from model_tests.conform.api_versions import TAKEN
from model_tests.probe.families import DRAWS, drawn
from model_tests.probe.options import seconds_of
from model_tests.probe.reducing import reduced
from model_tests.probe.requests import EXPLICIT, version_of
from model_tests.probe.script import COPY, NEWEST, Script, ScriptAction
from model_tests.probe.shrinking import of_new_client
from model_tests.probe.target import Pace, java_hash
from spec.versions import KAFKA_4_3
from spec.vocabulary import Api


@pytest.mark.parametrize("family", DRAWS)
def test_a_seed_gives_one_script(family: str) -> None:
    """The same family and seed give the same actions, another seed gives others."""
    first, again, other = (drawn(family, seed, implicit=True) for seed in (1, 1, 2))

    assert first == again
    assert first.actions != other.actions
    assert len({action.key for action in first.actions}) == len(first.actions)


@pytest.mark.parametrize("family", DRAWS)
def test_copies_name_actions_before_them(family: str) -> None:
    """A late copy is of something that was sent before."""
    scripts = [drawn(family, seed, implicit=False) for seed in range(20)]

    for script in scripts:
        seen: set[int] = set()
        for action in script.actions:
            assert action.api != COPY or action.original in seen
            seen.add(action.key)


def test_action_in_words() -> None:
    """An action says what it does, relative to what comes next."""
    action = next(a for a in drawn("A", 3, implicit=False).actions if a.api == "Produce")

    assert "p0: produce next - 1 to 0" == str(replace(action, who="p0", sequence=-1, epoch=0, partition=0))


@pytest.mark.parametrize(("text", "hashed"), [("", 0), ("a", 97), ("group", 98629247), ("polygenelubricants", 0)])
def test_partitions_of_coordinators_are_found_as_kafka_does(text: str, hashed: int) -> None:
    """`String.hashCode`, and 0 for the one number that has no positive counterpart."""
    assert hashed == java_hash(text)


@pytest.mark.parametrize(("text", "seconds"), [("", None), ("90", 90), ("90s", 90), ("5m", 300), ("1h", 3600)])
def test_durations(text: str, seconds: float | None) -> None:
    """A number of seconds, or with a unit."""
    assert seconds == seconds_of(text)


@pytest.mark.parametrize("text", ["m", "five", "-1s", "0", "nan"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    """In one line."""
    with pytest.raises(BadInput, match="--time is a duration"):
        seconds_of(text)


def test_the_pace_holds_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a burst, requests wait until they are due."""
    now, slept = [0.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    monkeypatch.setattr("model_tests.probe.target.time.sleep", sleep)
    pace = Pace(100, lambda: now[0])

    for _ in range(200):
        pace.wait()

    assert 1.85 <= now[0] <= 2.01
    assert slept


def test_what_is_simpler_by_now_is_shortened_again() -> None:
    """An old Produce needs its partition added; once it is of the newest version, it does not."""
    added, produced = ScriptAction(1, Api.ADD_PARTITIONS_TO_TXN), ScriptAction(2, Api.PRODUCE, version=0.3)

    def shows(actions: Sequence[ScriptAction]) -> bool:
        return actions[-1].key == 2 and (len(actions) == 2 or actions[-1].version == NEWEST)

    assert [replace(produced, version=NEWEST)] == list(reduced((added, produced), shows))


def test_an_old_client_is_made_a_new_one_that_sends_the_same() -> None:
    """Its requests keep to versions without transactions of version 2."""
    script = Script("B", 0, (ScriptAction(1, Api.END_TXN), ScriptAction(2, Api.INIT_PRODUCER_ID)), legacy=True)

    same = of_new_client(script)

    ended, initialized = same.actions
    assert not same.legacy
    assert (version_of(TAKEN["4.3"], KAFKA_4_3, ended, explicit=False) or 9) <= EXPLICIT[Api.END_TXN]
    assert script.actions[1] == initialized

"""How an effort becomes Hypothesis' settings."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from model_tests.common.reports import BadInput
from model_tests.verify.effort import effort_from_environment, hypothesis_settings, register
from model_tests.verify.results import RunEffort


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = settings.get_current_profile_name()
    for name in ("CI", "EOS_RANDOM", "EOS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    yield
    settings.load_profile(before)


def test_more_effort_is_more_examples() -> None:
    """Quick, default and deep run ever more."""
    counts = [hypothesis_settings(effort).max_examples for effort in RunEffort]

    assert sorted(set(counts)) == counts


def test_a_build_server_sees_the_same_examples_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """With CI set nothing is random, and no database is kept."""
    monkeypatch.setenv("CI", "true")

    chosen = hypothesis_settings(RunEffort.QUICK)

    assert (True, None) == (chosen.derandomize, chosen.database)


def test_a_nightly_run_is_random_and_prints_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """EOS_RANDOM=1 brings chance back, on a build server too; deep prints the blob that replays a failure."""
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("EOS_RANDOM", "1")

    chosen = hypothesis_settings(RunEffort.DEEP)

    assert (False, True) == (chosen.derandomize, chosen.print_blob)
    assert chosen.database is not None


def test_the_environment_names_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every effort is a registered profile; EOS_PROFILE picks the one that tests run under."""
    monkeypatch.setenv("EOS_PROFILE", "quick")

    register()

    assert hypothesis_settings(RunEffort.QUICK).max_examples == settings.get_profile("quick").max_examples
    assert settings.get_current_profile_name() == "quick"


def test_an_unknown_profile_is_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error about a profile that does not exist names those that do."""
    monkeypatch.setenv("EOS_PROFILE", "fast")

    with pytest.raises(BadInput, match="quick, default, deep, not 'fast'"):
        effort_from_environment()

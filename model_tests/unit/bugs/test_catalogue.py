"""The catalogue of known bugs: complete, and consistent with the systems."""

import pytest

from model_tests.bugs.on_reference import profile_of, staged
from spec.bugs.bug import Bug
from spec.bugs.catalogue import BUGS
from spec.engines.finite import instance_of
from spec.rules import RULES

KNOWN = {
    "KAFKA-17754",
    "late-produce",
    "hanging-transaction",
    "KAFKA-14884",
    "KAFKA-14920",
    "KAFKA-18575",
    "KAFKA-18660",
    "KAFKA-19367",
    "KAFKA-20090",
    "KAFKA-20310",
    "KAFKA-19999",
    "KAFKA-19446",
    "KAFKA-17507",
    "KAFKA-15784",
    "KAFKA-9144",
    "KAFKA-6119",
    "KAFKA-14055",
    "KAFKA-7190",
    "KAFKA-5494",
    "KAFKA-8483",
    "KAFKA-12152",
    "KAFKA-18019",
    "KAFKA-9666",
    "librdkafka#4953",
    "KAFKA-20734",
    "refused-commit",
    "late-bump",
    "lowered-version",
}
"""The bugs that the models must find by themselves."""

each_shown = pytest.mark.parametrize("bug", BUGS.values(), ids=lambda bug: bug.name)


def test_every_known_bug_is_in_the_catalogue() -> None:
    """None is left out, and none is there that the list does not have."""
    assert KNOWN == set(BUGS)


@each_shown
def test_a_bug_is_expected_first_and_mended_after(bug: Bug) -> None:
    """Cases that must be violated come first, then those that must hold, each in a release of its own."""
    assert bug.violated
    assert bug.mended
    assert (*bug.violated, *bug.mended) == bug.cases
    assert len({case.profile for case in bug.cases}) == len(bug.cases)


@each_shown
def test_the_claim_is_that_of_the_rule(bug: Bug) -> None:
    """The property checked is the one that the catalogue names as broken, in an instance that is finite."""
    for case in bug.cases:
        system = case.instance.searched()
        assert RULES[bug.rule.id] is case.claim_of(system).rule
        assert instance_of(system, case.instance.sizes).values


@each_shown
def test_every_action_can_be_carried_out(bug: Bug) -> None:
    """There is a script for each system, and it has each of its actions."""
    staging = staged(bug)
    assert staging is not None
    script = staging.script(staging.defective)

    happening = {action.name for action in bug.broken.instance.searched().actions if not action.dormant}

    assert set() == {name for name in happening if not hasattr(script, name)}


@each_shown
def test_every_release_has_behaviours(bug: Bug) -> None:
    """Also those between releases that have a profile."""
    assert all(profile_of(case) for case in bug.cases)

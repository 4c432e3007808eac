"""The whole loop: every release is served and probed, as itself, as its neighbours, and with planted defects."""

from dataclasses import replace
from typing import Final

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.common.reports import HOLDS, VIOLATED
from model_tests.probe.directed import TIMEOUTS
from model_tests.probe.families import DRAWS
from model_tests.probe.options import AUTO
from model_tests.probe.probes import differing, neighbours, seen_between
from model_tests.serve.defects import DEFECTS
from model_tests.unit.probe.served import LEAN, probed, served
from model_tests.unit.support.release_names import named
from spec.versions import RELEASES, Profile

MOST_STEPS: Final = 6
"""Of a script that was shrunk."""

ALL_FAMILIES: Final = replace(LEAN, families=tuple(family for family in DRAWS if family != TIMEOUTS))
LONG: Final = replace(ALL_FAMILIES, sessions=60)
BOTH_WAYS: Final = [pair for older, newer in neighbours() for pair in ((older, newer), (newer, older))]
PLANTED: Final = 15
"""Defects that have to be served at least."""

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("release", RELEASES, ids=named)
def test_every_release_agrees_with_itself(release: Profile) -> None:
    """No step differs, and the server's own judge has nothing to say either."""
    with served(release.name) as cluster:
        report = probed(cluster.bootstrap, release.name, LONG)

    assert (HOLDS, []) == (report.exit_code, report.failures), [str(each) for each in report.causes]
    assert [] == cluster.violated
    assert report.steps > 500


@pytest.mark.parametrize(("held", "shown"), BOTH_WAYS, ids=named)
def test_a_neighbour_is_found_by_its_behaviours(held: Profile, shown: Profile) -> None:
    """A release that is compared with its neighbour differs in what the two differ in, in a few steps each."""
    with served(shown.name) as cluster:
        report = probed(cluster.bootstrap, held.name, ALL_FAMILIES)

    seen = set(seen_between(held, shown)) | set(seen_between(shown, held))
    if not seen:
        assert HOLDS == report.exit_code
        assert any(f"{shown.name} from {held.name}" in note for note in report.notes), report.notes
        return
    assert VIOLATED == report.exit_code
    behaviours = {each.partition("=")[0] for cause in report.causes.values() for each in cause.behaviours}
    assert behaviours & set(differing(held, shown)), [str(each) for each in report.causes]
    assert all(len(cause.script) <= MOST_STEPS for cause in report.causes.values())


@pytest.mark.parametrize("release", RELEASES, ids=named)
def test_a_release_is_found_by_what_it_does(release: Profile) -> None:
    """The one that fits best is the one that is served, or no session distinguishes the two."""
    with served(release.name) as cluster:
        report = probed(cluster.bootstrap, AUTO, LEAN)

    found = report.fingerprint
    assert found is not None
    assert release.name in (found.best.name, *found.alike)
    assert found.sessions == found.agreeing[release.name]
    assert HOLDS == report.exit_code


def test_enough_defects_are_served() -> None:
    """Fewer would show little."""
    assert len(DEFECTS) >= PLANTED


@pytest.mark.parametrize("defect", DEFECTS)
def test_every_served_defect_is_found_and_shrunk(defect: str) -> None:
    """Whatever the defect, some session disagrees, and the first of its causes is short."""
    with served("4.3", defect) as cluster:
        report = probed(cluster.bootstrap, "4.3", replace(LEAN, sessions=40))

    assert VIOLATED == report.exit_code, dict(report.undecided)
    assert min(len(cause.script) for cause in report.causes.values()) <= MOST_STEPS

import re
from itertools import islice
from pathlib import Path
from typing import Final

import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.histories.severity import Severity
from model_tests.unit.audit.written_world import clean_worlds, upgraded_worlds, write_world
from model_tests.unit.support.world_faults import FAULTS
from spec import rules
from spec.versions import KAFKA_0_11, KAFKA_2_5, KAFKA_3_9, NEWEST, PROFILES, Profile

BROKEN_BY_DELAYS: Final = ("txn.", "offsets.", "fence.stale_epoch")
"""What delayed requests break under transaction versions 0 and 1."""


def violations(report: AuditReport, profile: Profile) -> list[tuple[str, Finding]]:
    """What is blamed, but for what delays break under a release."""
    found = [(one.path, finding) for one, finding in report.findings if finding.severity is Severity.VIOLATION]
    if profile.transaction_version < 2:
        found = [(path, one) for path, one in found if not one.rule.id.startswith(BROKEN_BY_DELAYS)]
    return found


@pytest.mark.parametrize(("profile", "worlds"), [(NEWEST, 8), (KAFKA_3_9, 4), (KAFKA_2_5, 3), (KAFKA_0_11, 3)])
def test_the_logs_of_random_worlds_are_never_blamed(tmp_path: Path, profile: Profile, worlds: int) -> None:
    """Crashes, failovers, timeouts, deleted records, refused appends, skewed clocks: nothing above a doubt."""
    batches = 0
    for number, world in enumerate(islice(clean_worlds(profile, FAULTS, 400), worlds)):
        brokers = write_world(world, tmp_path / str(number))

        report = run(brokers, profile=profile, producer_expiry_ms=world.shape.producer_expiration_ms)

        assert violations(report, profile) == []
        assert report.damage == ()
        batches += report.batches
    assert batches > 20 * worlds


@pytest.mark.parametrize(("profile", "worlds"), [(PROFILES["4.3"], 4), (KAFKA_3_9, 3), (KAFKA_2_5, 2)])
@pytest.mark.parametrize("known", [True, False], ids=["checkpoint", "no checkpoint"])
def test_compacted_logs_are_never_blamed(tmp_path: Path, profile: Profile, worlds: int, known: bool) -> None:
    """The cleaner was everywhere, in the coordinators' logs too; its checkpoint may be missing from the copy."""
    cleaned = 0
    for number, world in enumerate(islice(clean_worlds(profile, FAULTS, 400), worlds)):
        brokers = write_world(world, tmp_path / str(number), cleaned=True)
        for broker in brokers if not known else ():
            (broker / "cleaner-offset-checkpoint").unlink()

        report = run(brokers, profile=profile, producer_expiry_ms=world.shape.producer_expiration_ms, deep=True)

        assert violations(report, profile) == []
        assert [bad for bad in report.damage if "/__" in bad.path] == []
        assert not known or report.damage == ()
        cleaned += sum(one.verdict.cleaned for one in report.audited)
    assert cleaned >= worlds - 1


@pytest.mark.parametrize("old", [KAFKA_3_9, KAFKA_2_5])
def test_logs_that_several_releases_wrote_are_never_blamed(tmp_path: Path, old: Profile) -> None:
    """All brokers and clients come to the newest release in the middle: two regimes of epochs in one log."""
    regimes = set[int]()
    for number, world in enumerate(islice(upgraded_worlds(old, NEWEST, 300, FAULTS), 3)):
        report = run(write_world(world, tmp_path / str(number)), producer_expiry_ms=world.shape.producer_expiration_ms)

        assert violations(report, old) == []
        assert report.damage == ()
        regimes |= {one.one.known.client_version for one in report.transactions.judged if one.one.known.decided}
    assert regimes == {0, 2}


def test_a_snapshot_of_a_marker_that_the_cleaner_took_is_in_doubt(tmp_path: Path) -> None:
    """The marker raised the epoch, so that the snapshot knows no sequence: the log has the data before it alone."""
    without_sequence = re.compile(r"\d+\.snapshot, producer \d+; the log cleaner may have removed")
    for number, world in enumerate(islice(upgraded_worlds(KAFKA_3_9, NEWEST, 300, FAULTS), 30)):
        brokers = write_world(world, tmp_path / str(number), cleaned=True)

        report = run(brokers, producer_expiry_ms=world.shape.producer_expiration_ms)

        assert violations(report, KAFKA_3_9) == []
        doubts = [finding.message for _, finding in report.findings if finding.rule is rules.SEQ_STATE_RECOVERABLE]
        if any(map(without_sequence.search, doubts)):
            return
    pytest.fail("no cleaner took a marker that a snapshot knows")

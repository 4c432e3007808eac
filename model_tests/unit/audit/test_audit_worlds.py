from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

import pytest

from model_tests.traces.audit.findings import Severity
from model_tests.traces.audit.run import run_here
from model_tests.unit.audit.written_world import clean_worlds, write_world
from reference.faults import STATE_RETAINED
from spec.versions import KAFKA_0_11, KAFKA_2_5, KAFKA_3_9, NEWEST, Profile

FAULTS: Final = replace(STATE_RETAINED, exhaustion=0)
"""All that may go wrong and leaves producer state alone; without sessions that leave no record."""

BROKEN_BY_DELAYS: Final = ("txn.", "offsets.", "fence.stale_epoch")
"""What delayed requests break under transaction versions 0 and 1."""


@pytest.mark.parametrize(("profile", "worlds"), [(NEWEST, 8), (KAFKA_3_9, 4), (KAFKA_2_5, 3), (KAFKA_0_11, 3)])
def test_the_logs_of_random_worlds_are_never_blamed(tmp_path: Path, profile: Profile, worlds: int) -> None:
    """Crashes, failovers, timeouts, deleted records, refused appends, skewed clocks: nothing above a doubt."""
    batches = 0
    for number, world in enumerate(islice(clean_worlds(profile, FAULTS, 400, 0), worlds)):
        brokers = write_world(world, tmp_path / str(number))

        report = run_here(brokers, profile=profile, producer_expiry_ms=world.shape.producer_expiration_ms)

        found = [(one.path, finding) for one, finding in report.findings if finding.severity is Severity.VIOLATION]
        if profile.transaction_version < 2:
            found = [(path, one) for path, one in found if not one.rule.id.startswith(BROKEN_BY_DELAYS)]
        assert found == []
        assert report.damage == ()
        batches += report.batches
    assert batches > 20 * worlds

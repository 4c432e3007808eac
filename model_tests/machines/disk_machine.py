"""The Hypothesis machine over the log on disk; its invariants carry the rules' names."""

from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize

from model_tests.machines.accounted import NUMBER, AccountedMachine, made_of
from model_tests.machines.disk_events import DiskEvents
from model_tests.machines.disk_invariants import DISK_RULES
from model_tests.machines.disk_runs import DISK_ACTIONS, has_a_past
from model_tests.machines.disk_world import DiskSetting
from reference.log.config import UNLIMITED
from spec.versions import KAFKA_3_9_UNVERIFIED, NEWEST

SETTING: Final = st.builds(
    DiskSetting,
    profile=st.sampled_from((NEWEST, KAFKA_3_9_UNVERIFIED)),
    compacts=st.booleans(),
    retention_bytes=st.sampled_from((UNLIMITED, 1000)),
)


@made_of(DISK_ACTIONS, DISK_RULES)
class DiskMachine(AccountedMachine):
    """Producers and any coordinator on one partition on disk, whose broker fails and whose files are lost."""

    @initialize(setting=SETTING, past=NUMBER)
    def world_begins(self, setting: DiskSetting, past: int) -> None:
        """A partition with some past."""
        self.ledger.broken.clear()
        self.world = DiskEvents(setting, self.ledger)
        has_a_past(self.world, past)

    def teardown(self) -> None:
        """The directory goes."""
        if hasattr(self, "world"):
            self.world.ends()

"""The Hypothesis machine over the log on disk; its invariants carry the rules' names."""

from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from model_tests.machines.accounted import AccountedMachine
from model_tests.machines.disk_events import DiskEvents
from model_tests.machines.disk_runs import NUMBERS, has_a_past
from model_tests.machines.disk_world import DiskSetting
from reference.log.config import UNLIMITED
from spec import rules
from spec.versions import KAFKA_3_9_UNVERIFIED, NEWEST

NUMBER: Final = st.integers(0, NUMBERS - 1)
"""What an event makes its choices with."""

SETTING: Final = st.builds(
    DiskSetting,
    profile=st.sampled_from((NEWEST, KAFKA_3_9_UNVERIFIED)),
    compacts=st.booleans(),
    retention_bytes=st.sampled_from((UNLIMITED, 1000)),
)


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

    # --- producers, coordinator, readers ----------------------------------------------------------------------

    @rule(number=NUMBER)
    def producer_appends(self, number: int) -> None:
        """A batch outside any transaction."""
        self.world.producer_appends(number)

    @rule(number=NUMBER)
    def producer_appends_in_transaction(self, number: int) -> None:
        """A batch in a transaction."""
        self.world.producer_appends_in_transaction(number)

    @rule(number=NUMBER)
    def producer_resends(self, number: int) -> None:
        """A batch once more."""
        self.world.producer_resends(number)

    @rule(number=NUMBER)
    def coordinator_writes_marker(self, number: int) -> None:
        """An end of a transaction, by a coordinator of any epoch."""
        self.world.coordinator_writes_marker(number)

    @rule(number=NUMBER)
    def followers_catch_up(self, number: int) -> None:
        """The high watermark rises."""
        self.world.followers_catch_up(number)

    @rule(number=NUMBER)
    def reader_reads(self, number: int) -> None:
        """A reader goes through the log."""
        self.world.reader_reads(number)

    # --- the log ----------------------------------------------------------------------------------------------

    @rule(number=NUMBER)
    def replica_truncates(self, number: int) -> None:
        """The end of the log goes."""
        self.world.replica_truncates(number)

    @rule(number=NUMBER)
    def broker_retains(self, number: int) -> None:
        """Old segments go."""
        self.world.broker_retains(number)

    @rule(number=NUMBER)
    def log_start_advances(self, number: int) -> None:
        """Old records go."""
        self.world.log_start_advances(number)

    @rule(number=NUMBER)
    def cleaner_compacts(self, number: int) -> None:
        """Old records of a key go."""
        self.world.cleaner_compacts(number)

    @rule(number=NUMBER)
    def broker_restarts(self, number: int) -> None:
        """A clean stop, and what is lost meanwhile."""
        self.world.broker_restarts(number)

    @rule(number=NUMBER)
    def broker_crashes(self, number: int) -> None:
        """A crash at any byte."""
        self.world.broker_crashes(number)

    # --- what must hold ---------------------------------------------------------------------------------------

    @invariant()
    def seq_state_recoverable(self) -> None:
        """The state is the one of snapshot and log."""
        self.world.looks()
        self.holds(rules.SEQ_STATE_RECOVERABLE)

    @invariant()
    def lso_bounds(self) -> None:
        """The offsets ascend."""
        self.holds(rules.LSO_BOUNDS)

    @invariant()
    def lso_monotone(self) -> None:
        """The last stable offset does not fall."""
        self.holds(rules.LSO_MONOTONE)

    @invariant()
    def lso_decided_below(self) -> None:
        """All below it is decided."""
        self.holds(rules.LSO_DECIDED_BELOW)

    @invariant()
    def lso_read_committed(self) -> None:
        """Readers get what is committed."""
        self.holds(rules.LSO_READ_COMMITTED)

    @invariant()
    def lso_aborted_index(self) -> None:
        """Their answers list the aborted transactions."""
        self.holds(rules.LSO_ABORTED_INDEX)

    @invariant()
    def fence_coordinator_epoch(self) -> None:
        """Old coordinators are fenced."""
        self.holds(rules.FENCE_COORDINATOR_EPOCH)

"""The scheduler of a coordinator that is asked anything."""

from reference.clock import Clock
from reference.recording.recorder import Recorder
from reference.simulate.raw_coordinator import RawCoordinator
from reference.simulate.scheduler import Scheduler, always, unusual, usual
from reference.simulate.weights import RAW_COORDINATOR
from reference.tape import Tape
from spec.versions import Profile


class RawCoordinatorScheduler(Scheduler):
    """Picks what a coordinator is asked, and what happens to it."""

    def __init__(self, profile: Profile, tape: Tape, trace: int = 0) -> None:
        """A scheduler of a new coordinator that has not made a turn."""
        clock, recorder = Clock(), Recorder(trace, profile)
        self.world = RawCoordinator(profile, tape, clock, recorder)
        happens = (
            self.world.client_initializes,
            self.world.client_adds_partitions,
            self.world.client_ends,
            self.world.markers_are_answered,
            self.world.transactions_time_out,
            self.world.ids_expire,
            self.world.log_fails,
            self.world.coordinator_fails_over,
        )
        events = usual((*map(always, happens), self.world.broker_asks), RAW_COORDINATOR)
        super().__init__(clock, tape, recorder, events, unusual(()))

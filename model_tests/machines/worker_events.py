"""What goes wrong with the workers of a pipeline: they stop, their programs fail, they stand still."""

from typing import Final

from model_tests.machines.pipeline_setting import SESSION_MS
from reference.tape import Tape
from reference.world.pipelines import PipelineWorld
from reference.world.settling import play_pipelines
from reference.world.worker import WorkerPhase, WorkerRun

IDLE: Final = (WorkerPhase.INITIALIZING, WorkerPhase.READING)


class WorkerEvents(PipelineWorld):
    """A pipeline whose workers fail."""

    def happens(self, event: str) -> None:
        """An event begins, in words."""

    def worker_stops(self, choose: Tape) -> None:
        """A worker stops, one in the middle of its work if there is one soon, and may leave its group first."""
        self._wait_for_work(choose.below(6))
        working = [worker for worker in self.workers if worker.works]
        if working:
            worker, reports = choose.pick(self._busy() or working), choose.below(3) == 0
            self.happens(f"worker {worker.number} {'leaves' if reports else 'crashes'} in {worker.phase.name}")
            (self.worker_leaves if reports else self.worker_crashes)(worker)

    def worker_aborts_next(self, choose: Tape) -> None:
        """The program of a worker will fail in the middle of its next transaction, and try again."""
        working = [worker for worker in self.workers if worker.works]
        if working:
            worker = choose.pick(working)
            self.happens(f"worker {worker.number} will abort its next transaction")
            self.worker_will_fail(worker)

    def worker_stands_still(self, choose: Tape) -> None:
        """A worker is suspended, often for so long that its group continues without it; or one continues."""
        self._wait_for_work(choose.below(6))
        paused = [worker for worker in self._alive() if worker.paused]
        working = [worker for worker in self.workers if worker.works]
        if paused and choose.below(2):
            worker = choose.pick(paused)
            self.happens(f"worker {worker.number} continues, and does not know that it was suspended")
            self.worker_resumes(worker)
            self.worker_continues(worker)
        elif working:
            worker = choose.pick(self._busy() or working)
            self.happens(f"worker {worker.number} is suspended in {worker.phase.name}")
            self.worker_is_suspended(worker)
            if choose.below(2):
                self._rounds(2 + 2 * SESSION_MS // 1000)

    def _busy(self) -> list[WorkerRun]:
        """The workers that have read what they have not finished."""
        return [worker for worker in self.workers if worker.works and worker.phase not in IDLE]

    def _wait_for_work(self, rounds: int) -> None:
        """Some rounds, until a worker has written something that it has not committed."""
        written = (WorkerPhase.SENDING_OFFSETS, WorkerPhase.COMMITTING_FIRST, WorkerPhase.COMMITTING_LAST)
        for turn in range(rounds):
            if any(worker.phase in written for worker in self.workers if worker.works):
                return
            play_pipelines(self, turn % self.shape.nodes)

    def _alive(self) -> list[WorkerRun]:
        return [worker for worker in self.workers if worker.instance.alive]

    def _rounds(self, rounds: int) -> None:
        for turn in range(rounds):
            play_pipelines(self, turn % self.shape.nodes)

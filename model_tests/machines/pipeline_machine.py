"""The Hypothesis machine of pipelines; its invariants carry the rules' names."""

from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from model_tests.machines.accounted import RestingMachine
from model_tests.machines.events import Choices
from model_tests.machines.pipeline_events import PipelineRun
from model_tests.machines.pipeline_runs import has_a_past
from model_tests.machines.pipeline_setting import NUMBERS, drawn_pipeline
from spec import rules

NUMBER: Final = st.integers(0, NUMBERS - 1)
"""What an event makes its choices with."""


class PipelineMachine(RestingMachine):
    """Workers of one group count words in transactions, while workers, coordinators and the network fail."""

    @initialize(number=NUMBER, past=NUMBER)
    def pipeline_begins(self, number: int, past: int) -> None:
        """A pipeline with some past."""
        self.ledger.broken.clear()
        self.world = PipelineRun(drawn_pipeline(Choices(number)), self.ledger)
        has_a_past(self.world, past)

    def comes_to_its_end(self) -> None:
        """The pipeline comes to rest, and the totals are right."""
        self.world.ends()

    # --- what may happen --------------------------------------------------------------------------------------

    @rule(number=NUMBER)
    def everything_arrives(self, number: int) -> None:
        """For some rounds nothing goes wrong."""
        self.world.everything_arrives(number)

    @rule(number=NUMBER)
    def source_continues(self, number: int) -> None:
        """The source writes words, commits or aborts."""
        self.world.source_continues(number)

    @rule(number=NUMBER)
    def worker_takes_a_step(self, number: int) -> None:
        """A worker does what comes next."""
        self.world.worker_takes_a_step(number)

    @rule(number=NUMBER)
    def request_arrives(self, number: int) -> None:
        """One request reaches its node."""
        self.world.request_arrives(number)

    @rule(number=NUMBER)
    def reader_reads(self, number: int) -> None:
        """The output is read."""
        self.world.reader_reads(number)

    @rule(number=NUMBER)
    def worker_joins(self, number: int) -> None:
        """One more worker."""
        self.world.worker_joins(number)

    @rule(number=NUMBER)
    def worker_starts_twice(self, number: int) -> None:
        """A second run of a worker."""
        self.world.worker_starts_twice(number)

    @rule(number=NUMBER)
    def worker_goes(self, number: int) -> None:
        """A worker leaves or crashes."""
        self.world.worker_goes(number)

    @rule(number=NUMBER)
    def worker_gives_up(self, number: int) -> None:
        """A worker aborts, and tries again."""
        self.world.worker_gives_up(number)

    @rule(number=NUMBER)
    def worker_stands_still(self, number: int) -> None:
        """A worker becomes a zombie, or one continues."""
        self.world.worker_stands_still(number)

    @rule(number=NUMBER)
    def network_loses(self, number: int) -> None:
        """A request is lost, or seems to be."""
        self.world.network_loses(number)

    @rule(number=NUMBER)
    def transactions_move(self, number: int) -> None:
        """Another node coordinates transactions."""
        self.world.transactions_move(number)

    @rule(number=NUMBER)
    def group_moves(self, number: int) -> None:
        """Another node coordinates the group."""
        self.world.group_moves(number)

    @rule(number=NUMBER)
    def node_restarts(self, number: int) -> None:
        """A node loses its memory."""
        self.world.node_restarts(number)

    @rule(number=NUMBER)
    def partition_changes_leader(self, number: int) -> None:
        """A follower becomes leader."""
        self.world.partition_changes_leader(number)

    @rule(number=NUMBER)
    def transactions_time_out(self, number: int) -> None:
        """Transactions that are open for too long are aborted."""
        self.world.transactions_time_out(number)

    # --- what must hold ---------------------------------------------------------------------------------------

    @invariant()
    def txn_atomic(self) -> None:
        """No transaction is committed in one place and aborted in another."""
        self.holds(rules.TXN_ATOMIC)

    @invariant()
    def lso_read_committed(self) -> None:
        """Workers and readers have what is committed, and nothing else."""
        self.holds(rules.LSO_READ_COMMITTED)

    @invariant()
    def offsets_atomic(self) -> None:
        """No word is counted twice; in the end none is lost."""
        self.holds(rules.OFFSETS_ATOMIC)

    @invariant()
    def offsets_stable_fetch(self) -> None:
        """A worker that takes partitions over gets stable offsets."""
        self.holds(rules.OFFSETS_STABLE_FETCH)

    @invariant()
    def offsets_generation_fence(self) -> None:
        """Zombies commit no offsets."""
        self.holds(rules.OFFSETS_GENERATION_FENCE)

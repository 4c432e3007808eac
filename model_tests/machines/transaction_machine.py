"""The Hypothesis machines of transactions: one set of rules for four stories; invariants carry the rules' names."""

from collections.abc import Callable
from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from model_tests.machines import transaction_runs as runs
from model_tests.machines.events import Choices
from model_tests.machines.transaction_ending import TransactionRun
from model_tests.machines.transaction_invariants import TransactionInvariants
from model_tests.machines.transaction_setting import FAILOVER, INSTANCES, NUMBERS, SHARED, WORKERS, Story

NUMBER: Final = st.integers(0, NUMBERS - 1)
"""What an event makes its choices with."""


def when(ready: runs.Ready = runs.always) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The rule applies in the stories that have it, while this is so of the machine's world."""

    def limited(method: Callable[..., None]) -> Callable[..., None]:
        name = method.__name__
        return precondition(lambda machine: name not in machine.story.never and ready(machine.world))(method)

    return limited


class TransactionMachine(TransactionInvariants):
    """One transactional id with several instances on a network that loses, copies and delays; brokers fail.

    Attributes:
        story: the worlds that it draws.
    """

    story: ClassVar[Story] = INSTANCES

    @initialize(number=NUMBER, past=NUMBER)
    def world_begins(self, number: int, past: int) -> None:
        """A world of the story, in which something has happened."""
        self.ledger.broken.clear()
        self.world = TransactionRun(self.story.setting(Choices(number)), self.ledger)
        runs.has_a_past(self.world, self.story, past)

    def comes_to_its_end(self) -> None:
        """Everything under way comes to its end."""
        self.world.comes_to_rest()

    # --- what may happen --------------------------------------------------------------------------------------

    @when(runs.anybody_lives)
    @rule(number=NUMBER)
    def application_continues(self, number: int) -> None:
        """An application does what comes next, and its producer sends what it may."""
        self.world.application_continues(number)

    @when()
    @rule(number=NUMBER)
    def everything_arrives(self, number: int) -> None:
        """For some rounds all clients send and all answers arrive, and nothing is lost."""
        self.world.everything_arrives(number)

    @when(runs.requests_are_under_way)
    @rule(number=NUMBER)
    def request_arrives(self, number: int) -> None:
        """One request reaches its node; a copy may come later."""
        self.world.request_arrives(number)

    @when()
    @rule(number=NUMBER)
    def network_holds_up(self, number: int) -> None:
        """A message, often the answer to a broker, is held up while others pass; or all that is held up is released."""
        self.world.network_holds_up(number)

    @when(runs.requests_are_under_way)
    @rule(number=NUMBER)
    def request_arrives_twice(self, number: int) -> None:
        """A request arrives, a marker if there is one, and its copy will come at any later time."""
        self.world.request_arrives_twice(number)

    @when(runs.batches_are_under_way)
    @rule(number=NUMBER)
    def batch_outlives_its_transaction(self, number: int) -> None:
        """A producer gives up a batch that is under way or waits for its verification, and its transaction with it."""
        self.world.batch_outlives_its_transaction(number)

    @when(runs.requests_are_late)
    @rule(number=NUMBER)
    def late_request_arrives(self, number: int) -> None:
        """A request arrives that its sender does not wait for any more, or for the second time."""
        self.world.late_request_arrives(number)

    @when(runs.replies_are_under_way)
    @rule(number=NUMBER)
    def reply_arrives(self, number: int) -> None:
        """One answer reaches its sender; a copy may come later."""
        self.world.reply_arrives(number)

    @when(runs.markers_are_owed)
    @rule(number=NUMBER)
    def coordinator_sends_markers(self, number: int) -> None:
        """A coordinator sends the markers that it owes; a zombie, too."""
        self.world.coordinator_sends_markers(number)

    @when(runs.is_replicated)
    @rule(number=NUMBER)
    def followers_catch_up(self, number: int) -> None:
        """Followers copy everything, or one batch."""
        self.world.followers_catch_up(number)

    @when()
    @rule(number=NUMBER)
    def consumer_reads(self, number: int) -> None:
        """The consumer reads one partition on, or all."""
        self.world.consumer_reads(number)

    @when()
    @rule(number=NUMBER)
    def group_looks_up_offsets(self, number: int) -> None:
        """A consumer asks where its group is, and waits for open transactions or does not."""
        self.world.group_looks_up_offsets(number)

    @when()
    @rule(number=NUMBER)
    def consumer_commits(self, number: int) -> None:
        """A consumer commits offsets outside of any transaction."""
        self.world.consumer_commits(number)

    @when(runs.anybody_lives)
    @rule(number=NUMBER)
    def worker_takes_over(self, number: int) -> None:
        """Another worker becomes the one member of the group; the one before does not know."""
        self.world.worker_takes_over(number)

    @when()
    @rule(number=NUMBER)
    def producer_starts_without_id(self, number: int) -> None:
        """An idempotent producer asks any node for a producer id."""
        self.world.producer_starts_without_id(number)

    @when()
    @rule(number=NUMBER)
    def instance_starts(self, number: int) -> None:
        """One more instance of an id; those before it do not know."""
        self.world.instance_starts(number)

    @when(runs.anybody_lives)
    @rule(number=NUMBER)
    def instance_crashes(self, number: int) -> None:
        """An instance is gone; another takes its place."""
        self.world.instance_crashes(number)

    @when()
    @rule(number=NUMBER)
    def network_loses(self, number: int) -> None:
        """A request, an answer or a whole connection is lost."""
        self.world.network_loses(number)

    @when(runs.somebody_waits)
    @rule(number=NUMBER)
    def sender_loses_patience(self, number: int) -> None:
        """A request times out at its sender, and is still under way."""
        self.world.sender_loses_patience(number)

    @when()
    @rule(number=NUMBER)
    def delivery_times_out(self, number: int) -> None:
        """Batches of producers take too long."""
        self.world.delivery_times_out(number)

    @when()
    @rule(number=NUMBER)
    def coordinator_is_replaced(self, number: int) -> None:
        """A node is elected, and reads its log now or later; the one before it continues."""
        self.world.coordinator_is_replaced(number)

    @when()
    @rule(number=NUMBER)
    def coordinators_load(self, number: int) -> None:
        """Every node that was reading has read."""
        self.world.coordinators_load(number)

    @when()
    @rule(number=NUMBER)
    def zombie_resigns(self, number: int) -> None:
        """A coordinator that was replaced learns of it."""
        self.world.zombie_resigns(number)

    @when()
    @rule(number=NUMBER)
    def coordinator_log_refuses(self, number: int) -> None:
        """The next append of a coordinator fails, or succeeds and seems to have failed."""
        self.world.coordinator_log_refuses(number)

    @when()
    @rule(number=NUMBER)
    def transactions_time_out(self, number: int) -> None:
        """Coordinators look for transactions that are open for too long; in most runs time has passed."""
        self.world.transactions_time_out(number)

    @when()
    @rule(number=NUMBER)
    def transactional_ids_expire(self, number: int) -> None:
        """Coordinators forget what was at rest for long; in most runs time has passed."""
        self.world.transactional_ids_expire(number)

    @when(runs.is_replicated)
    @rule(number=NUMBER)
    def partition_changes_leader(self, number: int) -> None:
        """A follower in sync becomes leader."""
        self.world.partition_changes_leader(number)

    @when()
    @rule(number=NUMBER)
    def partition_is_unavailable(self, number: int) -> None:
        """A partition goes away, or comes back."""
        self.world.partition_is_unavailable(number)

    @when()
    @rule(number=NUMBER)
    def node_restarts(self, number: int) -> None:
        """A node loses its memory; all that it coordinated is elected anew at once."""
        self.world.node_restarts(number)

    @when()
    @rule(number=NUMBER)
    def group_coordinator_is_replaced(self, number: int) -> None:
        """Another node reads the offsets of groups."""
        self.world.group_coordinator_is_replaced(number)

    @when()
    @rule(number=NUMBER)
    def silent_producers_are_forgotten(self, number: int) -> None:
        """A day passes, and a node forgets the producers that were silent."""
        self.world.silent_producers_are_forgotten(number)


class SharedPartitionsMachine(TransactionMachine):
    """Several transactional ids over the same partitions, and ids that expire."""

    story = SHARED


class WorkersMachine(TransactionMachine):
    """Consume, transform, produce, with offsets in the transaction and workers that replace each other."""

    story = WORKERS


class FailoverMachine(TransactionMachine):
    """Coordinators that fail at every point, continue as zombies, and whose log refuses records or seems to."""

    story = FAILOVER


MACHINES: Final = (TransactionMachine, SharedPartitionsMachine, WorkersMachine, FailoverMachine)

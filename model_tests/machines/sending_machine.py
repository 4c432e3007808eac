"""The Hypothesis machine of a producer of records: accumulator and sender, retries, splits, epoch bumps."""

from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from model_tests.machines.accounted import RestingMachine
from model_tests.machines.events import Choices
from model_tests.machines.sending_events import NUMBERS, SendingRun, drawn_sending
from model_tests.machines.sending_runs import has_a_past
from spec import rules

NUMBER: Final = st.integers(0, NUMBERS - 1)
"""What an event makes its choices with."""


class SendingMachine(RestingMachine):
    """A producer that batches, whose connections break and whose brokers fail over."""

    @initialize(number=NUMBER, past=NUMBER)
    def producer_starts(self, number: int, past: int) -> None:
        """A producer with some past."""
        self.ledger.broken.clear()
        self.world = SendingRun(drawn_sending(Choices(number)), self.ledger)
        has_a_past(self.world, past)

    def comes_to_its_end(self) -> None:
        """Everything comes to its end."""
        self.world.ends()

    # --- what may happen --------------------------------------------------------------------------------------

    @rule(number=NUMBER)
    def application_hands_over(self, number: int) -> None:
        """Records, with keys or without."""
        self.world.application_hands_over(number)

    @rule(number=NUMBER)
    def producer_works(self, number: int) -> None:
        """A round of the sender."""
        self.world.producer_works(number)

    @rule(number=NUMBER)
    def application_flushes(self, number: int) -> None:
        """Nothing lingers."""
        self.world.application_flushes(number)

    @rule(number=NUMBER)
    def requests_arrive(self, number: int) -> None:
        """Requests reach their nodes."""
        self.world.requests_arrive(number)

    @rule(number=NUMBER)
    def followers_catch_up(self, number: int) -> None:
        """What was written is replicated."""
        self.world.followers_catch_up(number)

    @rule(number=NUMBER)
    def answers_arrive(self, number: int) -> None:
        """The producer gets an answer."""
        self.world.answers_arrive(number)

    @rule(number=NUMBER)
    def metadata_arrives(self, number: int) -> None:
        """The producer learns who leads."""
        self.world.metadata_arrives(number)

    @rule(number=NUMBER)
    def connection_fails(self, number: int) -> None:
        """A connection breaks."""
        self.world.connection_fails(number)

    @rule(number=NUMBER)
    def partition_changes_leader(self, number: int) -> None:
        """A follower becomes leader."""
        self.world.partition_changes_leader(number)

    @rule(number=NUMBER)
    def time_passes(self, number: int) -> None:
        """Requests and deliveries time out."""
        self.world.time_passes(number)

    # --- what must hold ---------------------------------------------------------------------------------------

    @invariant()
    def seq_order(self) -> None:
        """Records of a partition keep their order."""
        self.holds(rules.SEQ_ORDER)

    @invariant()
    def seq_exactly_once(self) -> None:
        """With idempotence no record is there twice, and none that was acknowledged is lost."""
        self.holds(rules.SEQ_EXACTLY_ONCE)

"""The Hypothesis machine of a producer of records: accumulator and sender, retries, splits, epoch bumps."""

from hypothesis.stateful import initialize

from model_tests.machines.accounted import NUMBER, RestingMachine, made_of
from model_tests.machines.sending_events import SENDING_ACTIONS, SENDING_RULES, SendingRun, drawn_sending, has_a_past
from reference.tape import Tape


@made_of(SENDING_ACTIONS, SENDING_RULES)
class SendingMachine(RestingMachine):
    """A producer that batches, whose connections break and whose brokers fail over."""

    @initialize(number=NUMBER, past=NUMBER)
    def producer_starts(self, number: int, past: int) -> None:
        """A producer with some past."""
        self.ledger.broken.clear()
        self.world = SendingRun(drawn_sending(Tape.of_number(number)), self.ledger)
        has_a_past(self.world, past)

    def run_to_completion(self) -> None:
        """Everything comes to its end."""
        self.world.ends()

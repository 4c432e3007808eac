"""The Hypothesis machine of pipelines; its invariants carry the rules' names."""

from hypothesis.stateful import initialize

from model_tests.machines.accounted import NUMBER, RestingMachine, made_of
from model_tests.machines.pipeline_events import PipelineRun
from model_tests.machines.pipeline_runs import PIPELINE_ACTIONS, has_a_past
from model_tests.machines.pipeline_setting import drawn_pipeline
from model_tests.machines.pipeline_watch import PIPELINE_RULES
from reference.tape import Tape


@made_of(PIPELINE_ACTIONS, PIPELINE_RULES)
class PipelineMachine(RestingMachine):
    """Workers of one group count words in transactions, while workers, coordinators and the network fail."""

    @initialize(number=NUMBER, past=NUMBER)
    def pipeline_begins(self, number: int, past: int) -> None:
        """A pipeline with some past."""
        self.ledger.broken.clear()
        self.world = PipelineRun(drawn_pipeline(Tape.of_number(number)), self.ledger)
        has_a_past(self.world, past)

    def run_to_completion(self) -> None:
        """The pipeline comes to rest, and the totals are right."""
        self.world.ends()

"""A log as its derived files are compared with it."""

from dataclasses import dataclass, field

from model_tests.audit.findings import LogBounds
from model_tests.audit.holes import Holes, Surroundings
from model_tests.audit.links import Links
from model_tests.audit.partial_log import Condensed
from model_tests.audit.reread import RereadRequest
from model_tests.audit.summary import Transactions
from model_tests.logs.kafka_log_batches import Batches
from spec.versions import Profile


@dataclass(frozen=True, slots=True)
class PartitionContext:
    """One partition's log, and what the audit made of it.

    Attributes:
        batches: those that are kept of it.
        asked: what else must be read of it, so that a finding can be explained.
    """

    log: Condensed
    batches: Batches
    found: Transactions
    links: Links
    missing: Holes
    around: Surroundings
    profile: Profile
    offsets: LogBounds
    reread: RereadRequest = field(default_factory=RereadRequest)

    @property
    def begin(self) -> int:
        """First offset that can be in the log."""
        return self.around.first_base

    @property
    def end(self) -> int:
        """The offset after the last one of the log."""
        return self.offsets.log_end

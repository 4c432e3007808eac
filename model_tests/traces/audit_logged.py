"""A log as its derived files are held against it."""

from dataclasses import dataclass

from model_tests.traces.audit_findings import Offsets
from model_tests.traces.audit_holes import Holes, Surroundings
from model_tests.traces.audit_links import Links
from model_tests.traces.audit_summary import Transactions
from model_tests.traces.kafka_log_batches import Batches
from spec.versions import Profile


@dataclass(frozen=True, slots=True)
class Logged:
    """One partition's batches, and what the audit made of them."""

    batches: Batches
    found: Transactions
    links: Links
    missing: Holes
    around: Surroundings
    profile: Profile
    offsets: Offsets

    @property
    def begin(self) -> int:
        """First offset that can be in the log."""
        return self.around.first_base

    @property
    def end(self) -> int:
        """The offset after the last one of the log."""
        return self.offsets.log_end

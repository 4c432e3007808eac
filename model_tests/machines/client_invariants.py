"""The numbers of a client that follows the protocol, as they appear on the wire."""

from dataclasses import dataclass

from model_tests.machines.memory import SEQUENCES
from model_tests.machines.rule_counts import Ledger
from reference.log.batch import RecordBatch
from spec import rules
from spec.evidence import Layer, evidences


@dataclass(frozen=True, slots=True)
class Numbered:
    """A batch that goes out under a producer id, epoch and sequence for the first time.

    Attributes:
        previous: the last sequence that this stream has used under the same producer id and epoch, -1 none.
    """

    by: str
    batch: RecordBatch
    previous: int

    def __str__(self) -> str:
        """What was sent, and what came before."""
        batch = self.batch
        sent = f"producer {batch.producer_id} epoch {batch.producer_epoch} sequence {batch.base_sequence}"
        return f"{self.by} numbered a batch {sent}; the last sequence under this epoch was {self.previous}"


@evidences(rules.SEQ_EPOCH_RESET, Layer.STATEFUL)
@evidences(rules.SEQ_SUCCESSOR, Layer.STATEFUL)
def client_numbers(numbered: Numbered, ledger: Ledger) -> None:
    """Under each epoch a stream begins at sequence 0, and continues without a gap."""
    sequence = numbered.batch.base_sequence
    if numbered.previous == -1:
        ledger.expect(rules.SEQ_EPOCH_RESET, sequence == 0, f"a new epoch begins at sequence 0: {numbered}")
    else:
        wanted = (numbered.previous + 1) % SEQUENCES
        ledger.expect(rules.SEQ_SUCCESSOR, sequence == wanted, f"the next sequence is {wanted}: {numbered}")

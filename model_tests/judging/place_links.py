"""Link rules of a place in a partition's log, whichever replica shows it: what is copied and read is what was written.

The key is a partition and a first offset; on it are the appends of every node, and the batches that readers take.
"""

from typing import Final

from model_tests.judging.compiled import holds
from model_tests.judging.step_link import Scalar, StepLink
from spec import rules
from spec.algebra import Term, all_of, any_of, negate, same
from spec.evidence import Layer, evidences
from spec.judging.judge import RuleCheck
from spec.vocabulary import Origin

PLACE_LINK: Final = "place_link"

TAKEN: Final = "ClientFetched"

_NUMBERS: Final = ("producer_id", "producer_epoch", "base_sequence", "last_offset_delta", "control_type")
_FACTS: Final = ("control", "transactional")
"""What a batch keeps when it is copied, read, or cleaned."""


def on_place(of: Scalar) -> Term:
    """A node appends a batch, or a reader takes one."""
    return all_of(negate(of("topic") == ""), of("first_offset") >= 0, any_of(of("appended"), of("api") == TAKEN))


is_on_place: Final = holds(on_place)
"""The same of a row."""


@evidences(rules.REPL_PREFIX_AGREEMENT, Layer.TRACE)
def copied_as_written(scalar: Scalar) -> RuleCheck:
    """A follower has at a place the batch that was seen there last, where that was under the same leader.

    Under another one it may differ: a past leader continues writing until it learns of the next.
    """
    copies = all_of(scalar("has_previous"), scalar("origin") == Origin.REPLICATION.value)
    one_leader = scalar("previous_leader_epoch") == scalar("leader_epoch")
    return RuleCheck(rules.REPL_PREFIX_AGREEMENT, all_of(copies, one_leader), _same_batch(scalar))


@evidences(rules.REPL_COMMITTED_SURVIVES, Layer.TRACE)
def read_as_written(scalar: Scalar) -> RuleCheck:
    """A reader finds at a place the batch that was seen there last, where no two leaders write at the same time."""
    reads = all_of(scalar("has_previous"), scalar("origin") < 0, scalar("previous_leader_epoch") < 0)
    return RuleCheck(rules.REPL_COMMITTED_SURVIVES, reads, _same_batch(scalar))


def _same_batch(scalar: Scalar) -> Term:
    numbers = (scalar(f"previous_{name}") == scalar(name) for name in _NUMBERS)
    return all_of(*numbers, *(same(scalar(f"previous_{name}"), scalar(name)) for name in _FACTS))


PLACE_LINKS: Final = (
    StepLink("copied", rules.REPL_PREFIX_AGREEMENT, copied_as_written, "the batch that was seen at that place last"),
    StepLink("read", rules.REPL_COMMITTED_SURVIVES, read_as_written, "the batch that was seen at that place last"),
)

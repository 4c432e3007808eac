"""Link rules of transactional ids on Spark: a step of a coordinator and what came before it in the trace.

At one node an id is before a step what the step before left: elections, resignations and restarts leave steps too.
An identity that was handed out once is not handed out again, by whichever node.
"""

from typing import Any, Final

from model_tests.traces.schema import transaction_entry_of
from model_tests.traces.step_link import Scalar, StepLink
from spec import rules
from spec.algebra import all_of, any_of, negate
from spec.evidence import Layer, evidences
from spec.protocol.judge import Check
from spec.protocol.records import flatten

ID_LINK: Final = "id_link"

AT_NODE: Final = ("trace", "node", "transactional_id")
IDENTITY: Final = ("trace", "transactional_id", "reply_producer_id", "reply_epoch")

ON_ID: Final = "transactional_id != '' and node != '' and origin < 0"
"""Steps of a transactional id at a node; what an application was told of it is at none."""

_REPEATED: Final = "handed_out_before"


@evidences(rules.TXN_LEGAL_TRANSITION, Layer.TRACE)
def same_state(scalar: Scalar) -> Check:
    """A coordinator knows of an id what the step before left."""
    previous = transaction_entry_of("previous_after_", scalar)
    before = transaction_entry_of("before_", scalar)
    pairs = zip(flatten(previous), flatten(before), strict=True)
    alike = all_of(*(left == right for (_, left), (_, right) in pairs))
    return Check(rules.TXN_LEGAL_TRANSITION, scalar("has_previous"), alike)


@evidences(rules.IDS_IDENTITY_NEVER_REPEATS, Layer.TRACE)
def new_identity(scalar: Scalar) -> Check:
    """An identity that a step hands out was never handed out before; one that the id has already is told again."""
    return Check(rules.IDS_IDENTITY_NEVER_REPEATS, hands_out(scalar), negate(scalar(_REPEATED)))


def hands_out(scalar: Scalar) -> Any:
    """A step answers with an identity that its id did not have."""
    changed = any_of(
        negate(scalar("reply_producer_id") == scalar("before_txn_producer_id")),
        negate(scalar("reply_epoch") == scalar("before_txn_epoch")),
    )
    return all_of(scalar("error") == 0, scalar("reply_producer_id") >= 0, changed)


ID_LINKS: Final = (
    StepLink("previous_id_state", rules.TXN_LEGAL_TRANSITION, same_state, "the state that the step before left"),
    StepLink("identity", rules.IDS_IDENTITY_NEVER_REPEATS, new_identity, "an identity that was never handed out"),
)

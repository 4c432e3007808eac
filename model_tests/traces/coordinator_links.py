"""Link rules of transactional ids on Spark: a step of a coordinator and what came before it in the trace.

At one node an id is before a step what the step before left: elections, resignations and restarts leave steps too.
An identity that was handed out once is not handed out again, by whichever node.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from model_tests.traces.lower import Sheet, columns_read
from model_tests.traces.schema import transaction_entry_of
from spec import rules
from spec.algebra import all_of, any_of, negate
from spec.evidence import Layer, evidences
from spec.protocol.judge import Check
from spec.protocol.records import flatten
from spec.rules import Rule

ID_LINK: Final = "id_link"

AT_NODE: Final = ("trace", "node", "transactional_id")
IDENTITY: Final = ("trace", "transactional_id", "reply_producer_id", "reply_epoch")

ON_ID: Final = "transactional_id != '' and node != '' and origin < 0"
"""Steps of a transactional id at a node; what an application was told of it is at none."""

_REPEATED: Final = "handed_out_before"


@evidences(rules.TXN_LEGAL_TRANSITION, Layer.TRACE)
def same_state(scalar: Callable[[str], Any]) -> Check:
    """A coordinator knows of an id what the step before left."""
    previous = transaction_entry_of("previous_after_", scalar)
    before = transaction_entry_of("before_", scalar)
    pairs = zip(flatten(previous), flatten(before), strict=True)
    alike = all_of(*(left == right for (_, left), (_, right) in pairs))
    return Check(rules.TXN_LEGAL_TRANSITION, scalar("has_previous"), alike)


@evidences(rules.IDS_IDENTITY_NEVER_REPEATS, Layer.TRACE)
def new_identity(scalar: Callable[[str], Any]) -> Check:
    """An identity that a step hands out was never handed out before; one that the id has already is told again."""
    return Check(rules.IDS_IDENTITY_NEVER_REPEATS, hands_out(scalar), negate(scalar(_REPEATED)))


def hands_out(scalar: Callable[[str], Any]) -> Any:
    """A step answers with an identity that its id did not have."""
    changed = any_of(
        negate(scalar("reply_producer_id") == scalar("before_txn_producer_id")),
        negate(scalar("reply_epoch") == scalar("before_txn_epoch")),
    )
    return all_of(scalar("error") == 0, scalar("reply_producer_id") >= 0, changed)


@dataclass(frozen=True, slots=True)
class IdLink:
    """One link rule.

    Attributes:
        statement: what it allows, in a sentence.
    """

    name: str
    rule: Rule
    check: Callable[[Callable[[str], Any]], Check]
    statement: str

    @property
    def columns(self) -> frozenset[str]:
        """Names of the columns that it looks at, those of the step before with `previous_` before them."""
        check = self.check(Sheet().column)
        return columns_read(check.at_stake, check.holds)


ID_LINKS: Final = (
    IdLink("previous_id_state", rules.TXN_LEGAL_TRANSITION, same_state, "the state that the step before left"),
    IdLink("identity", rules.IDS_IDENTITY_NEVER_REPEATS, new_identity, "an identity that was never handed out"),
)

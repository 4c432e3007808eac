"""Two errors for a sequence that is not the next one: the proposal of decision record 12.

A sequence below the expected one is answered DUPLICATE_SEQUENCE_NUMBER, one above it OUT_OF_ORDER_SEQUENCE_NUMBER. No
state may change by it: the error's name alone is another one.
"""

from spec.systems.transactions.broken import quiet
from spec.systems.transactions.variant import USUAL, Variant, VariantInstance
from spec.systems.transactions.world import Bounds
from spec.versions import NEWEST

VARIANT = Variant(
    name="split-out-of-order",
    sentence="a sequence below the expected one is answered with another error than one above it",
    source=("decision record 12",),
    behaviours={"split_out_of_order": True},
    instances=(*USUAL, VariantInstance("two batches", quiet(NEWEST, bounds=Bounds(transactions=1, batches=2)))),
)

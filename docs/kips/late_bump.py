"""A mended late bump: an InitProducerId that expects an identity is refused unless it is the present one, or a repeat.

While a transaction is open, the newest release compares the producer id alone, and at the last epoch of a producer id
the epoch alone. Here both are compared everywhere.
"""

from collections.abc import Iterator
from dataclasses import replace

from spec import rules
from spec.algebra import Term, all_of, any_of, negate
from spec.protocol.coordinator import TransactionEntry, Transition, is_at_rest, is_fencing
from spec.protocol.ids import InitRequest
from spec.systems.assumptions import NO_LATE_BUMP, NO_LATE_BUMP_AT_THE_LAST_EPOCH
from spec.systems.language import State, System
from spec.systems.transactions.broken import NEAR_THE_END, quiet
from spec.systems.transactions.decisions import ReleaseDecisions
from spec.systems.transactions.known import TransactionLemmaView
from spec.systems.transactions.variant import (
    Variant,
    VariantInstance,
    VariantView,
    claimed,
    guarded,
    refused,
    with_action,
    with_more,
)
from spec.systems.transactions.world import BUMPS, Bounds, TransactionKnobs
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode


def expected_identity_is_known(entry: TransactionEntry, request: InitRequest) -> Term:
    """The identity is the present one, or, while no transaction is open, the one before the last bump."""
    same_id = request.producer_id == entry.producer_id
    present = all_of(same_id, request.producer_epoch == entry.producer_epoch)
    rotated = all_of(request.producer_id == entry.previous_producer_id, entry.producer_epoch == 0)
    repeats = all_of(is_at_rest(entry), request.producer_epoch == entry.last_epoch, any_of(same_id, rotated))
    return any_of(present, repeats)


def comparing(taken: ReleaseDecisions, _: Profile) -> ReleaseDecisions:
    """InitProducerId with the whole identity compared; an id without an identity takes any."""

    def initialize(entry: TransactionEntry, request: InitRequest) -> Transition:
        unknown = all_of(request.expects, entry.producer_epoch >= 0, negate(expected_identity_is_known(entry, request)))
        return refused(entry, taken.initialize(entry, request), unknown, ErrorCode.PRODUCER_FENCED)

    return replace(taken, initialize=initialize)


def uncompared(knobs: TransactionKnobs) -> TransactionKnobs:
    """A bump may come at any time: the proof does not take for granted that it is compared."""
    return replace(knobs, compared=frozenset())


def no_bump_fences(view: TransactionLemmaView) -> Term:
    """No bump has ended an open transaction."""
    return view.fenced_by() == ABSENT


def never_meets(system: System, view: VariantView) -> System:
    """A bump that comes while the coordinator fences already ends nothing; that any other fences is to be excluded."""

    def not_yet(state: State, _: Term) -> Iterator[Term]:
        yield negate(is_fencing(view(state).remembers()))

    name = "bump_meets_open_transaction"
    if name not in {action.name for action in system.actions}:
        return system
    more = with_more(system, lemmas=(claimed(no_bump_fences, rules.TXN_NO_CROSSTALK, view),))
    return with_action(guarded(more, name, not_yet), name, dormant=True)


_LATE = quiet(NEWEST, clients_bump=True, outlive=frozenset({BUMPS}))

VARIANT = Variant(
    name="mended late bump",
    sentence=(
        "an InitProducerId that expects an identity is refused, unless that identity is the present one or, while no"
        " transaction is open, the one before the last bump"
    ),
    source=("bug late-bump", "decision record 35"),
    decisions=comparing,
    knobs=uncompared,
    system=never_meets,
    proves=frozenset({"bump_ends_no_other"}),
    lifts=(NO_LATE_BUMP, NO_LATE_BUMP_AT_THE_LAST_EPOCH),
    spared_by=frozenset(
        {
            "KIP-360: a late bump ends the next transaction",
            "KIP-360: a zombie's bump ends its successor's transaction",
        }
    ),
    instances=(
        VariantInstance("a bump that is late", _LATE, mends="bump_ends_no_other"),
        VariantInstance(
            "a bump that is late, and timeouts", replace(_LATE, times_out=True), mends="bump_ends_no_other"
        ),
        VariantInstance("a zombie's bump", replace(_LATE, bounds=Bounds(instances=2)), mends="bump_ends_no_other"),
        VariantInstance(
            "a bump that is late, epochs that run out",
            replace(
                quiet(NEWEST, NEAR_THE_END, clients_bump=True, outlive=frozenset({BUMPS})),
                first_epoch=NEAR_THE_END - 2,
                bounds=Bounds(transactions=3, decisions=3, producer_ids=3),
            ),
            mends="bump_ends_no_other",
        ),
    ),
)

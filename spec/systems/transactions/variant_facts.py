"""Facts of a variant's decisions for all inputs: those of every release, and those of the decisions that it takes."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from spec import rules
from spec.algebra import Term, implies
from spec.protocol.coordinator import TransactionEntry, Transition
from spec.protocol.ending import EndRequest, keeps_outcome
from spec.protocol.ids import InitRequest
from spec.protocol.registering import AddRequest
from spec.systems.append_lemmas import append_facts_of
from spec.systems.decision_lemmas import Fact
from spec.systems.renaming_lemmas import RenamedIds, RequestFields
from spec.systems.step_lemmas import step_facts_of
from spec.systems.transactions.decisions import ReleaseDecisions
from spec.systems.transactions.variant import Variant
from spec.systems.transactions.world import TransactionKnobs
from spec.systems.transition_lemmas import Move, fact, is_of_a_state
from spec.versions import NEWEST, Profile


def facts_of(variant: Variant) -> Iterator[Fact]:
    """The facts of the variant's profile, and of the coordinator's decisions as the variant takes them."""
    profile = variant.under(TransactionKnobs(profile=NEWEST)).profile
    yield from step_facts_of(profile)
    yield from append_facts_of(profile)
    for version in (1, 2):
        taken = variant.taken(TransactionKnobs(profile=NEWEST.under(version)))
        yield from _of_decisions(taken, profile.under(version))


def _of_decisions(taken: ReleaseDecisions, profile: Profile) -> Iterator[Fact]:
    for name, move in _moves(taken).items():
        of = f"[{profile.name}, version {profile.transaction_version}]"
        edge = fact(f"{name}_moves_along_an_edge{of}", move, _any, profile)
        yield edge
        kept = partial(outcome_is_kept, move, profile)
        yield replace(edge, name=f"{name}_keeps_the_outcome{of}", rule=rules.TXN_ONE_OUTCOME, holds=kept)


def outcome_is_kept(
    move: Move, profile: Profile, entry: TransactionEntry, asking: RequestFields, names: RenamedIds
) -> Term:
    """From Prepare on, neither memory nor the record has another outcome.

    Args:
        move: the decision: from what it is asked with to the state after.
        profile: the release whose behaviours the decision reads.
        entry: what the coordinator knows before.
        asking: everything that the decision is asked with.
        names: the producer ids that it may read and write.
    """
    decided = move(entry, asking, names, profile)
    return implies(is_of_a_state(entry), keeps_outcome(entry, decided.target))


def _any(_: TransactionEntry) -> Term:
    return True


def _moves(taken: ReleaseDecisions) -> dict[str, Move]:
    def initializing(entry: TransactionEntry, asking: RequestFields, names: RenamedIds, _: Profile) -> Transition:
        request = InitRequest(
            asking.timeout, names.fresh, producer_id=names.requested, producer_epoch=asking.producer_epoch
        )
        return taken.initialize(entry, request)

    def registering(entry: TransactionEntry, asking: RequestFields, names: RenamedIds, _: Profile) -> Transition:
        joined, epoch = asking.all_registered, asking.producer_epoch
        request = AddRequest(names.requested, epoch, joined, client_version=2, verify_only=asking.verify_only)
        return taken.register(entry, request)

    def ending(entry: TransactionEntry, asking: RequestFields, names: RenamedIds, profile: Profile) -> Transition:
        bumps = asking.bumps if profile.transaction_version >= NEWEST.transaction_version else False
        request = EndRequest(
            names.requested, asking.producer_epoch, asking.commits, bumps, names.fresh, by_client=asking.by_client
        )
        return taken.end(entry, request)

    return {"initializing": initializing, "registering": registering, "ending": ending}

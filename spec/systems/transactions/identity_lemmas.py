"""Lemmas about identities: which are given, returned and used, and that none is given twice."""

from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.protocol.coordinator import is_in
from spec.systems.transactions.known import TransactionLemmaView, earlier, not_later, same
from spec.vocabulary import ABSENT, TransactionState


def given_is_known(view: TransactionLemmaView, instance: Term) -> Term:
    """An instance has no identity later than the newest; one that came with the end of a transaction is not its."""
    handed, last = view.handed(instance), view.knobs.profile.max_epoch
    known = all_of(
        instance >= 0,
        handed.producer_id >= 0,
        handed.producer_epoch < last,
        view.remembers().producer_epoch >= 0,
        not_later(handed, view.frontier()),
        implies(view.ends(), not_later(handed, view.used_up())),
    )
    return implies(view.is_given(instance), known)


def instances_are_in_order(view: TransactionLemmaView, one: Term, other: Term) -> Term:
    """A later instance has a later identity, and every one before it has one."""
    both = all_of(one >= 0, one < other, view.is_given(other))
    return implies(both, all_of(view.is_given(one), earlier(view.handed(one), view.handed(other))))


def instance_has_its_transaction(view: TransactionLemmaView, instance: Term) -> Term:
    """The last transaction of an instance is its own."""
    current = view.current(instance)
    own = all_of(current >= 0, view.is_given(instance), view.owner(current) == instance)
    return any_of(current == ABSENT, own)


def transaction_has_identity(view: TransactionLemmaView, txn: Term) -> Term:
    """A transaction has an identity of its instance, not later than the newest; before it begins it has nothing."""
    identity, owner = view.who(txn), view.owner(txn)
    begun = all_of(
        txn >= 0,
        owner >= 0,
        view.is_given(owner),
        identity.producer_id >= 0,
        identity.producer_epoch >= 0,
        identity.producer_epoch < view.knobs.profile.max_epoch,
        not_later(view.handed(owner), identity),
        not_later(identity, view.frontier()),
    )
    nothing = all_of(owner == ABSENT, view.end_sent(txn) == ABSENT, identity.producer_epoch == ABSENT)
    return any_of(begun, nothing)


def ended_was_reported(view: TransactionLemmaView, txn: Term) -> Term:
    """A client gets its next identity when its end is answered, and only then."""
    return choose(
        view.ended(txn), all_of(view.end_sent(txn) >= 0, view.is_reported(txn)), negate(view.is_reported(txn))
    )


def reported_follows(view: TransactionLemmaView, txn: Term) -> Term:
    """The identity returned at the end of a transaction follows its own, and is not later than the newest."""
    reported, identity, last = view.reported(txn), view.who(txn), view.knobs.profile.max_epoch - 1
    next_epoch = all_of(
        reported.producer_id == identity.producer_id, reported.producer_epoch == identity.producer_epoch + 1
    )
    next_id = all_of(reported.producer_id > identity.producer_id, reported.producer_epoch == 0)
    follows = choose(identity.producer_epoch == last, next_id, next_epoch)
    known = all_of(reported.producer_epoch <= last, not_later(reported, view.frontier()))
    return implies(view.is_reported(txn), all_of(follows, known))


def newest_was_reported_to_the_last(view: TransactionLemmaView, txn: Term) -> Term:
    """Where a transaction was ended, only its client got the identity after it."""
    newest = same(view.reported(txn), view.frontier())
    last = same(view.who(txn), view.used_up())
    both = all_of(view.ends(), view.is_reported(txn))
    return implies(both, all_of(implies(newest, last), implies(last, newest)))


def newest_is_used_once_reported(view: TransactionLemmaView, txn: Term) -> Term:
    """Where a transaction was ended, the identity after it is used only once its client has got it."""
    used = all_of(view.ends(), view.owner(txn) >= 0, same(view.who(txn), view.frontier()))
    return implies(used, view.is_reported(view.opened_by(view.decisions() - 1)))


def reported_is_nobodys_else(view: TransactionLemmaView, one: Term, other: Term) -> Term:
    """No two transactions return the same identity."""
    both = all_of(view.is_reported(one), view.is_reported(other), negate(one == other))
    return implies(both, negate(same(view.reported(one), view.reported(other))))


def reported_was_not_given(view: TransactionLemmaView, txn: Term, instance: Term) -> Term:
    """The identity that the end of a transaction returns was given to no instance."""
    both = all_of(view.is_reported(txn), view.is_given(instance))
    return implies(both, negate(same(view.reported(txn), view.handed(instance))))


def given_is_used_by_its_first(view: TransactionLemmaView, txn: Term, instance: Term) -> Term:
    """A transaction that has the identity given to an instance is of this instance, which has begun."""
    used = all_of(view.owner(txn) >= 0, view.is_given(instance), same(view.who(txn), view.handed(instance)))
    return implies(used, view.current(instance) >= 0)


def reported_is_used_by_the_next(view: TransactionLemmaView, txn: Term, before: Term) -> Term:
    """A transaction that has the identity returned at the end of another one came after it."""
    used = all_of(view.owner(txn) >= 0, view.is_reported(before), same(view.who(txn), view.reported(before)))
    return implies(used, negate(view.current(view.owner(before)) == before))


def identities_are_apart(view: TransactionLemmaView, one: Term, other: Term) -> Term:
    """No two transactions have the same identity."""
    both = all_of(view.owner(one) >= 0, view.owner(other) >= 0, negate(one == other))
    return implies(both, negate(same(view.who(one), view.who(other))))


def earlier_instance_is_lower(view: TransactionLemmaView, txn: Term, instance: Term) -> Term:
    """Every identity that an earlier instance has or got is earlier than the identity of a later one."""
    later = all_of(view.owner(txn) >= 0, view.owner(txn) < instance, view.is_given(instance))
    reported = implies(view.is_reported(txn), earlier(view.reported(txn), view.handed(instance)))
    return implies(later, all_of(earlier(view.who(txn), view.handed(instance)), reported))


def overtaken_was_given_and_used(view: TransactionLemmaView, instance: Term) -> Term:
    """An overtaken identity is none that an instance is to begin with."""
    waits = all_of(view.is_given(instance), view.current(instance) == ABSENT)
    return implies(all_of(view.is_overtaken(), waits), negate(same(view.handed(instance), view.last_reported())))


def overtaken_was_reported_and_used(view: TransactionLemmaView, txn: Term) -> Term:
    """No instance continues with an overtaken identity."""
    waits = all_of(view.is_reported(txn), view.current(view.owner(txn)) == txn)
    return implies(all_of(view.is_overtaken(), waits), negate(same(view.reported(txn), view.last_reported())))


def overtaken_requested_its_end(view: TransactionLemmaView, txn: Term) -> Term:
    """The transaction that has an overtaken identity has asked for its end."""
    used = all_of(view.owner(txn) >= 0, same(view.who(txn), view.last_reported()))
    return implies(all_of(view.is_overtaken(), used), view.end_sent(txn) >= 0)


def epoch_before_is_one_lower(view: TransactionLemmaView) -> Term:
    """The epoch by which a repeated request is known is the one before, at a producer id's first epoch the last."""
    memory = view.remembers()
    epoch, before = memory.producer_epoch, memory.last_epoch
    first = all_of(epoch == 0, before == view.knobs.profile.max_epoch - 1)
    return any_of(before == ABSENT, first, all_of(epoch > 0, before == epoch - 1))


def epoch_before_was_reported(view: TransactionLemmaView) -> Term:
    """Where there is one and no transaction was ended, the bump that used it up was answered."""
    memory, bump = view.remembers(), view.bumped_by()
    bumped = all_of(is_in(memory, TransactionState.EMPTY), memory.last_epoch >= 0)
    rotated = all_of(memory.producer_epoch == 0, memory.previous_producer_id == memory.producer_id)
    answered = all_of(bump >= 0, view.owner(bump) >= 0, view.ended(bump))
    return implies(bumped, all_of(answered, any_of(rotated, same(view.who(bump), view.used_up()))))


def no_current_identity_is_fenced(view: TransactionLemmaView, txn: Term) -> Term:
    """No client with the newest identity was fenced."""
    return negate(view.fenced_wrongly(txn))

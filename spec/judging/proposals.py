"""What a controller finds out of a proposed in-sync set before it decides: which brokers may be in it."""

from collections.abc import Sequence

from spec.algebra import Term, all_of, any_of, negate
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT


def may_be_member(active: Term, counted: Term, registered: Term, profile: Profile = NEWEST) -> Term:
    """A broker may be in an in-sync set: it is there, and its leader has counted fetches of no other incarnation.

    Args:
        active: it is registered, neither fenced nor shutting down.
        counted: epoch of the registration under which it fetched, as the leader says; -1: it fetched nothing yet.
        registered: epoch of its present registration.
        profile: the release; whether incarnations are compared (KIP-903).
    """
    present = any_of(counted == ABSENT, counted == registered)
    return all_of(active, any_of(negate(profile.incarnations_compared), present))


def may_return(counted: Term, registered: Term, profile: Profile = NEWEST) -> Term:
    """A leader may propose a follower that has caught up: since 3.5 if it has fetched in its present incarnation.

    Args:
        counted: epoch of the registration under which it fetched, as its leader counts; -1 none.
        registered: epoch of its present registration, as the leader knows it; -1: it is not there.
        profile: the release; whether incarnations are compared (KIP-903).
    """
    return any_of(negate(profile.incarnations_compared), all_of(registered >= 0, counted == registered))


def is_ill_formed(brokers: Sequence[tuple[Term, Term, Term]]) -> Term:
    """A proposed set lacks its leader, or has a broker without a replica.

    Args:
        brokers: of each, whether it leads, whether it has a replica, and whether it is proposed.
    """
    led = any_of(*(all_of(leads, proposed) for leads, _, proposed in brokers))
    stranger = any_of(*(all_of(proposed, negate(has_replica)) for _, has_replica, proposed in brokers))
    return any_of(negate(led), stranger)

"""The circumstances of a step, as far as its release determines them, and what has gone wrong in its trace."""

from collections.abc import Callable
from dataclasses import replace
from enum import IntFlag
from typing import Final

from spec.algebra import Term, all_of, any_of, choose
from spec.rules import Circumstances, Rule
from spec.versions import KAFKA_3_9_UNVERIFIED, Profile
from spec.vocabulary import Origin

UNCLEAN: Final = "UncleanLeaderElection"
EXPIRY: Final = "ProducerStateExpiry"
RESTART: Final = "BrokerRestart"
FAULTS: Final = frozenset((UNCLEAN, EXPIRY, RESTART))
"""Steps that are, or may be, a fault by their api alone."""


class Fault(IntFlag):
    """What may have gone wrong before what is judged, so that a rule is not claimed there."""

    UNCLEAN = 1  # a replica was elected, or may be, that lacks what was committed
    FORGOTTEN = 2  # producer state expired
    NOT_FIRST = 4  # a leader met a later batch of an unknown epoch before the first
    OUTLIVED = 8  # a request was handled when the transaction that it belongs to was over
    RENUMBERED = 16  # a client wrote a batch under another identity, which may have been in the log under the first


def claimed_in(rule: Rule, profile: Profile, faults: int) -> bool:
    """Whether a rule is claimed under a profile where these faults have happened."""
    return not lacking(rule, profile, faults)


def lacking(rule: Rule, profile: Profile, faults: int) -> list[str]:
    """Names of the assumptions of a rule that do not hold; none inside its domain."""
    circumstances = circumstances_of(profile, faults)
    return [assumption.name for assumption in rule.domain if not assumption.holds(circumstances)]


def fault_of(of: Callable[[str], Term]) -> Term:
    """The fault that a step itself is, 0 none; that a request outlived its transaction no step shows by itself."""
    unseen = all_of(
        of("origin") == Origin.CLIENT.value, of("appended"), of("before_epoch") < 0, of("base_sequence") > 0
    )
    by_api = choose(of("api") == EXPIRY, Fault.FORGOTTEN.value, choose(unseen, Fault.NOT_FIRST.value, 0))
    lost = all_of(of("api") == RESTART, of("after_log_end") < of("before_high_watermark"))
    return choose(any_of(of("api") == UNCLEAN, of("elected_uncleanly"), lost), Fault.UNCLEAN.value, by_api)


def came_back_shorter(of: Callable[[str], Term]) -> Term:
    """A broker came back with fewer records in its log than it had."""
    return all_of(of("api") == RESTART, of("after_log_end") < of("before_log_end"))


def circumstances_of(profile: Profile, faults: int = 0) -> Circumstances:
    """The circumstances of a run that its profile determines; a release that has no verification lacks nothing."""
    by_release = Circumstances(
        transaction_version=profile.transaction_version,
        marker_epoch_checked=profile.marker_epoch_strict,
        partition_verification=profile.name != KAFKA_3_9_UNVERIFIED.name,
    )
    return replace(
        by_release,
        clean_elections=not faults & Fault.UNCLEAN,
        state_retained=not faults & (Fault.FORGOTTEN | Fault.RENUMBERED),
        first_seen_first=not faults & Fault.NOT_FIRST,
        delayed_requests=bool(faults & Fault.OUTLIVED),
    )

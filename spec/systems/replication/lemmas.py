"""The lemmas of the proof about replicas: which rule each serves, what it rests on, and where it is used."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from spec import rules
from spec.algebra import Term
from spec.rules import Rule
from spec.systems.language import Sort, State
from spec.systems.replication import claims
from spec.systems.replication import election_lemmas as of_elections
from spec.systems.replication import log_lemmas as of_commits
from spec.systems.replication import log_lemmas as of_logs
from spec.systems.replication.world import EPOCH, POSITION, REPLICA

Sentence: TypeAlias = Callable[..., Term]
Sight: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Lemma:
    """A lemma, and how it is proved and used.

    Attributes:
        rule: the one that it serves most.
        over: the sorts that it speaks of.
        rests_on: the lemmas with which its proof is tried first.
        at_sight_of: from the state and arguments to the groups of terms at whose sight it is used.
    """

    sentence: Sentence
    rule: Rule
    over: tuple[Sort, ...]
    rests_on: tuple[Sentence, ...] = ()
    at_sight_of: Sight | None = None

    @property
    def name(self) -> str:
        """What it is called in reports."""
        return self.sentence.__name__


def _log_of_a_leader(state: State, leader: Term, epoch: Term, position: Term) -> Any:
    batch = state.epoch_log(epoch, position).batch
    return (state.view(leader).epoch, batch), (state.log(leader, position).batch, batch)


def _shared(state: State, epoch: Term, replica: Term, position: Term) -> Any:
    shared = state.shared(epoch, replica)
    return (shared, state.log(replica, position).batch), (shared, state.epoch_log(epoch, position).batch)


_AGREEMENT, _SURVIVES, _BOUNDS = rules.REPL_PREFIX_AGREEMENT, rules.REPL_COMMITTED_SURVIVES, rules.REPL_HW_BOUNDS

_ELECTED: Final = (
    of_elections.view_is_of_an_election,
    of_elections.elections_are_remembered,
    of_elections.last_election_was_its_own,
    of_elections.present_leader_was_elected,
    of_elections.keeper_may_be_elected,
    of_elections.leader_is_in_sync,
)
_LOGS: Final = (
    of_logs.log_is_filled,
    of_logs.log_is_of_its_epochs,
    of_logs.epochs_rise_in_a_log,
    of_logs.leader_has_its_epochs_log,
    of_elections.view_is_of_an_election,
    of_commits.lengths_are_natural,
)
_SHARED: Final = (
    *_LOGS,
    *_ELECTED,
    of_logs.shared_is_of_the_epoch,
    of_logs.shared_is_within_the_log,
    of_logs.nothing_is_shared_ahead,
)
_COUNTED: Final = (
    of_elections.heir_is_counted,
    of_elections.slowest_is_counted,
    of_elections.slowest_will_be_counted,
    of_elections.leader_counts_itself,
    of_elections.informed_follower_has_the_epoch,
    of_elections.known_end_is_shared,
    of_elections.elected_was_in_sync,
    of_elections.eligible_while_few_are_in_sync,
    of_elections.informed_leader_knows_the_set,
    of_elections.informed_leader_leads,
    of_elections.proposed_has_caught_up,
    of_commits.lengths_are_natural,
    of_logs.shared_is_within_the_log,
    of_logs.nothing_is_shared_ahead,
    of_logs.epoch_is_empty_before_it_begins,
    of_logs.leader_has_begun,
    *_ELECTED,
)

_INHERITED: Final = (
    of_commits.heir_learned_of_committed_records,
    of_commits.committed_is_of_its_epoch,
    of_elections.heir_is_counted,
    of_elections.slowest_is_counted,
    of_elections.known_end_is_shared,
    of_elections.informed_follower_has_the_epoch,
    of_elections.leader_counts_itself,
    of_logs.shared_is_of_the_epoch,
    *_LOGS,
    *_ELECTED,
)

_RAISED: Final = (
    *_INHERITED,
    of_commits.heir_has_committed_records,
    of_commits.keeper_has_committed_records,
    of_commits.own_commits_are_below_the_watermark,
    of_commits.watermark_covers_committed_records,
)
_ANSWERED: Final = (
    of_commits.answer_covers_committed_records,
    of_logs.answered_follower_has_the_epochs_log,
    of_logs.answer_is_of_the_epoch,
    of_logs.epoch_log_is_filled,
)

LEMMAS: Final = (
    Lemma(of_logs.log_is_filled, _AGREEMENT, (REPLICA, POSITION)),
    Lemma(of_logs.epoch_log_is_filled, _AGREEMENT, (EPOCH, POSITION)),
    Lemma(of_logs.batches_are_numbered, _AGREEMENT, ()),
    Lemma(of_logs.epoch_is_empty_before_it_begins, _AGREEMENT, (EPOCH,)),
    Lemma(of_logs.log_is_of_its_epochs, _AGREEMENT, (REPLICA, POSITION, POSITION)),
    Lemma(of_logs.epochs_rise_in_a_log, _AGREEMENT, (REPLICA, POSITION, POSITION)),
    Lemma(of_logs.epoch_log_is_of_its_epochs, _AGREEMENT, (EPOCH, POSITION, POSITION)),
    Lemma(of_logs.epochs_rise_in_an_epoch_log, _AGREEMENT, (EPOCH, POSITION, POSITION)),
    Lemma(of_logs.leader_has_its_epochs_log, _AGREEMENT, (REPLICA, EPOCH, POSITION), (), _log_of_a_leader),
    Lemma(of_logs.leader_has_begun, _AGREEMENT, (REPLICA,)),
    Lemma(of_logs.answer_is_of_the_epoch, _AGREEMENT, (REPLICA,)),
    Lemma(of_logs.answered_follower_has_the_epochs_log, _AGREEMENT, (REPLICA, POSITION), _LOGS),
    Lemma(of_logs.shared_is_of_the_epoch, _SURVIVES, (EPOCH, REPLICA, POSITION), _SHARED, _shared),
    Lemma(of_logs.shared_is_within_the_log, _SURVIVES, (EPOCH, REPLICA), _SHARED),
    Lemma(of_logs.nothing_is_shared_ahead, _SURVIVES, (EPOCH, REPLICA)),
    Lemma(of_elections.leader_is_in_sync, _SURVIVES, ()),
    Lemma(of_elections.elected_was_in_sync, _SURVIVES, (EPOCH,)),
    Lemma(of_elections.present_leader_was_elected, _SURVIVES, ()),
    Lemma(of_elections.keeper_may_be_elected, _SURVIVES, ()),
    Lemma(of_elections.view_is_of_an_election, _SURVIVES, (REPLICA,)),
    Lemma(of_elections.elections_are_remembered, _SURVIVES, (EPOCH,)),
    Lemma(of_elections.last_election_was_its_own, _SURVIVES, (REPLICA,)),
    Lemma(of_elections.informed_leader_leads, _SURVIVES, (REPLICA,)),
    Lemma(of_elections.informed_leader_knows_the_set, _SURVIVES, (REPLICA, REPLICA)),
    Lemma(of_elections.eligible_while_few_are_in_sync, _SURVIVES, (REPLICA,)),
    Lemma(of_elections.leader_counts_itself, _BOUNDS, (REPLICA,)),
    Lemma(of_elections.leader_awaits_no_reply, _BOUNDS, (REPLICA,)),
    Lemma(of_elections.informed_follower_has_the_epoch, _SURVIVES, (REPLICA, REPLICA)),
    Lemma(of_elections.known_end_is_shared, _SURVIVES, (REPLICA, REPLICA), (*_SHARED, *_COUNTED)),
    Lemma(of_elections.proposed_has_caught_up, _SURVIVES, (REPLICA,)),
    Lemma(
        of_elections.heir_is_counted,
        _SURVIVES,
        (REPLICA, REPLICA),
        (
            of_elections.slowest_will_be_counted,
            of_elections.elected_was_in_sync,
            of_elections.eligible_while_few_are_in_sync,
            of_elections.informed_follower_has_the_epoch,
            of_elections.informed_leader_knows_the_set,
            of_elections.informed_leader_leads,
            of_elections.proposed_has_caught_up,
            of_elections.leader_counts_itself,
            of_elections.keeper_may_be_elected,
            of_logs.nothing_is_shared_ahead,
            of_logs.epoch_is_empty_before_it_begins,
            *_ELECTED,
        ),
    ),
    Lemma(of_elections.slowest_is_counted, _SURVIVES, (REPLICA, REPLICA), _COUNTED),
    Lemma(of_elections.slowest_will_be_counted, _SURVIVES, (EPOCH, REPLICA), _COUNTED),
    Lemma(of_elections.shared_was_there_at_the_start, _SURVIVES, (REPLICA, EPOCH)),
    Lemma(of_commits.committed_is_of_its_epoch, _SURVIVES, (POSITION,)),
    Lemma(
        of_commits.heir_has_committed_records,
        _SURVIVES,
        (REPLICA, POSITION),
        _INHERITED,
    ),
    Lemma(
        of_commits.heir_learned_of_committed_records,
        _SURVIVES,
        (REPLICA, POSITION),
        (
            of_commits.committed_is_of_its_epoch,
            of_commits.lengths_are_natural,
            of_elections.heir_is_counted,
            of_elections.informed_follower_has_the_epoch,
            of_elections.leader_counts_itself,
            of_logs.log_is_filled,
            *_ELECTED,
        ),
    ),
    Lemma(
        of_commits.keeper_has_committed_records,
        _SURVIVES,
        (POSITION,),
        (*_INHERITED, of_commits.heir_has_committed_records, of_elections.keeper_may_be_elected),
    ),
    Lemma(
        of_commits.earlier_commits_were_there_at_the_start,
        _SURVIVES,
        (REPLICA, POSITION),
        (
            of_commits.heir_has_committed_records,
            of_commits.committed_is_of_its_epoch,
            of_elections.elected_was_in_sync,
            of_logs.epoch_is_empty_before_it_begins,
            of_logs.leader_has_begun,
            of_logs.log_is_filled,
            *_ELECTED,
        ),
    ),
    Lemma(of_commits.own_commits_are_below_the_watermark, _BOUNDS, (REPLICA, POSITION)),
    Lemma(of_commits.watermark_covers_committed_records, _BOUNDS, (REPLICA, POSITION), (*_RAISED, *_ANSWERED)),
    Lemma(
        of_commits.answer_covers_committed_records,
        _BOUNDS,
        (REPLICA, POSITION),
        (
            of_commits.watermark_covers_committed_records,
            of_commits.lengths_are_natural,
            of_elections.view_is_of_an_election,
            of_logs.leader_has_its_epochs_log,
            of_logs.log_is_filled,
        ),
    ),
    Lemma(of_commits.watermark_is_in_the_log, _BOUNDS, (REPLICA,), (*_RAISED, *_ANSWERED)),
    Lemma(of_commits.lengths_are_natural, _BOUNDS, (REPLICA,)),
    Lemma(of_commits.reported_is_not_taken_back, _BOUNDS, (REPLICA,)),
)
"""What makes the theorems inductive."""

RESTS_ON: Final[Mapping[Sentence, tuple[Sentence, ...]]] = MappingProxyType(
    {
        claims.high_watermark_is_in_every_in_sync_log: (
            of_commits.watermark_is_in_the_log,
            of_commits.heir_has_committed_records,
            of_commits.committed_is_of_its_epoch,
            of_commits.lengths_are_natural,
            of_logs.log_is_filled,
        ),
        claims.high_watermark_never_falls: (of_commits.reported_is_not_taken_back,),
        claims.leader_has_committed_records: (
            of_commits.heir_has_committed_records,
            of_commits.committed_is_of_its_epoch,
            of_elections.leader_is_in_sync,
        ),
        claims.replicas_agree_below_high_watermarks: (of_commits.watermark_covers_committed_records,),
        claims.followers_have_the_leaders_history: (
            of_logs.answered_follower_has_the_epochs_log,
            of_logs.leader_has_its_epochs_log,
        ),
    }
)
"""The lemmas that each theorem follows from."""

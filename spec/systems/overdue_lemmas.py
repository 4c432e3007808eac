"""Facts for all inputs about what an audit calls overdue: a coordinator would have ended it by itself."""

from dataclasses import dataclass, replace
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, implies, negate, same
from spec.judging.judge import RuleCheck
from spec.judging.judge_overdue import MARKERS_TAKE, REAPER_INTERVAL, judge_data, judge_ongoing, judge_prepared
from spec.protocol import ids
from spec.protocol.coordinator import TransactionEntry, is_in
from spec.protocol.coordinator_steps import load, time_out
from spec.systems.coordinator_decision_lemmas import is_of_a_state
from spec.systems.decision_lemmas import About, Fact, stated
from spec.systems.step_lemmas import CoordinatorStepInput, recorded
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, TransactionState


@dataclass(frozen=True, slots=True)
class Times:
    """When data without a marker came, and until when a log goes on, in milliseconds."""

    since: Term = 0
    until: Term = 0


def _blames(check: RuleCheck) -> Term:
    return all_of(check.at_stake, negate(check.holds))


def overdue_would_be_aborted(profile: Profile, entry: TransactionEntry, times: Times) -> Term:
    """An open transaction is overdue where its coordinator aborts it at a search one interval before."""
    search = CoordinatorStepInput(now=times.until - REAPER_INTERVAL, state_after=TransactionState.PREPARE_ABORT.value)
    after = time_out(recorded(entry, search), profile).entry
    aborted = all_of(negate(is_in(entry, TransactionState.PREPARE_ABORT)), is_in(after, TransactionState.PREPARE_ABORT))
    possible = all_of(is_of_a_state(entry), negate(ids.cannot_fence(entry, profile)))
    return implies(possible, same(_blames(judge_ongoing(entry, times.until)), all_of(entry.known, aborted)))


def data_is_overdue_beyond_all(entry: TransactionEntry, times: Times) -> Term:
    """Data of which nothing else is known is overdue where a transaction of the longest timeout would be."""
    longest = replace(
        entry,
        known=True,
        state=TransactionState.ONGOING.value,
        pending=ABSENT,
        timeout=ids.LARGEST_TIMEOUT,
        start_time=times.since,
    )
    return same(_blames(judge_data(times.since, times.until)), _blames(judge_ongoing(longest, times.until)))


def prepared_is_overdue_in_time(profile: Profile, entry: TransactionEntry) -> Term:
    """A decided transaction is overdue after the time for its markers, where who loads it would send them."""
    step = CoordinatorStepInput(known_after=True, state_after=entry.state, updated_after=entry.update_time)
    sends = load(recorded(TransactionEntry(), step), profile).entry.pending >= 0
    at_last = entry.update_time + MARKERS_TAKE
    early, late = (_blames(judge_prepared(entry, until)) for until in (at_last, at_last + 1))
    return implies(is_of_a_state(entry), all_of(negate(early), same(late, all_of(entry.known, sends))))


_ENTRY: Final[About] = (("entry", TransactionEntry),)
_AND_TIMES: Final[About] = (*_ENTRY, ("times", Times))


def overdue_facts(profile: Profile = NEWEST) -> tuple[Fact, ...]:
    """One for each decision on what is overdue."""
    return (
        stated(overdue_would_be_aborted, rules.TXN_TIMEOUT, _AND_TIMES, profile),
        stated(data_is_overdue_beyond_all, rules.TXN_TIMEOUT, _AND_TIMES),
        stated(prepared_is_overdue_in_time, rules.TXN_COMPLETES, _ENTRY, profile),
    )

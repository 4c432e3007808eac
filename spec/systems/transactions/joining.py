"""The join of logs, held against the system of transactions: it blames what a claim of the system forbids, and no more.

In any state, reachable or not, the records are made that an audit would gather of it: a decision, a marker, data that
a marker ends, data without a marker. The decisions of the join find a rule broken exactly where the claim is. The
system's proof has each claim of every reachable state, so there the join blames nothing.

The system has no clocks, loses no log and has no operator. So nothing here speaks of when a marker was written, of
what may have removed one, or of who may have aborted by hand.

Arguments:
    partition: which one.
    a: a batch of the transaction to `p`.
    r: a third partition, or one of the others.
    other: another decision, or the same.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate, same
from spec.judging.judge import RuleCheck
from spec.judging.judge_join import (
    CoordinatorOutcome,
    EndedData,
    MarkerCounts,
    PartitionMarker,
    UnmarkedPartition,
    has_outcome_of,
    is_of,
    judge_ended_data,
    judge_marker,
    judge_outcomes,
    judge_repeated,
    judge_unmarked,
)
from spec.judging.judge_orphans import (
    OrphanData,
    OrphanMarker,
    RaisedEpoch,
    judge_against_complete,
    judge_mixed_epochs,
    judge_orphan_data,
    judge_orphan_marker,
    judge_raised_epoch,
)
from spec.protocol import completing, fence
from spec.protocol.coordinator import TransactionEntry, is_in
from spec.rules import Rule
from spec.systems.language import Claim, Sort, State, System, given
from spec.systems.links import outcomes_agree
from spec.systems.transactions.claims import (
    coordinator_epochs_never_fall,
    open_data_will_be_decided,
    outcome_is_kept,
    same_outcome_everywhere,
)
from spec.systems.transactions.coordinator_lemmas import unmade_is_unmarked
from spec.systems.transactions.decisions import decisions
from spec.systems.transactions.known import TransactionLemmaView, earlier
from spec.systems.transactions.known import same as is_one
from spec.systems.transactions.leaders import Leaders
from spec.systems.transactions.proof import UNBOUNDED, proved
from spec.systems.transactions.world import (
    ABORT,
    BATCH,
    COMMIT,
    COORDINATOR,
    DECIDED,
    DECISION,
    OPEN,
    PARTITION,
    TRANSACTION,
    TransactionKnobs,
)
from spec.vocabulary import ABSENT, TransactionState

View: TypeAlias = TransactionLemmaView

_COMMITS: Final = (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
_ABORTS: Final = (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT)

FIRST, SECOND = 0, 1
"""Values of `effects`: a marker has ended nothing yet, or one transaction."""


# --- the records of a state ---------------------------------------------------------------------------------------


def blames(checks: Iterable[RuleCheck], rule: Rule | None = None) -> Term:
    """A rule is at stake and does not hold: this one, or any."""
    broken = (all_of(check.at_stake, negate(check.holds)) for check in checks if rule in (None, check.rule))
    return any_of(*broken)


def decided(view: View, decision: Term) -> CoordinatorOutcome:
    """What the coordinator's log says of a decision, once its transaction is over."""
    return CoordinatorOutcome(
        producer_epoch=view.who(view.opened_by(decision)).producer_epoch,
        marker_epoch=view.mark(decision).producer_epoch,
        outcome=view.outcome(decision),
        completed=True,
    )


def marker_of(view: View, decision: Term) -> PartitionMarker:
    """What the log of a partition says of a decision's marker."""
    return PartitionMarker(view.mark(decision).producer_epoch, view.outcome(decision))


def is_decision(view: View, decision: Term) -> Term:
    """It has an outcome."""
    return any_of(view.outcome(decision) == ABORT, view.outcome(decision) == COMMIT)


def is_of_offsets(view: View, partition: Term) -> Term:
    """A group's offsets are committed to the partition."""
    return negate(view.is_of_data(partition))


def counted(view: View, decision: Term, markers: Iterable[tuple[Term, Term]]) -> MarkerCounts:
    """Markers of a transaction, each with its partition, as the join counts them."""
    count = MarkerCounts(0, 0, 0, 0)
    for other, where in markers:
        agrees, offsets = has_outcome_of(decided(view, decision), marker_of(view, other)), is_of_offsets(view, where)
        count = MarkerCounts(
            count.agreeing + choose(agrees, 1, 0),
            count.agreeing_offsets + choose(all_of(agrees, offsets), 1, 0),
            count.other + choose(agrees, 0, 1),
            count.other_offsets + choose(all_of(negate(agrees), offsets), 1, 0),
        )
    return count


# --- the outcome --------------------------------------------------------------------------------------------------


def join_sees_two_outcomes(view: View, txn: Term, p: Term, a: Term, q: Term, b: Term, r: Term, c: Term) -> Term:
    """The join blames the markers of a transaction where they do not all have the same outcome."""
    ends = [view.data(txn, *at) for at in ((p, a), (q, b), (r, c))]

    def found() -> Term:
        judged = judge_outcomes(_counts(view, ends, (p, q, r)))
        alike = all_of(*(same_outcome_everywhere(view, txn, p, a, *at) for at in ((q, b), (r, c))))
        return same(negate(blames(judged)), alike)

    return given(_all_decided(view, ends), found)


def join_sees_offsets_apart(view: View, txn: Term, p: Term, a: Term, q: Term, b: Term, r: Term, c: Term) -> Term:
    """The join blames the offsets where all of them have one outcome, and all outputs the other one."""
    ends = [view.data(txn, *at) for at in ((p, a), (q, b), (r, c))]

    def found() -> Term:
        judged = judge_outcomes(_counts(view, ends, (p, q, r)))
        pairs = (((ends[one], where[one]), (ends[two], where[two])) for one, two in ((0, 1), (0, 2), (1, 2)))
        apart = (
            same(
                outcomes_agree(view.outcome(one - DECIDED), view.outcome(two - DECIDED)),
                same(is_of_offsets(view, at), is_of_offsets(view, to)),
            )
            for (one, at), (two, to) in pairs
        )
        return same(blames(judged, rules.OFFSETS_ATOMIC), all_of(blames(judged), *apart))

    where = (p, q, r)
    return given(_all_decided(view, ends), found)


def _all_decided(view: View, ends: Iterable[Term]) -> Term:
    return all_of(*(all_of(end >= DECIDED, is_decision(view, end - DECIDED)) for end in ends))


def _counts(view: View, ends: list[Term], where: tuple[Term, ...]) -> MarkerCounts:
    return counted(view, ends[0] - DECIDED, zip((end - DECIDED for end in ends), where, strict=True))


def join_sees_turned_outcome(view: View, decision: Term, partition: Term) -> Term:
    """The join blames a marker that says otherwise than the coordinator's memory or log."""
    carried = all_of(decision >= 0, view.decision() == decision, is_decision(view, decision))

    def found() -> Term:
        said = [_said_by(entry) for entry in (view.remembers(), view.knobs.settled(view.record()))]
        mine = marker_of(view, decision)
        counts = (_alone(has_outcome_of(CoordinatorOutcome(outcome=outcome), mine)) for outcome in said)
        return same(outcome_is_kept(view, decision), negate(any_of(*(blames(judge_outcomes(one)) for one in counts))))

    return given(carried, found)


def join_sees_turned_completion(view: View, decision: Term) -> Term:
    """The join blames a marker that says otherwise than the Complete record."""
    said = _said_by(view.knobs.settled(view.record()))
    judged = judge_against_complete(view.outcome(decision), said, hidden=False)
    return same(blames([judged]), all_of(said >= 0, negate(outcomes_agree(view.outcome(decision), said))))


def _said_by(entry: TransactionEntry) -> Term:
    """The outcome that an entry of the coordinator has, -1 where nothing is decided."""
    return choose(is_in(entry, *_COMMITS), COMMIT, choose(is_in(entry, *_ABORTS), ABORT, ABSENT))


def _alone(agrees: Term) -> MarkerCounts:
    return MarkerCounts(choose(agrees, 1, 0), 0, choose(agrees, 0, 1), 0)


def join_sees_torn_epoch(view: View, decision: Term, other: Term) -> Term:
    """Of an epoch that was raised for one transaction, the join blames markers with two outcomes."""
    both = (view.outcome(decision), view.outcome(other))
    count = (sum_of(outcome == COMMIT for outcome in both), sum_of(outcome == ABORT for outcome in both))
    judged = judge_raised_epoch(RaisedEpoch(True, *count))
    made = all_of(is_decision(view, decision), is_decision(view, other))
    return implies(made, same(blames([judged]), negate(outcomes_agree(*both))))


def sum_of(facts: Iterable[Term]) -> Term:
    """How many of some facts hold."""
    count: Term = 0
    for fact in facts:
        count += choose(fact, 1, 0)
    return count


# --- markers and the data that they end -----------------------------------------------------------------------------


def join_sees_other_marker(view: View, txn: Term, decision: Term, other: Term) -> Term:
    """The join blames a marker with another identity than its decision's, or the data where that has the same one."""
    transaction, data = decided(view, decision), view.who(txn).producer_epoch
    ends_own = data == view.mark(other).producer_epoch
    judged = judge_marker(transaction, replace(marker_of(view, other), ends_own_epoch=ends_own))
    of_data = blames(judge_ended_data(transaction, EndedData(data)))
    unlike = negate(is_one(view.mark(decision), view.mark(other)))
    blamed = all_of(unlike, negate(all_of(ends_own, of_data)))
    begun = transaction.producer_epoch >= 0
    alike = all_of(begun, view.mark(decision).producer_id == view.mark(other).producer_id)
    found = all_of(
        same(is_of(transaction, marker_of(view, other)), negate(unlike)),
        same(blames(judged, rules.TXN_MARKER_ONCE), blamed),
    )
    return implies(alike, found)


def join_sees_unregistered_data(view: View, txn: Term, decision: Term) -> Term:
    """The join blames data that is later than the transaction that its marker ends."""
    return _of_ended_data(view, txn, decision, rules.TXN_REGISTERED_BEFORE_DATA, later=True)


def join_sees_stale_data(view: View, txn: Term, decision: Term) -> Term:
    """The join blames data that is earlier than the transaction that its marker ends."""
    return _of_ended_data(view, txn, decision, rules.FENCE_STALE_EPOCH, later=False)


def _of_ended_data(view: View, txn: Term, decision: Term, rule: Rule, *, later: bool) -> Term:
    data, mine = view.who(txn), view.who(view.opened_by(decision))
    judged = judge_ended_data(decided(view, decision), EndedData(data.producer_epoch))
    other = earlier(mine, data) if later else earlier(data, mine)
    alike = all_of(mine.producer_id == data.producer_id, mine.producer_epoch >= 0)
    return implies(alike, same(blames(judged, rule), other))


def join_sees_data_of_two(view: View, txn: Term, later: Term, decision: Term) -> Term:
    """Of the data before one marker the join blames what is later than the first; the marker, where it is of neither.

    Args:
        view: the state.
        txn: whose data comes first.
        later: whose data comes last.
        decision: whose marker ends both.
    """
    first, last, marker = view.who(txn), view.who(later), view.mark(decision)
    judged = judge_mixed_epochs(first.producer_epoch, last.producer_epoch, marker.producer_epoch, hidden=False)
    alike = all_of(first.producer_id == last.producer_id, marker.producer_id == last.producer_id)
    of_marker = same(
        blames(judged, rules.TXN_MARKER_ONCE), all_of(earlier(first, last), marker.producer_epoch > last.producer_epoch)
    )
    return implies(alike, all_of(same(blames(judged), earlier(first, last)), of_marker))


def join_sees_repeated_effect(view: View, decision: Term, coordinator: Term, partition: Term) -> Term:
    """The join blames a repeated marker where it ends data once more."""
    known = view.entry(view.mark(decision).producer_id, partition)
    before = view.effects(decision, partition)
    again = replace(
        marker_of(view, decision),
        again=view.marked(decision, partition) >= 0,
        has_data=known.in_transaction,
        data_epoch=choose(known.in_transaction, known.epoch, ABSENT),
    )
    after = _writes(view, decision, coordinator, partition).effects(decision, partition)
    judged = judge_repeated(decided(view, decision), again)
    of_marker = all_of(blames(judged), again.data_epoch > again.producer_epoch)
    found = all_of(
        same(blames(judged), all_of(again.again, negate(after == before))),
        same(blames(judged, rules.TXN_MARKER_ONCE), of_marker),
    )
    possible = all_of(any_of(before == FIRST, before == SECOND), again.producer_epoch >= 0)
    return implies(possible, found)


def _writes(view: View, decision: Term, coordinator: Term, partition: Term) -> State:
    return Leaders(view.knobs, view.taken).leader_writes_marker(view.state, decision, coordinator, partition)


def join_sees_turned_repeat(view: View, decision: Term, other: Term) -> Term:
    """The join blames a repeated marker, though it ends nothing, where it says otherwise than its decision."""
    judged = judge_repeated(decided(view, decision), replace(marker_of(view, other), again=True))
    turned = negate(outcomes_agree(view.outcome(decision), view.outcome(other)))
    return implies(view.mark(other).producer_epoch >= 0, same(blames(judged), turned))


def join_sees_old_coordinator(view: View, decision: Term, coordinator: Term, partition: Term) -> Term:
    """The join blames a marker of an older coordinator than the partition knows, as its leader refuses it."""
    sent = view.sent_marker(decision, coordinator)
    known = view.entry(sent.producer_id, partition)
    written = replace(marker_of(view, decision), coordinator_epoch=coordinator)
    judged = judge_marker(replace(decided(view, decision), coordinator_epoch=known.coordinator_epoch), written)
    refused = fence.is_stale_coordinator(known, completing.to_append(sent, 0), view.knobs.profile)
    newest = view.latest_coordinator(sent.producer_id, partition)
    fallen = judge_marker(
        replace(decided(view, decision), coordinator_epoch=newest),
        replace(written, coordinator_epoch=known.coordinator_epoch),
    )
    falls = all_of(negate(known.coordinator_epoch == ABSENT), blames(fallen, rules.FENCE_COORDINATOR_EPOCH))
    return all_of(
        same(blames(judged, rules.FENCE_COORDINATOR_EPOCH), refused),
        same(negate(falls), coordinator_epochs_never_fall(view, partition, sent.producer_id)),
    )


# --- what has no marker, and what has no transaction ----------------------------------------------------------------


def join_sees_no_marker(view: View, txn: Term, partition: Term, batch: Term) -> Term:
    """The join blames open data whose transaction is over: its partition has no marker, and none is to come."""
    return _of_open_data(view, txn, partition, batch, False, rules.TXN_MARKER_ONCE)


def join_sees_offsets_without_marker(view: View, txn: Term, partition: Term, batch: Term) -> Term:
    """It blames the offsets where the outputs have their COMMIT."""
    return _of_open_data(view, txn, partition, batch, True, rules.OFFSETS_ATOMIC)


def _of_open_data(view: View, txn: Term, partition: Term, batch: Term, committed: bool, rule: Rule) -> Term:
    offsets, to_come = is_of_offsets(view, partition), open_data_will_be_decided(view, txn, partition, batch)
    over = CoordinatorOutcome(outcome=COMMIT if committed else ABORT, completed=negate(to_come))
    judged = judge_unmarked(over, UnmarkedPartition(offsets=offsets, marked=1, has_data=True, copied_later=True))
    blamed = all_of(negate(to_come), offsets if committed else True)
    return implies(view.data(txn, partition, batch) == OPEN, same(blames(judged, rule), blamed))


def join_sees_unknown_data(view: View, txn: Term, partition: Term, batch: Term) -> Term:
    """The join blames open data that no transaction of the coordinator will end."""
    to_come = open_data_will_be_decided(view, txn, partition, batch)
    data = OrphanData(0, offsets=is_of_offsets(view, partition), newest_in_doubt=to_come, known_until_ms=0)
    judged = judge_orphan_data(data)
    found = all_of(
        same(blames(judged), negate(to_come)),
        implies(blames(judged, rules.OFFSETS_ATOMIC), data.offsets),
        implies(blames(judged, rules.TXN_REGISTERED_BEFORE_DATA), negate(data.offsets)),
    )
    return implies(view.data(txn, partition, batch) == OPEN, found)


def join_sees_unmade_marker(view: View, decision: Term, partition: Term) -> Term:
    """The join blames a marker of a decision that its coordinator has not made; the data, where it ended some."""
    made, ended = view.is_made(decision), view.effects(decision, partition) > 0
    written = any_of(view.marked(decision, partition) >= 0, ended)
    offsets, commits = is_of_offsets(view, partition), view.outcome(decision) == COMMIT
    marker = OrphanMarker(
        choose(commits, COMMIT, ABORT),
        timestamp=0,
        known_until_ms=0,
        has_data=ended,
        offsets=offsets,
        has_transactions=True,
        whole=True,
    )
    judged = judge_orphan_marker(marker)
    found = all_of(
        negate(unmade_is_unmarked(view, decision, partition)),
        blames(judged),
        same(blames(judged, rules.TXN_MARKER_ONCE), negate(ended)),
        same(blames(judged, rules.OFFSETS_ATOMIC), all_of(ended, offsets, commits)),
    )
    return implies(all_of(negate(made), written), found)


# --- the system -----------------------------------------------------------------------------------------------------


_MESSAGE: Final = (TRANSACTION, PARTITION, BATCH)
_THREE: Final = (*_MESSAGE, PARTITION, BATCH, PARTITION, BATCH)

THEOREMS: Final[tuple[tuple[Callable[..., Term], Rule, tuple[Sort, ...]], ...]] = (
    (join_sees_two_outcomes, rules.TXN_ATOMIC, _THREE),
    (join_sees_torn_epoch, rules.TXN_ATOMIC, (DECISION, DECISION)),
    (join_sees_offsets_apart, rules.OFFSETS_ATOMIC, _THREE),
    (join_sees_turned_outcome, rules.TXN_ONE_OUTCOME, (DECISION, PARTITION)),
    (join_sees_turned_completion, rules.TXN_ONE_OUTCOME, (DECISION,)),
    (join_sees_turned_repeat, rules.TXN_ONE_OUTCOME, (DECISION, DECISION)),
    (join_sees_other_marker, rules.TXN_MARKER_ONCE, (TRANSACTION, DECISION, DECISION)),
    (join_sees_repeated_effect, rules.TXN_MARKER_ONCE, (DECISION, COORDINATOR, PARTITION)),
    (join_sees_no_marker, rules.TXN_MARKER_ONCE, _MESSAGE),
    (join_sees_unmade_marker, rules.TXN_MARKER_ONCE, (DECISION, PARTITION)),
    (join_sees_unregistered_data, rules.TXN_REGISTERED_BEFORE_DATA, (TRANSACTION, DECISION)),
    (join_sees_data_of_two, rules.TXN_REGISTERED_BEFORE_DATA, (TRANSACTION, TRANSACTION, DECISION)),
    (join_sees_unknown_data, rules.TXN_REGISTERED_BEFORE_DATA, _MESSAGE),
    (join_sees_stale_data, rules.FENCE_STALE_EPOCH, (TRANSACTION, DECISION)),
    (join_sees_old_coordinator, rules.FENCE_COORDINATOR_EPOCH, (DECISION, COORDINATOR, PARTITION)),
    (join_sees_offsets_without_marker, rules.OFFSETS_ATOMIC, _MESSAGE),
)
"""Each sentence, whose it is, and what it speaks of."""


def joining(knobs: TransactionKnobs = UNBOUNDED) -> System:
    """The system whose theorems are that the join blames what the claims of the transactions forbid, and no more.

    Args:
        knobs: what is in it; by default the true system, without bounds.
    """
    of = partial(TransactionLemmaView, knobs, decisions(knobs))

    def claim(sentence: Callable[..., Term], rule: Rule, over: tuple[Sort, ...]) -> Claim:
        statement = str(sentence.__doc__).partition("\n")[0]
        return Claim(sentence.__name__, rule, statement, over, lambda state, *at: sentence(of(state), *at))

    theorems = tuple(claim(*row) for row in THEOREMS)
    system = proved(knobs)
    return replace(system, name="joining", actions=(), theorems=theorems, lemmas=(), goals=(), assumptions=(), steps=())

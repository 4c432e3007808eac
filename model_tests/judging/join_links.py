"""Link rules of the join on Spark: a marker, the decision that it carries out, and the answer of a partition to it.

The decisions are those by which an audit joins logs (`judge_join`, `judge_orphans`), applied to the steps of a trace.
Only under transaction version 2 does each epoch of an id's markers belong to one transaction; for earlier versions
nothing here is at stake. A late marker, of an older decision than the newest, is judged by its partition's own
decision.

The data that a marker ends is checked against it where leaders check the epochs of markers (since 4.2). Before, a batch
of the next transaction may come before the marker of the last one (KAFKA-19446).
"""

from collections.abc import Iterable
from typing import Final

from model_tests.judging.coordinator_links import on_id
from model_tests.judging.log_links import on_log
from model_tests.judging.step_link import Scalar, StepLink
from reference.recording.trace import ADMIN
from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.evidence import Layer, evidences
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
from spec.judging.judge_orphans import RaisedEpoch, judge_against_complete, judge_mixed_epochs, judge_raised_epoch
from spec.protocol.coordinator import BUMPING
from spec.rules import Rule
from spec.vocabulary import ABSENT, ControlType, Origin, TransactionState

DECIDED_LINK: Final = "decided_link"
MARKED_LINK: Final = "marked_link"

ABORT, COMMIT = ControlType.ABORT.value, ControlType.COMMIT.value

OF_EARLIER_VERSION: Final = 1 << 20
"""The number of a decision of which nothing is at stake: above that of every epoch."""

_ANSWERED: Final = "MarkerAnswered"


# --- decisions and markers, by producer id --------------------------------------------------------------------------


def decides(of: Scalar) -> Term:
    """A coordinator has decided a transaction, or loaded one that is decided."""
    return all_of(on_id(of), _is_prepared(of, "after_"), negate(_is_prepared(of, "before_")))


def is_marker(of: Scalar) -> Term:
    """A leader has written a marker of a coordinator: one of an administrator carries out no decision."""
    of_coordinator = all_of(of("origin") == Origin.COORDINATOR.value, negate(of("client") == ADMIN))
    return all_of(on_log(of), of_coordinator, of("control"), of("appended"))


def on_decided(of: Scalar) -> Term:
    """A step decides, or writes a marker."""
    return any_of(decides(of), is_marker(of))


def decided_id(of: Scalar) -> Term:
    """The producer id of the decision, or of the marker."""
    return choose(decides(of), of("after_txn_producer_id"), of("producer_id"))


def decision(of: Scalar) -> Term:
    """Epoch and outcome of a decision as one number, which rises with the epoch; the largest for an earlier version.

    A client of an earlier version may follow on one of version 2, or on the coordinator's own abort.
    """
    commits = of("after_txn_state") == TransactionState.PREPARE_COMMIT.value
    numbered = _numbered(of("after_txn_epoch"), choose(commits, COMMIT, ABORT))
    return choose(of("after_txn_client_version") >= BUMPING, numbered, OF_EARLIER_VERSION)


def _numbered(epoch: Term, outcome: int | Term) -> Term:
    return epoch + epoch + outcome


def _is_prepared(of: Scalar, moment: str) -> Term:
    prepared = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
    return any_of(*(of(f"{moment}txn_state") == state.value for state in prepared))


def _decided(of: Scalar) -> CoordinatorOutcome:
    """The producer id's newest decision, if the marker is of it; the transaction's epoch is the marker's less one."""
    epoch, latest = of("producer_epoch"), of("latest")
    commits, aborts = latest == _numbered(epoch, COMMIT), latest == _numbered(epoch, ABORT)
    mine = any_of(commits, aborts)
    return CoordinatorOutcome(
        producer_epoch=choose(mine, epoch - 1, ABSENT),
        marker_epoch=choose(mine, epoch, ABSENT),
        outcome=choose(commits, COMMIT, choose(aborts, ABORT, ABSENT)),
        coordinator_epoch=of("before_coordinator_epoch"),
        completed=True,
    )


def _marker(of: Scalar) -> PartitionMarker:
    """The marker; a partition that knows the marker's epoch already has received it before."""
    ends = of("before_txn_first_offset") >= 0
    return PartitionMarker(
        of("producer_epoch"),
        of("control_type"),
        of("coordinator_epoch"),
        again=of("before_epoch") >= of("producer_epoch"),
        has_data=ends,
        data_epoch=choose(ends, of("before_epoch"), ABSENT),
        ends_own_epoch=all_of(ends, of("before_epoch") == of("producer_epoch")),
    )


def _is_control(of: Scalar) -> Term:
    """Among the steps on the chains, one that writes a marker; a link cannot read columns of text."""
    return all_of(of("control"), of("appended"))


def _is_of_newest(of: Scalar) -> Term:
    """A step writes the marker of the newest decision, or of one that nobody has made."""
    newest = of("latest") <= _numbered(of("producer_epoch"), COMMIT)
    return all_of(_is_control(of), of("latest") >= 0, newest)


def _is_decided(of: Scalar) -> Term:
    return all_of(_is_control(of), of("latest") >= 0, is_of(_decided(of), _marker(of)))


def _of(rule: Rule, at_stake: Term, checks: Iterable[RuleCheck]) -> RuleCheck:
    """Several checks of one rule as one check, at stake under this condition."""
    own = tuple(check for check in checks if check.rule is rule)
    some = any_of(*(check.at_stake for check in own))
    return RuleCheck(rule, all_of(at_stake, some), all_of(*(implies(check.at_stake, check.holds) for check in own)))


@evidences(rules.TXN_MARKER_ONCE, Layer.TRACE)
def marker_of_decision(scalar: Scalar) -> RuleCheck:
    """A marker has the epoch of its decision."""
    judged = judge_marker(_decided(scalar), _marker(scalar))
    return _of(rules.TXN_MARKER_ONCE, _is_of_newest(scalar), judged)


@evidences(rules.TXN_ONE_OUTCOME, Layer.TRACE)
def outcome_as_decided(scalar: Scalar) -> RuleCheck:
    """A marker says what was decided."""
    agrees = has_outcome_of(_decided(scalar), _marker(scalar))
    alone = MarkerCounts(choose(agrees, 1, 0), 0, choose(agrees, 0, 1), 0)
    return _of(rules.TXN_ONE_OUTCOME, _is_decided(scalar), judge_outcomes(alone))


@evidences(rules.TXN_ONE_OUTCOME, Layer.TRACE)
def outcome_as_recorded(scalar: Scalar) -> RuleCheck:
    """A marker says what the record of its decision says."""
    judged = judge_against_complete(scalar("control_type"), _decided(scalar).outcome, hidden=False)
    return _of(rules.TXN_ONE_OUTCOME, _is_decided(scalar), [judged])


@evidences(rules.TXN_ONE_OUTCOME, Layer.TRACE)
def outcome_again(scalar: Scalar) -> RuleCheck:
    """A repeated marker says what was decided."""
    return _of(rules.TXN_ONE_OUTCOME, _is_decided(scalar), judge_repeated(_decided(scalar), _marker(scalar)))


@evidences(rules.TXN_ATOMIC, Layer.TRACE)
def outcome_as_elsewhere(scalar: Scalar) -> RuleCheck:
    """Two markers of a decision, one after the other, say the same."""
    agree = tuple(
        choose(has_outcome_of(_decided(scalar), each), 1, 0) for each in (_marker_before(scalar), _marker(scalar))
    )
    counts = MarkerCounts(agree[0] + agree[1], 0, 2 - agree[0] - agree[1], 0)
    return _of(rules.TXN_ATOMIC, _are_of_one(scalar), judge_outcomes(counts))


@evidences(rules.TXN_ATOMIC, Layer.TRACE)
def outcome_of_epoch(scalar: Scalar) -> RuleCheck:
    """Two markers of an epoch that was raised for one transaction say the same."""
    commits = tuple(choose(each.outcome == COMMIT, 1, 0) for each in (_marker_before(scalar), _marker(scalar)))
    of_both = RaisedEpoch(raised=True, commits=commits[0] + commits[1], aborts=2 - commits[0] - commits[1])
    return _of(rules.TXN_ATOMIC, _are_of_one(scalar), [judge_raised_epoch(of_both)])


def _marker_before(scalar: Scalar) -> PartitionMarker:
    return PartitionMarker(scalar("previous_producer_epoch"), scalar("previous_control_type"))


def _are_of_one(scalar: Scalar) -> Term:
    """The step before wrote a marker of the same decision."""
    before = all_of(scalar("has_previous"), scalar("previous_control"))
    return all_of(_is_decided(scalar), before, is_of(_decided(scalar), _marker_before(scalar)))


@evidences(rules.FENCE_COORDINATOR_EPOCH, Layer.TRACE)
def marker_of_coordinator(scalar: Scalar) -> RuleCheck:
    """A marker is of no older coordinator than the last one that the partition knows."""
    judged = judge_marker(_decided(scalar), _marker(scalar))
    return _of(rules.FENCE_COORDINATOR_EPOCH, _is_decided(scalar), judged)


@evidences(rules.TXN_REGISTERED_BEFORE_DATA, Layer.TRACE)
def data_of_decision(scalar: Scalar) -> RuleCheck:
    """A marker ends no data of a later epoch than its transaction had."""
    return _of(rules.TXN_REGISTERED_BEFORE_DATA, *_of_data(scalar))


@evidences(rules.FENCE_STALE_EPOCH, Layer.TRACE)
def no_stale_data(scalar: Scalar) -> RuleCheck:
    """A marker ends no data of an earlier epoch than its transaction had."""
    return _of(rules.FENCE_STALE_EPOCH, *_of_data(scalar))


def _of_data(scalar: Scalar) -> tuple[Term, tuple[RuleCheck, ...]]:
    marker = _marker(scalar)
    ends = all_of(_is_decided(scalar), marker.has_data, scalar("marker_version") >= BUMPING)
    return ends, judge_ended_data(_decided(scalar), EndedData(marker.data_epoch))


@evidences(rules.TXN_REGISTERED_BEFORE_DATA, Layer.TRACE)
def no_data_again(scalar: Scalar) -> RuleCheck:
    """A repeated marker ends no data."""
    at_stake = all_of(_is_decided(scalar), scalar("marker_version") >= BUMPING)
    return _of(rules.TXN_REGISTERED_BEFORE_DATA, at_stake, judge_repeated(_decided(scalar), _marker(scalar)))


# --- data, markers and answers, by producer id and partition --------------------------------------------------------


def answers(of: Scalar) -> Term:
    """A coordinator has the answer that a partition has written the marker of a transaction of version 2."""
    written = all_of(of("api") == _ANSWERED, of("marker_error") == 0, negate(of("topic") == ""))
    return all_of(on_id(of), written, of("before_txn_client_version") >= BUMPING, _is_prepared(of, "before_"))


def is_data(of: Scalar) -> Term:
    """A leader has written a batch of a client's transaction."""
    data = all_of(of("appended"), of("transactional"), negate(of("control")))
    return all_of(on_log(of), data, of("origin") == Origin.CLIENT.value, of("transaction") >= 0)


def on_marked(of: Scalar) -> Term:
    """A partition gets data or a marker, or has answered that it got one."""
    return any_of(is_data(of), is_marker(of), answers(of))


def marked_id(of: Scalar) -> Term:
    """The producer id of the data or the marker."""
    return choose(answers(of), of("before_txn_producer_id"), of("producer_id"))


@evidences(rules.TXN_MARKER_ONCE, Layer.TRACE)
def answered_with_marker(scalar: Scalar) -> RuleCheck:
    """A partition that has written a marker has no data left that the marker ends."""
    commits = scalar("before_txn_state") == TransactionState.PREPARE_COMMIT.value
    transaction = CoordinatorOutcome(outcome=choose(commits, COMMIT, ABORT), completed=True)
    judged = judge_unmarked(transaction, UnmarkedPartition(has_data=True, copied_later=True))
    owed = all_of(*(implies(check.at_stake, check.holds) for check in judged))
    earlier = scalar("previous_producer_epoch") < scalar("before_txn_epoch")
    has_its_own = scalar("previous_control")
    at_stake = all_of(scalar("marker_error") == 0, scalar("has_previous"), any_of(has_its_own, earlier))
    return RuleCheck(rules.TXN_MARKER_ONCE, at_stake, any_of(has_its_own, owed))


@evidences(rules.TXN_REGISTERED_BEFORE_DATA, Layer.TRACE)
def data_of_one_epoch(scalar: Scalar) -> RuleCheck:
    """The data before a marker has one epoch."""
    return _of(rules.TXN_REGISTERED_BEFORE_DATA, *_of_epochs(scalar))


@evidences(rules.TXN_MARKER_ONCE, Layer.TRACE)
def marker_between(scalar: Scalar) -> RuleCheck:
    """Between data of two epochs, both before that of a marker, there is another one."""
    return _of(rules.TXN_MARKER_ONCE, *_of_epochs(scalar))


def _of_epochs(scalar: Scalar) -> tuple[Term, tuple[RuleCheck, ...]]:
    """Whether a marker follows data, and the checks of the epochs of that data and of the data open before it."""
    last, was_open = scalar("previous_producer_epoch"), scalar("previous_before_txn_first_offset") >= 0
    first = choose(was_open, scalar("previous_before_epoch"), last)
    follows = all_of(scalar("has_previous"), negate(scalar("previous_control")))
    at_stake = all_of(_is_control(scalar), follows, scalar("marker_version") >= BUMPING)
    return at_stake, judge_mixed_epochs(first, last, scalar("producer_epoch"), hidden=False)


DECIDED_LINKS: Final = (
    StepLink("marker_of_decision", rules.TXN_MARKER_ONCE, marker_of_decision, "the epoch of the newest decision"),
    StepLink("outcome_as_decided", rules.TXN_ONE_OUTCOME, outcome_as_decided, "the outcome that was decided"),
    StepLink("outcome_as_recorded", rules.TXN_ONE_OUTCOME, outcome_as_recorded, "the outcome that was decided"),
    StepLink("outcome_again", rules.TXN_ONE_OUTCOME, outcome_again, "the outcome that was decided"),
    StepLink("outcome_as_elsewhere", rules.TXN_ATOMIC, outcome_as_elsewhere, "the outcome of the marker before"),
    StepLink("outcome_of_epoch", rules.TXN_ATOMIC, outcome_of_epoch, "the outcome of the marker before"),
    StepLink(
        "marker_of_coordinator",
        rules.FENCE_COORDINATOR_EPOCH,
        marker_of_coordinator,
        "a coordinator that is not older than the last one",
    ),
    StepLink(
        "data_of_decision", rules.TXN_REGISTERED_BEFORE_DATA, data_of_decision, "data of the marker's transaction"
    ),
    StepLink("no_data_again", rules.TXN_REGISTERED_BEFORE_DATA, no_data_again, "no data"),
    StepLink("no_stale_data", rules.FENCE_STALE_EPOCH, no_stale_data, "data of the marker's transaction"),
)

MARKED_LINKS: Final = (
    StepLink("answered_with_marker", rules.TXN_MARKER_ONCE, answered_with_marker, "no data that has no marker"),
    StepLink("data_of_one_epoch", rules.TXN_REGISTERED_BEFORE_DATA, data_of_one_epoch, "data of the epoch before it"),
    StepLink("marker_between", rules.TXN_MARKER_ONCE, marker_between, "data of the epoch before it"),
)

"""Link rules of transactional ids on Spark: a step of a coordinator, and the steps before it in the trace.

At one node, what a step finds of an id is what the step before left: elections, resignations and restarts leave steps
too. No node hands out an identity that was handed out before. A producer id is not handed out again either, to another
id or to a producer without one; this includes the ids that a coordinator draws when an id has used up its epochs.

The next coordinator of an id knows the id while its transaction is open, and loads what was written of it. The time of
a completed transaction is the time at which its coordinator began to complete it.
"""

from typing import Any, Final

from model_tests.judging.compiled import holds
from model_tests.judging.step_link import Scalar, StepLink
from model_tests.traces.schema import transaction_entry_of
from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.evidence import Layer, evidences
from spec.judging.judge import RuleCheck
from spec.judging.judge_overdue import REAPER_INTERVAL, judge_ongoing
from spec.protocol.coordinator import BUMPING, is_at_rest, is_in, is_preparing
from spec.protocol.ending import keeps_outcome
from spec.protocol.records import flatten
from spec.versions import NEWEST
from spec.vocabulary import ABSENT, Api, TransactionState

ID_LINK: Final = "id_link"

AT_NODE: Final = ("trace", "node", "transactional_id")
IDENTITY: Final = ("trace", "transactional_id", "reply_producer_id", "reply_epoch")

NEW_ID_LINK: Final = "new_id_link"

COMPLETING_LINK: Final = "completing_link"

OPEN_LINK: Final = "open_transaction_link"

SEARCH_LINK: Final = "search_link"

TIMEOUT: Final = "TransactionTimeout"

_REPEATED: Final = "handed_out_before"
HANDING_OUT: Final = (Api.INIT_PRODUCER_ID, Api.END_TXN)
"""Requests that are answered with an identity."""
_RECORDED: Final = ("txn_state", "txn_partitions")


@evidences(rules.TXN_LEGAL_TRANSITION, Layer.TRACE)
def same_state(scalar: Scalar) -> RuleCheck:
    """A coordinator knows of an id what the step before left."""
    previous = transaction_entry_of("previous_after_", scalar)
    before = transaction_entry_of("before_", scalar)
    pairs = zip(flatten(previous), flatten(before), strict=True)
    alike = all_of(*(left == right for (_, left), (_, right) in pairs))
    return RuleCheck(rules.TXN_LEGAL_TRANSITION, scalar("has_previous"), alike)


@evidences(rules.IDS_IDENTITY_NEVER_REPEATS, Layer.TRACE)
def new_identity(scalar: Scalar) -> RuleCheck:
    """An identity that a step hands out was never handed out before; one that the id has already may be repeated."""
    return RuleCheck(rules.IDS_IDENTITY_NEVER_REPEATS, hands_out(scalar), negate(scalar(_REPEATED)))


@evidences(rules.IDS_UNIQUE, Layer.TRACE)
def new_producer_id(scalar: Scalar) -> RuleCheck:
    """A producer id that a step draws was never drawn before."""
    draws = any_of(scalar("reply_producer_id") >= 0, scalar("after_txn_next_producer_id") >= 0)
    return RuleCheck(rules.IDS_UNIQUE, draws, negate(scalar(_REPEATED)))


@evidences(rules.TXN_FAILOVER, Layer.TRACE)
def not_forgotten(scalar: Scalar) -> RuleCheck:
    """Who hands an identity to an id with an open transaction knows the id, whichever node opened the transaction."""
    was_open = scalar("previous_after_txn_state") == TransactionState.ONGOING.value
    at_stake = all_of(scalar("has_previous"), was_open, scalar("reply_producer_id") >= 0)
    return RuleCheck(rules.TXN_FAILOVER, at_stake, scalar("before_txn_state") >= 0)


@evidences(rules.TXN_FAILOVER, Layer.TRACE)
def loaded_as_written(scalar: Scalar) -> RuleCheck:
    """What a new coordinator loads is not behind what was last known to be written, and keeps its outcome.

    It may be ahead by what the coordinator before took for lost, a new producer id included. A fencing epoch whose
    abort failed was not written.
    """
    last, got = transaction_entry_of("previous_after_", scalar), transaction_entry_of("after_", scalar)
    partitions, before = scalar("after_txn_partitions"), scalar("previous_after_txn_partitions")
    written = all_of(negate(last.fence_failed), any_of(last.pending == ABSENT, is_preparing(last)))
    same_state = all_of(got.state == last.state, got.producer_epoch == last.producer_epoch)
    same_record = all_of(same_state, got.update_time == last.update_time, partitions == before)
    alike = all_of(got.timeout == last.timeout, got.start_time == last.start_time)
    holds = all_of(
        keeps_outcome(last, got),
        implies(is_in(last, TransactionState.ONGOING), negate(is_at_rest(got))),
        got.producer_epoch >= last.producer_epoch,
        implies(same_state, partitions >= before),
        implies(all_of(same_record, negate(is_in(last, TransactionState.EMPTY))), alike),
    )
    same_id = got.producer_id == last.producer_id
    loads = all_of(scalar("before_txn_state") < 0, scalar("after_txn_state") >= 0, scalar("reply_producer_id") < 0)
    at_stake = all_of(scalar("has_previous"), loads, last.known, written, same_id)
    return RuleCheck(rules.TXN_FAILOVER, at_stake, holds)


@evidences(rules.TXN_LEGAL_TRANSITION, Layer.TRACE)
def completed_as_begun(scalar: Scalar) -> RuleCheck:
    """The time of a completion is that at which its coordinator began to complete the transaction, by its own clock.

    Source: TransactionMetadata.prepareComplete, which takes the time before the markers go.
    """
    at_stake = all_of(scalar("has_previous"), _reaches_target(scalar))
    holds = scalar("after_txn_updated_ms") == scalar("previous_time_ms")
    return RuleCheck(rules.TXN_LEGAL_TRANSITION, at_stake, holds)


@evidences(rules.TXN_TIMEOUT, Layer.TRACE)
def nothing_overdue(scalar: Scalar) -> RuleCheck:
    """A coordinator that has looked for timeouts leaves no transaction that is overdue by the next time.

    Where the abort did not reach the log, the epoch is raised; not under version 2, and not if it is the last one.
    """
    before, after = transaction_entry_of("before_", scalar), transaction_entry_of("after_", scalar)
    check = judge_ongoing(after, scalar("time_ms") + REAPER_INTERVAL)
    raised = any_of(after.fence_failed, after.producer_epoch > before.producer_epoch)
    would_raise = all_of(scalar("transaction_version") < BUMPING, after.producer_epoch < NEWEST.max_epoch)
    return RuleCheck(check.rule, all_of(would_raise, negate(raised), check.at_stake), check.holds)


def looks_for_timeouts(of: Scalar) -> Term:
    """A coordinator looks whether a transaction has timed out."""
    return all_of(on_id(of), of("api") == TIMEOUT)


def on_id(scalar: Scalar) -> Any:
    """A step is a transactional id's at a node; an answer that an application got is at none."""
    return all_of(negate(scalar("transactional_id") == ""), negate(scalar("node") == ""), scalar("origin") < 0)


is_on_id: Final = holds(on_id)
"""The same of a row."""


def hands_out_new_id(scalar: Scalar) -> Any:
    """A node answers with a producer id that the transactional id, if there is one, neither had nor was to have."""
    known = ("before_txn_producer_id", "before_txn_next_producer_id")
    same = any_of(*(scalar("reply_producer_id") == scalar(name) for name in known))
    request = all_of(any_of(*(scalar("api") == api for api in HANDING_OUT)), negate(scalar("node") == ""))
    return all_of(request, scalar("error") == 0, scalar("reply_producer_id") >= 0, negate(same))


def draws_for_the_end(scalar: Scalar) -> Any:
    """A coordinator draws the producer id that an id is to have after its transaction, which may be its own abort."""
    drawn = scalar("after_txn_next_producer_id")
    known = all_of(on_id(scalar), scalar("before_txn_state") >= 0)
    return all_of(known, drawn >= 0, negate(drawn == scalar("before_txn_next_producer_id")))


def draws_id(scalar: Scalar) -> Any:
    """A node draws a producer id: it hands one out, or is going to."""
    return any_of(hands_out_new_id(scalar), draws_for_the_end(scalar))


def drawn_id(scalar: Scalar) -> Any:
    """The producer id that a step draws."""
    return choose(hands_out_new_id(scalar), scalar("reply_producer_id"), scalar("after_txn_next_producer_id"))


def begins_completing(scalar: Scalar) -> Any:
    """A coordinator has decided a transaction, or loaded one that is decided, and begins to complete it."""
    begun = negate(scalar("before_txn_pending") == scalar("after_txn_pending"))
    return all_of(on_id(scalar), begun, _is_complete(scalar("after_txn_pending")))


def completes(scalar: Scalar) -> Any:
    """A transaction that was to be completed is complete."""
    return all_of(on_id(scalar), _reaches_target(scalar))


def _reaches_target(scalar: Scalar) -> Term:
    target = scalar("before_txn_pending")
    return all_of(_is_complete(target), scalar("after_txn_state") == target)


def _is_complete(state: Term) -> Term:
    return any_of(
        *(state == each.value for each in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT))
    )


def changes_id(scalar: Scalar) -> Any:
    """A node knows of a transactional id what it did not know before, or hands out another identity of it."""
    changed = any_of(*(negate(scalar(f"before_{name}") == scalar(f"after_{name}")) for name in _RECORDED))
    known = all_of(scalar("after_txn_state") >= 0, changed)
    return all_of(on_id(scalar), any_of(known, all_of(scalar("api") == Api.INIT_PRODUCER_ID, hands_out(scalar))))


def hands_out(scalar: Scalar) -> Any:
    """A step answers with an identity that its id did not have."""
    changed = any_of(
        negate(scalar("reply_producer_id") == scalar("before_txn_producer_id")),
        negate(scalar("reply_epoch") == scalar("before_txn_epoch")),
    )
    return all_of(scalar("error") == 0, scalar("reply_producer_id") >= 0, changed)


ID_LINKS: Final = (
    StepLink("previous_id_state", rules.TXN_LEGAL_TRANSITION, same_state, "the state that the step before left"),
    StepLink("identity", rules.IDS_IDENTITY_NEVER_REPEATS, new_identity, "an identity that was never handed out"),
)

NEW_ID_LINKS: Final = (
    StepLink("producer_id", rules.IDS_UNIQUE, new_producer_id, "a producer id that was never drawn"),
)

COMPLETING_LINKS: Final = (
    StepLink(
        "completion_time", rules.TXN_LEGAL_TRANSITION, completed_as_begun, "the time at which its completion began"
    ),
)

SEARCH_LINKS: Final = (
    StepLink("nothing_overdue", rules.TXN_TIMEOUT, nothing_overdue, "no transaction past its timeout"),
)

OPEN_LINKS: Final = (
    StepLink("open_transaction", rules.TXN_FAILOVER, not_forgotten, "an id that is known: its transaction is open"),
    StepLink(
        "loaded_record",
        rules.TXN_FAILOVER,
        loaded_as_written,
        "what was last written of it, or what followed",
        bound=True,
    ),
)

"""The rules of one append, in plain words, each checked on every append at a leader.

None of these asks the specification's decision or the reference's checks: what is right follows from the log.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from model_tests.machines.memory import SEQUENCES
from model_tests.machines.observed_append import ObservedAppend
from model_tests.machines.rule_counts import Ledger
from spec import rules
from spec.evidence import Layer, evidences
from spec.rules import Circumstances, Rule
from spec.vocabulary import ErrorCode

AppendInvariant: TypeAlias = Callable[[ObservedAppend, Ledger], None]

FENCED: Final = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)


@evidences(rules.SEQ_WELL_FORMED, Layer.STATEFUL)
def seq_well_formed(request: ObservedAppend, ledger: Ledger) -> None:
    """A malformed request of a client is refused as such, and no other request is."""
    rule = rules.SEQ_WELL_FORMED
    error = ErrorCode.INVALID_RECORD if request.profile.invalid_record_has_code else ErrorCode.CORRUPT_MESSAGE
    if request.is_malformed:
        ledger.expect(rule, request.was_refused(error), f"a malformed request must be refused {error.name}: {request}")
    elif request.answer.error == error:
        ledger.expect(rule, False, f"a well-formed request must not be refused {error.name}: {request}")


@evidences(rules.SEQ_DUPLICATE_WINDOW, Layer.STATEFUL)
def seq_duplicate_window(request: ObservedAppend, ledger: Ledger) -> None:
    """An exact resend of a batch in the window gets its first offset, and nothing else is taken for a resend."""
    rule, first = rules.SEQ_DUPLICATE_WINDOW, request.resent
    if first is not None:
        wanted = request.offsets_of(first)
        right = (request.answer.base_offset, request.answer.last_offset) == wanted
        kept = request.answer.error == ErrorCode.NONE and right and request.unchanged
        ledger.expect(rule, kept, f"a resend gets the offsets {wanted} of its first copy, no append: {request}")
    elif request.answer.duplicate:
        ledger.expect(rule, False, f"no batch of the window has exactly these sequences, yet it was found: {request}")


@evidences(rules.FENCE_STALE_EPOCH, Layer.STATEFUL)
def fence_stale_epoch(request: ObservedAppend, ledger: Ledger) -> None:
    """A batch of a lower epoch is refused with the version's error, and no other batch is."""
    rule = rules.FENCE_STALE_EPOCH
    if request.is_stale:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
        ledger.expect(
            rule, request.was_refused(error), f"an epoch below the known one is refused {error.name}: {request}"
        )
    elif request.answer.error in FENCED:
        ledger.expect(rule, False, f"the epoch is not below the known one, yet it was fenced: {request}")


@evidences(rules.SEQ_EPOCH_RESET, Layer.STATEFUL)
def seq_epoch_reset(request: ObservedAppend, ledger: Ledger) -> None:
    """A higher epoch of a known producer is taken at sequence 0 and refused at any other."""
    if not request.is_new or request.is_stale or request.known.epoch in (-1, request.batch.producer_epoch):
        return
    _taken_or_out_of_order(
        rules.SEQ_EPOCH_RESET, request, ledger, request.batch.base_sequence == 0, "0, the epoch is new"
    )


@evidences(rules.SEQ_FIRST, Layer.STATEFUL)
def seq_first(request: ObservedAppend, ledger: Ledger) -> None:
    """The first batch of an unknown producer is taken at 0, and at other sequences as the version says."""
    if not request.is_new or request.known.epoch != -1:
        return
    may_start = request.profile.any_first_sequence or request.batch.base_sequence == 0
    if request.profile.unknown_producer_error and not may_start:
        refused = request.was_refused(ErrorCode.UNKNOWN_PRODUCER_ID)
        ledger.expect(rules.SEQ_FIRST, refused, f"an unknown producer starts at 0, else UNKNOWN_PRODUCER_ID: {request}")
        return
    wanted = "any, as nothing is known of the producer" if request.profile.any_first_sequence else "0, the first"
    _taken_or_out_of_order(rules.SEQ_FIRST, request, ledger, may_start, wanted)


@evidences(rules.SEQ_SUCCESSOR, Layer.STATEFUL)
def seq_successor(request: ObservedAppend, ledger: Ledger) -> None:
    """In the known epoch a batch is taken if its sequence is the last one plus one, modulo 2^31, and else refused."""
    if not request.is_new or request.known.epoch == -1 or request.known.epoch != request.batch.producer_epoch:
        return
    wanted = (request.known.last_sequence + 1) % SEQUENCES
    follows = request.batch.base_sequence == wanted
    _taken_or_out_of_order(rules.SEQ_SUCCESSOR, request, ledger, follows, f"{wanted}, the successor")


def _taken_or_out_of_order(rule: Rule, request: ObservedAppend, ledger: Ledger, may: bool, wanted: str) -> None:
    held = request.was_appended if may else request.was_refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    does = "is appended" if may else "is refused OUT_OF_ORDER_SEQUENCE_NUMBER"
    ledger.expect(rule, held, f"the sequence must be {wanted}, so the batch {does}: {request}")


@evidences(rules.SEQ_REFUSAL_IS_PURE, Layer.STATEFUL)
def seq_refusal_is_pure(request: ObservedAppend, ledger: Ledger) -> None:
    """A refused append leaves log and producer state as they were."""
    if request.answer.error != ErrorCode.NONE:
        ledger.expect(
            rules.SEQ_REFUSAL_IS_PURE, request.unchanged, f"a refusal changed log or producer state: {request}"
        )


@evidences(rules.FENCE_EPOCH_MONOTONE, Layer.STATEFUL)
def fence_epoch_monotone(request: ObservedAppend, ledger: Ledger) -> None:
    """What is appended has at least the highest epoch that the log has of its producer."""
    if request.grown and request.highest_epoch >= 0:
        risen = all(batch.producer_epoch >= request.highest_epoch for batch in request.grown)
        circumstances = Circumstances(state_retained=not request.forgetful)
        message = f"the log already has epoch {request.highest_epoch} of this producer: {request}"
        ledger.expect(rules.FENCE_EPOCH_MONOTONE, risen, message, circumstances)


APPEND_INVARIANTS: Final[dict[Rule, AppendInvariant]] = {
    rules.SEQ_WELL_FORMED: seq_well_formed,
    rules.SEQ_DUPLICATE_WINDOW: seq_duplicate_window,
    rules.FENCE_STALE_EPOCH: fence_stale_epoch,
    rules.SEQ_EPOCH_RESET: seq_epoch_reset,
    rules.SEQ_FIRST: seq_first,
    rules.SEQ_SUCCESSOR: seq_successor,
    rules.SEQ_REFUSAL_IS_PURE: seq_refusal_is_pure,
    rules.FENCE_EPOCH_MONOTONE: fence_epoch_monotone,
}

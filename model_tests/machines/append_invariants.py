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
def seq_well_formed(asked: ObservedAppend, ledger: Ledger) -> None:
    """A malformed request of a client is refused as such, and no other request is."""
    rule = rules.SEQ_WELL_FORMED
    error = ErrorCode.INVALID_RECORD if asked.profile.invalid_record_has_code else ErrorCode.CORRUPT_MESSAGE
    if asked.is_malformed:
        ledger.expect(rule, asked.was_refused(error), f"a malformed request must be refused {error.name}: {asked}")
    elif asked.answer.error == error:
        ledger.expect(rule, False, f"a well-formed request must not be refused {error.name}: {asked}")


@evidences(rules.SEQ_DUPLICATE_WINDOW, Layer.STATEFUL)
def seq_duplicate_window(asked: ObservedAppend, ledger: Ledger) -> None:
    """An exact resend of a batch in the window gets its first offset, and nothing else is taken for a resend."""
    rule, first = rules.SEQ_DUPLICATE_WINDOW, asked.resent
    if first is not None:
        wanted = asked.offsets_of(first)
        right = (asked.answer.base_offset, asked.answer.last_offset) == wanted
        kept = asked.answer.error == ErrorCode.NONE and right and asked.unchanged
        ledger.expect(rule, kept, f"a resend gets the offsets {wanted} of its first copy, no append: {asked}")
    elif asked.answer.duplicate:
        ledger.expect(rule, False, f"no batch of the window has exactly these sequences, yet it was found: {asked}")


@evidences(rules.FENCE_STALE_EPOCH, Layer.STATEFUL)
def fence_stale_epoch(asked: ObservedAppend, ledger: Ledger) -> None:
    """A batch of a lower epoch is refused with the version's error, and no other batch is."""
    rule = rules.FENCE_STALE_EPOCH
    if asked.is_stale:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
        ledger.expect(rule, asked.was_refused(error), f"an epoch below the known one is refused {error.name}: {asked}")
    elif asked.answer.error in FENCED:
        ledger.expect(rule, False, f"the epoch is not below the known one, yet it was fenced: {asked}")


@evidences(rules.SEQ_EPOCH_RESET, Layer.STATEFUL)
def seq_epoch_reset(asked: ObservedAppend, ledger: Ledger) -> None:
    """A higher epoch of a known producer is taken at sequence 0 and refused at any other."""
    if not asked.is_new or asked.is_stale or asked.known.epoch in (-1, asked.batch.producer_epoch):
        return
    _taken_or_out_of_order(rules.SEQ_EPOCH_RESET, asked, ledger, asked.batch.base_sequence == 0, "0, the epoch is new")


@evidences(rules.SEQ_FIRST, Layer.STATEFUL)
def seq_first(asked: ObservedAppend, ledger: Ledger) -> None:
    """The first batch of an unknown producer is taken at 0, and at other sequences as the version says."""
    if not asked.is_new or asked.known.epoch != -1:
        return
    may_start = asked.profile.any_first_sequence or asked.batch.base_sequence == 0
    if asked.profile.unknown_producer_error and not may_start:
        refused = asked.was_refused(ErrorCode.UNKNOWN_PRODUCER_ID)
        ledger.expect(rules.SEQ_FIRST, refused, f"an unknown producer starts at 0, else UNKNOWN_PRODUCER_ID: {asked}")
        return
    wanted = "any, as nothing is known of the producer" if asked.profile.any_first_sequence else "0, the first"
    _taken_or_out_of_order(rules.SEQ_FIRST, asked, ledger, may_start, wanted)


@evidences(rules.SEQ_SUCCESSOR, Layer.STATEFUL)
def seq_successor(asked: ObservedAppend, ledger: Ledger) -> None:
    """In the known epoch a batch is taken if its sequence is the last one plus one, modulo 2^31, and else refused."""
    if not asked.is_new or asked.known.epoch == -1 or asked.known.epoch != asked.batch.producer_epoch:
        return
    wanted = (asked.known.last_sequence + 1) % SEQUENCES
    follows = asked.batch.base_sequence == wanted
    _taken_or_out_of_order(rules.SEQ_SUCCESSOR, asked, ledger, follows, f"{wanted}, the successor")


def _taken_or_out_of_order(rule: Rule, asked: ObservedAppend, ledger: Ledger, may: bool, wanted: str) -> None:
    held = asked.was_appended if may else asked.was_refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    does = "is appended" if may else "is refused OUT_OF_ORDER_SEQUENCE_NUMBER"
    ledger.expect(rule, held, f"the sequence must be {wanted}, so the batch {does}: {asked}")


@evidences(rules.SEQ_REFUSAL_IS_PURE, Layer.STATEFUL)
def seq_refusal_is_pure(asked: ObservedAppend, ledger: Ledger) -> None:
    """A refused append leaves log and producer state as they were."""
    if asked.answer.error != ErrorCode.NONE:
        ledger.expect(rules.SEQ_REFUSAL_IS_PURE, asked.unchanged, f"a refusal changed log or producer state: {asked}")


@evidences(rules.FENCE_EPOCH_MONOTONE, Layer.STATEFUL)
def fence_epoch_monotone(asked: ObservedAppend, ledger: Ledger) -> None:
    """What is appended has at least the highest epoch that the log has of its producer."""
    if asked.grown and asked.highest_epoch >= 0:
        risen = all(batch.producer_epoch >= asked.highest_epoch for batch in asked.grown)
        circumstances = Circumstances(state_retained=not asked.forgetful)
        said = f"the log already has epoch {asked.highest_epoch} of this producer: {asked}"
        ledger.expect(rules.FENCE_EPOCH_MONOTONE, risen, said, circumstances)


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

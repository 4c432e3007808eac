"""Facts about Produce around the log, for all inputs: which requests reach it, and that answers are true.

The proofs of systems do not use them: each states what a rule requires of one decision.
"""

from dataclasses import dataclass
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, implies, negate, same
from spec.protocol import append, produce
from spec.protocol.produce import PartitionProduce
from spec.protocol.records import AppendRequest, MetVerification, ProducerEntry
from spec.systems.decision_lemmas import About, Fact, stated
from spec.versions import KAFKA_0_11, KAFKA_2_4, KAFKA_3_6, NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode, Origin


@dataclass(frozen=True, slots=True)
class ProduceAroundLog:
    """A Produce around the log, and where the log begins."""

    version: Term = 0
    acks: Term = -1
    names_transaction: Term = False
    any_transactional: Term = False
    partition_exists: Term = True
    batch_count: Term = 1
    ids_mixed: Term = False
    epochs_mixed: Term = False
    verified: Term = True
    log_start: Term = 0

    @property
    def request(self) -> PartitionProduce:
        """As the broker sees it before the log."""
        return PartitionProduce(
            self.version,
            self.acks,
            self.names_transaction,
            self.any_transactional,
            self.partition_exists,
            self.batch_count,
            self.ids_mixed,
            self.epochs_mixed,
            self.verified,
        )


def only_whole_requests_reach_the_log(profile: Profile, of: ProduceAroundLog) -> Term:
    """The log gets one batch for an existing partition, of at most one transaction, with a known value of acks.

    The coordinator is asked about such a batch, too, with any value of acks since 3.8. A request that is refused
    earlier gets an error, and no offset.
    """
    admission = produce.admit(of.request, profile)
    reported = produce.refused(admission)
    known = any_of(of.acks == -1, of.acks == 0, of.acks == 1)
    of_transaction = implies(of.any_transactional, of.names_transaction)
    early = profile.verified_before_acks
    mixed = any_of(of.ids_mixed, of.epochs_mixed) if early else all_of(of.names_transaction, of.ids_mixed)
    counted = any_of(known, all_of(early, negate(of.verified)))
    whole = all_of(of.partition_exists, of.batch_count == 1, of_transaction, negate(mixed), counted)
    silent = all_of(
        reported.base_offset == ABSENT, reported.log_start_offset == ABSENT, negate(reported.append_time_reported)
    )
    return all_of(
        same(produce.is_admitted(admission), whole), implies(negate(whole), all_of(silent, negate(reported.error == 0)))
    )


def only_whole_batches_are_taken(
    profile: Profile, entry: ProducerEntry, request: AppendRequest, seen: MetVerification
) -> Term:
    """A client's batch is taken, or known as a resend, only if it is one, of data, and counts its records.

    It begins at offset 0, as it was made, and has a sequence if it has a producer.
    """
    reply = append.append(entry, request, profile, seen).reply
    counted = all_of(request.record_count >= 1, request.last_offset_delta == request.record_count - 1)
    numbered = implies(request.producer_id >= 0, request.base_sequence >= 0)
    one = all_of(request.batch_count == 1, request.sent_base_offset == 0, negate(request.control))
    whole = all_of(one, counted, numbered)
    taken = any_of(reply.appended, reply.duplicate)
    refused = all_of(negate(taken), reply.error == ErrorCode.INVALID_RECORD.value)
    return implies(request.origin == Origin.CLIENT.value, any_of(whole, refused))


def produce_is_answered_truly(
    profile: Profile, entry: ProducerEntry, request: AppendRequest, seen: MetVerification, of: ProduceAroundLog
) -> Term:
    """The answer is a success exactly if the batch is in the log, with its offset; an append time marks a resend.

    Versions from 5 on also have the log start offset, by which a producer recognises that its records were deleted.

    Args:
        profile: the release whose behaviours the decision reads.
        entry: the partition's state of the batch's producer.
        request: the batch that arrives.
        seen: the partition's state of the verification.
        of: the request as a whole: what it says beside its batch.
    """
    decided = append.append(entry, request, profile, seen)
    reported = produce.answered(of.request, decided.reply, of.log_start)
    appended, duplicate = decided.reply.appended, decided.reply.duplicate
    return all_of(
        same(reported.error == 0, any_of(appended, duplicate)),
        implies(appended, reported.base_offset == request.base_offset),
        implies(negate(reported.error == 0), reported.base_offset == ABSENT),
        same(reported.append_time_reported, duplicate),
        implies(of.version >= 5, reported.log_start_offset == of.log_start),
        implies(of.version < 5, reported.log_start_offset == ABSENT),
    )


def unknown_producer_starts_by_release(profile: Profile, request: AppendRequest) -> Term:
    """Of a producer that a partition does not know any first batch is taken, or one that starts at 0 alone.

    Any other gets UNKNOWN_PRODUCER_ID in releases that have the code, and else OUT_OF_ORDER_SEQUENCE_NUMBER.
    """
    consent = MetVerification(verification_guarded=True)
    decided = append.append(ProducerEntry(), request, profile, consent).reply
    unknown = (
        ErrorCode.UNKNOWN_PRODUCER_ID if profile.unknown_producer_error else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    )
    taken = any_of(profile.any_first_sequence, request.base_sequence == 0)
    sent = all_of(
        request.origin == Origin.CLIENT.value,
        negate(request.control),
        request.producer_id >= 0,
        request.producer_epoch >= 0,
        request.base_sequence >= 0,
        all_of(request.batch_count == 1, request.sent_base_offset == 0),
        all_of(request.record_count > 0, request.last_offset_delta + 1 == request.record_count),
    )
    return implies(sent, all_of(same(decided.appended, taken), implies(negate(taken), decided.error == unknown.value)))


_BATCH: Final[About] = (("entry", ProducerEntry), ("request", AppendRequest), ("verification", MetVerification))


def produce_facts() -> tuple[Fact, ...]:
    """For the newest release, and for older ones of how a producer that is not known may start."""
    return (
        *(
            stated(only_whole_requests_reach_the_log, rules.SEQ_WELL_FORMED, (("of", ProduceAroundLog),), profile)
            for profile in (NEWEST, KAFKA_3_6)
        ),
        stated(only_whole_batches_are_taken, rules.SEQ_WELL_FORMED, _BATCH, NEWEST),
        stated(produce_is_answered_truly, rules.SEQ_DUPLICATE_WINDOW, (*_BATCH, ("of", ProduceAroundLog)), NEWEST),
        *(
            stated(unknown_producer_starts_by_release, rules.SEQ_FIRST, (("request", AppendRequest),), profile)
            for profile in (NEWEST, KAFKA_2_4, KAFKA_0_11)
        ),
    )

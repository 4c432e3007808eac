"""Produce around the log: what a broker refuses before the append, and how it encodes the append's answer.

The guards stand in Kafka's order (KafkaApis.handleProduceRequest, ProduceRequest.validateRecords,
ReplicaManager.handleProduceAppend and appendRecords). A request that passes them is verified, and goes on to `append`.
"""

from dataclasses import dataclass

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol.guards import PASSED, Guard, branch, error_of
from spec.protocol.records import WINDOW, AppendReply, CachedBatch, ProducerEntry
from spec.protocol.seq import choose_cached
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode

LOG_START_SINCE = 5
"""First version of Produce whose answer has the log start offset."""

ONLY_BEFORE_THE_LOG = (
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.INVALID_REQUIRED_ACKS,
)
"""Errors that imply that nothing was appended."""


@dataclass(frozen=True, slots=True)
class PartitionProduce:
    """One partition's part of a Produce request, as the broker sees it before the log.

    Attributes:
        version: version of the request.
        acks: 0, 1 or -1 for all.
        names_transaction: the request has a transactional id, be it the empty string.
        any_transactional: some batch of the request, for whichever partition, is transactional.
        partition_exists: the broker knows the partition.
        batch_count: batches for the partition.
        ids_mixed: transactional batches of the request that are well formed, for partitions that exist, are of
            several producer ids.
        epochs_mixed: likewise of several epochs.
        verified: the coordinator has been asked where it has to be, and agrees.
    """

    version: Term
    acks: Term = -1
    names_transaction: Term = False
    any_transactional: Term = False
    partition_exists: Term = True
    batch_count: Term = 1
    ids_mixed: Term = False
    epochs_mixed: Term = False
    verified: Term = True


@dataclass(frozen=True, slots=True)
class ProduceAdmission:
    """Whether the batch goes to the log: number of the guard that refused and its error, both 0 where none did."""

    branch: Term
    error: Term


@dataclass(frozen=True, slots=True)
class ProduceReply:
    """The client's answer for one partition."""

    error: Term
    base_offset: Term
    append_time_reported: Term  # the answer has a time of appending
    log_start_offset: Term


def admit(request: PartitionProduce, profile: Profile = NEWEST) -> ProduceAdmission:
    """Let one partition's part of a Produce request through to the log, or refuse it."""
    checks = guards(request, profile)
    decided = branch(checks)
    return ProduceAdmission(decided, error_of(checks, decided))


def guards(request: PartitionProduce, profile: Profile = NEWEST) -> tuple[Guard, ...]:
    """Every check in Kafka's order; their names and rules do not depend on the arguments.

    Before 2.4 batches are counted while the request is parsed. A request with too many is not answered: the broker
    closes its connection, which the client reports as NETWORK_EXCEPTION. Several producers in one request are an
    exception there, which is the answer for every partition of it.

    Args:
        request: the partition's part of the request.
        profile: the release.
    """
    several = negate(request.batch_count == 1)
    return (
        Guard(
            "unreadable",
            rules.SEQ_WELL_FORMED,
            all_of(negate(profile.invalid_record_has_code), several),
            ErrorCode.NETWORK_EXCEPTION.value,
        ),
        Guard(
            "transactional_id_missing",
            rules.SEQ_WELL_FORMED,
            all_of(request.any_transactional, negate(request.names_transaction)),
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.value,
        ),
        Guard(
            "producers_mixed",
            rules.TXN_REGISTERED_BEFORE_DATA,
            _producers_mixed(request, profile),
            ErrorCode.INVALID_PRODUCER_ID_MAPPING.value,
        ),
        Guard(
            "partition_unknown",
            rules.SEQ_WELL_FORMED,
            negate(request.partition_exists),
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.value,
        ),
        Guard(
            "several_batches",
            rules.SEQ_WELL_FORMED,
            all_of(profile.invalid_record_has_code, several),
            ErrorCode.INVALID_RECORD.value,
        ),
        Guard(
            "acks_unknown",
            rules.SEQ_WELL_FORMED,
            all_of(any_of(negate(profile.verified_before_acks), request.verified), _acks_unknown(request)),
            ErrorCode.INVALID_REQUIRED_ACKS.value,
        ),
    )


def names() -> tuple[str, ...]:
    """Name of every branch by its number; 0 is "admitted"."""
    return ("admitted", *(guard.name for guard in guards(PartitionProduce(version=0))))


def refused(admission: ProduceAdmission) -> ProduceReply:
    """The answer where the batch did not reach the log."""
    return ProduceReply(admission.error, ABSENT, append_time_reported=False, log_start_offset=ABSENT)


def answered(request: PartitionProduce, reply: AppendReply, log_start: Term) -> ProduceReply:
    """The log's answer, as the client gets it.

    Only a resend has an append time: with the client's own timestamps only the cached batch has another one than
    the client sent.
    """
    reported_start = choose(request.version >= LOG_START_SINCE, log_start, ABSENT)
    return ProduceReply(reply.error, reply.first_offset, reply.duplicate, reported_start)


def recovered(entry: ProducerEntry, profile: Profile) -> ProducerEntry:
    """The partition's state of a producer after a restart: all but the older part of the window."""
    kept = (
        choose_cached(position < profile.recovered_batches, entry.cached[position], CachedBatch())
        for position in range(WINDOW)
    )
    return ProducerEntry(entry.epoch, entry.coordinator_epoch, entry.txn_first_offset, tuple(kept))


def is_admitted(admission: ProduceAdmission) -> Term:
    """Whether the batch goes to the log."""
    return admission.branch == PASSED


def _acks_unknown(request: PartitionProduce) -> Term:
    return negate(any_of(request.acks == -1, request.acks == 0, request.acks == 1))


def _producers_mixed(request: PartitionProduce, profile: Profile) -> Term:
    several = any_of(request.ids_mixed, all_of(profile.verified_before_acks, request.epochs_mixed))
    verified = all_of(profile.partition_verification, request.names_transaction, negate(_acks_unknown(request)))
    return all_of(several, any_of(profile.verified_before_acks, verified))

"""The registry of rules: what exactly-once means, one named statement each. Pure data.

An id is stable and never reused. `owes` names the kinds of evidence that a rule must have. A kind without a result
is missing, which fails the run, unless it is waived with its reason.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

EVIDENCE_LETTERS: Final = MappingProxyType(
    {
        "P": "proof",
        "B": "bounded",
        "E": "explored",
        "H": "stateful",
        "T": "trace",
        "V": "conformance",
        "L": "audit",
    }
)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The configuration and the faults of a run, as far as a rule's domain asks about them."""

    transaction_version: int = 2
    marker_epoch_checked: bool = True  # KAFKA-19446
    acks_all: bool = True
    clean_elections: bool = True
    state_retained: bool = True  # producer state neither expired nor deleted
    partition_verification: bool = True  # KIP-890, where the version has it
    well_behaved_client: bool = True
    first_seen_first: bool = True  # a leader sees the first batch of a producer's epoch before any later one
    sequences_wrap_cleanly: bool = True  # no resend of a batch over 2^31-1 under 0.11 and 1.0
    delayed_requests: bool = False  # requests that outlive the transaction they belong to


@dataclass(frozen=True, slots=True)
class Premise:
    """One named condition under which a rule is claimed."""

    name: str
    text: str
    holds: Callable[[Circumstances], bool] = field(compare=False)


ACKS_ALL: Final = Premise("acks_all", "acks=all", lambda c: c.acks_all)
CLEAN_ELECTIONS: Final = Premise("clean_elections", "no unclean leader election", lambda c: c.clean_elections)
STATE_RETAINED: Final = Premise("state_retained", "producer state is retained", lambda c: c.state_retained)
VERIFICATION: Final = Premise(
    "partition_verification", "partition verification is on", lambda c: c.partition_verification
)
CLIENT: Final = Premise("well_behaved_client", "the client follows the protocol", lambda c: c.well_behaved_client)
FIRST_SEEN_FIRST: Final = Premise(
    "first_seen_first",
    "a leader that does not know a producer's epoch meets its first batch before any later one (one connection in "
    "order; since 2.5 any sequence of an unknown producer is accepted)",
    lambda c: c.first_seen_first,
)
WRAPS_CLEANLY: Final = Premise(
    "sequences_wrap_cleanly",
    "no resend of a batch over 2^31-1 under 0.11 and 1.0, which answer a wrong first offset",
    lambda c: c.sequences_wrap_cleanly,
)
VERSION_2_IF_DELAYED: Final = Premise(
    "version_2_if_delayed",
    "requests may outlive their transaction only under transaction version 2 with marker epochs checked",
    lambda c: not c.delayed_requests or (c.transaction_version >= 2 and c.marker_epoch_checked),
)
VERSION_2: Final = Premise(
    "version_2",
    "transaction version 2 with marker epochs checked",
    lambda c: c.transaction_version >= 2 and c.marker_epoch_checked,
)

USUAL: Final = (ACKS_ALL, CLEAN_ELECTIONS, STATE_RETAINED, VERIFICATION, CLIENT)
ONCE_IN_ORDER: Final = (*USUAL, FIRST_SEEN_FIRST, WRAPS_CLEANLY)
WITH_DELAYS: Final = (*USUAL, VERSION_2_IF_DELAYED)
ANY_CIRCUMSTANCES: Final[tuple[Premise, ...]] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: what must hold, where it is from, where it is claimed and what evidence it owes.

    Attributes:
        id: family and name, as `seq.successor`.
        statement: one sentence in the protocol's words.
        source: KIPs, tickets and Kafka classes that state or do it.
        owes: the kinds of evidence that it must have, a letter each (`EVIDENCE_LETTERS`).
        domain: the assumptions under which the rule is claimed; outside them a violation is `known`.
        waived: letter of evidence that it owes and need not have, to the reason.
    """

    id: str
    statement: str
    source: tuple[str, ...]
    owes: str
    domain: tuple[Premise, ...] = USUAL
    waived: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not self.owes:
            raise ValueError(f"{self.id} owes no evidence")
        if strange := set(self.owes) - set(EVIDENCE_LETTERS):
            raise ValueError(f"{self.id} owes {', '.join(sorted(strange))}, which is no kind of evidence")
        if strange := set(self.waived) - set(self.owes):
            raise ValueError(f"{self.id} waives {', '.join(sorted(strange))}, which it does not owe")

    @property
    def family(self) -> str:
        """The part of the id before the dot: ids, seq, fence, txn, lso, offsets or repl."""
        return self.id.partition(".")[0]

    def __reduce__(self) -> tuple[Callable[[str], "Rule"], tuple[str]]:
        """A copy, here or in another process, is the registered rule itself."""
        return _registered, (self.id,)

    def claimed_in(self, circumstances: Circumstances) -> bool:
        """Whether the rule is claimed in these circumstances."""
        return all(assumption.holds(circumstances) for assumption in self.domain)


# --- ids: producer ids ----------------------------------------------------------------------------------------

IDS_UNIQUE: Final = Rule(
    "ids.unique",
    "No producer id is handed out twice: blocks of 1000 are claimed by compare-and-set, crashes and races included.",
    ("KIP-98", "ProducerIdControlManager", "RPCProducerIdManager", "KAFKA-20031"),
    "PHT",
    ANY_CIRCUMSTANCES,
)
IDS_IDENTITY_NEVER_REPEATS: Final = Rule(
    "ids.identity_never_repeats",
    "The (producer id, epoch) pairs that one transactional id receives never repeat, across rotation and expiry.",
    ("KIP-98", "KIP-360", "TransactionMetadata"),
    "PHT",
    ANY_CIRCUMSTANCES,
)
IDS_EXHAUSTION: Final = Rule(
    "ids.exhaustion",
    "Past the last block of producer ids there is a clear error and no reuse.",
    ("ProducerIdControlManager", "ZkProducerIdManager"),
    "H",
    ANY_CIRCUMSTANCES,
)

# --- seq: sequence numbers ------------------------------------------------------------------------------------

SEQ_FIRST: Final = Rule(
    "seq.first",
    "The first batch of an unknown producer id on a partition has any sequence (2.5 and later), "
    "or 0, or is answered UNKNOWN_PRODUCER_ID, as the version says.",
    ("KIP-98", "KIP-360", "KAFKA-5793", "ProducerAppendInfo"),
    "HTVL",
    ANY_CIRCUMSTANCES,
)
SEQ_SUCCESSOR: Final = Rule(
    "seq.successor",
    "The next base sequence is the last sequence plus one, wrapping after 2^31-1 to 0.",
    ("KIP-98", "ProducerAppendInfo.inSequence", "DefaultRecordBatch.incrementSequence"),
    "PHTVL",
    ANY_CIRCUMSTANCES,
)
SEQ_EPOCH_RESET: Final = Rule(
    "seq.epoch_reset",
    "A new epoch of a known producer starts at sequence 0.",
    ("KIP-98", "ProducerAppendInfo.checkSequence"),
    "PHTVL",
    ANY_CIRCUMSTANCES,
)
SEQ_DUPLICATE_WINDOW: Final = Rule(
    "seq.duplicate_window",
    "An exact resend of one of the last batches in the window (five; one after a restart, one in 0.11) is "
    "acknowledged with its first offset and nothing is appended; with verification on, a transactional resend "
    "after its transaction ended is refused instead.",
    ("KAFKA-5494", "ProducerStateEntry.findDuplicateBatch", "UnifiedLog"),
    "PHTV",
    ANY_CIRCUMSTANCES,
)
SEQ_EXACTLY_ONCE: Final = Rule(
    "seq.exactly_once",
    "An acknowledged batch is in the log exactly once, while producer state is retained.",
    ("KIP-98", "KIP-360"),
    "PBHTL",
    ONCE_IN_ORDER,
)
SEQ_ORDER: Final = Rule(
    "seq.order",
    "Log order is send order per producer and partition, with up to five batches in flight and any retries.",
    ("KIP-98", "KAFKA-5494", "RecordAccumulator"),
    "PBHT",
    ONCE_IN_ORDER,
)
SEQ_WINDOW_SUFFICES: Final = Rule(
    "seq.window_suffices",
    "Five batches in flight never outrun a window of five: a resend of an unacknowledged batch that is in the log "
    "is always recognised.",
    ("KAFKA-5494", "ProducerStateEntry.NUM_BATCHES_TO_RETAIN"),
    "PB",
)
SEQ_REFUSAL_IS_PURE: Final = Rule(
    "seq.refusal_is_pure",
    "A refused append changes neither the log nor the producer's state.",
    ("UnifiedLog.append",),
    "HTV",
    ANY_CIRCUMSTANCES,
)
SEQ_STATE_RECOVERABLE: Final = Rule(
    "seq.state_recoverable",
    "Snapshot and replay, follower and leader agree on producer state; the window may shrink, never lie.",
    ("ProducerStateManager", "LogLoader", "KAFKA-7190"),
    "HTL",
    (CLEAN_ELECTIONS, STATE_RETAINED),
)

SEQ_WELL_FORMED: Final = Rule(
    "seq.well_formed",
    "A client's Produce carries one batch of at least one record, not a control batch, that begins at offset 0 and "
    "whose offset delta counts its records; with a producer id it has a sequence.",
    ("LogValidator.validateBatch", "ProduceRequest.validateRecords"),
    "HTV",
    ANY_CIRCUMSTANCES,
)

# --- fence: epochs --------------------------------------------------------------------------------------------

FENCE_STALE_EPOCH: Final = Rule(
    "fence.stale_epoch",
    "A lower producer epoch is refused, by the leader and by the coordinator, each with its own error.",
    ("KIP-98", "KIP-588", "ProducerAppendInfo.checkProducerEpoch", "TransactionCoordinator"),
    "PHTVL",
    ANY_CIRCUMSTANCES,
)
FENCE_EPOCH_MONOTONE: Final = Rule(
    "fence.epoch_monotone",
    "A producer's epoch never falls on a partition.",
    ("KIP-98", "ProducerStateEntry"),
    "PHTL",
    (CLEAN_ELECTIONS, STATE_RETAINED),
)
FENCE_ZOMBIE_CANNOT_COMMIT: Final = Rule(
    "fence.zombie_cannot_commit",
    "After InitProducerId returned (producer id, e), nothing written with a lower epoch becomes committed later.",
    ("KIP-98", "KIP-890"),
    "PBHT",
    WITH_DELAYS,
)
FENCE_COORDINATOR_EPOCH: Final = Rule(
    "fence.coordinator_epoch",
    "Markers of a stale coordinator are refused; coordinator epochs never fall on a partition.",
    ("KIP-98", "KAFKA-9144", "ProducerAppendInfo.checkCoordinatorEpoch"),
    "PHTVL",
    (CLEAN_ELECTIONS, STATE_RETAINED),
)
FENCE_EPOCH_EXHAUSTION: Final = Rule(
    "fence.epoch_exhaustion",
    "Epoch 32766 rotates to a new producer id; an epoch is never negative and an id never stuck.",
    ("KIP-98", "KAFKA-19367", "KAFKA-20090", "TransactionMetadata.isEpochExhausted"),
    "PHT",
    ANY_CIRCUMSTANCES,
)

# --- txn: transactions ----------------------------------------------------------------------------------------

TXN_LEGAL_TRANSITION: Final = Rule(
    "txn.legal_transition",
    "Every change of a transactional id's state is an edge of the coordinator's graph, per transaction version.",
    ("KIP-98", "KIP-890", "TransactionState"),
    "PHTVL",
    ANY_CIRCUMSTANCES,
)
TXN_ONE_OUTCOME: Final = Rule(
    "txn.one_outcome",
    "The durable Prepare record decides; nothing changes the outcome after it.",
    ("KIP-98", "TransactionStateManager"),
    "PBHTL",
)
TXN_ATOMIC: Final = Rule(
    "txn.atomic",
    "All partitions of a transaction get the same outcome.",
    ("KIP-98", "KIP-890"),
    "PBHTL",
    WITH_DELAYS,
)
TXN_MARKER_ONCE: Final = Rule(
    "txn.marker_once",
    "Each registered partition gets exactly one effective marker.",
    ("KIP-98", "KAFKA-19446", "KAFKA-19999"),
    "PBHTL",
    WITH_DELAYS,
)
TXN_REGISTERED_BEFORE_DATA: Final = Rule(
    "txn.registered_before_data",
    "Data joins a transaction only on a registered partition; otherwise the transaction hangs.",
    ("KIP-890", "KAFKA-14402", "KAFKA-14884"),
    "BHTL",
)
TXN_NO_CROSSTALK: Final = Rule(
    "txn.no_crosstalk",
    "No request of transaction n acts on transaction n+1; an InitProducerId without identity belongs to none.",
    ("KIP-890", "KAFKA-17754"),
    "PBHT",
    (*USUAL, VERSION_2),
)
TXN_CLIENT_VERDICT: Final = Rule(
    "txn.client_verdict",
    "When commit said OK all acknowledged records become visible; when abort said OK none does.",
    ("KIP-98", "KIP-890"),
    "BHTL",
    WITH_DELAYS,
)
TXN_TIMEOUT: Final = Rule(
    "txn.timeout",
    "An Ongoing transaction past its timeout is aborted and its producer fenced.",
    ("KIP-98", "KAFKA-6119", "TransactionCoordinator.abortTimedOutTransactions"),
    "HTVL",
    ANY_CIRCUMSTANCES,
)
TXN_COMPLETES: Final = Rule(
    "txn.completes",
    "A prepared transaction completes once its partitions are available.",
    ("KIP-98", "KAFKA-16352", "KAFKA-19999"),
    "PEHL",
)
TXN_FAILOVER: Final = Rule(
    "txn.failover",
    "After a coordinator crash the transaction stays open until it is ended or times out if Prepare was not "
    "durable, and keeps its outcome if it was, with any number of markers written.",
    ("KIP-98", "TransactionStateManager.loadTransactionMetadata"),
    "BHT",
)
TXN_EXPIRY: Final = Rule(
    "txn.expiry",
    "A transactional id expires only when Empty or Complete, and its next producer gets a new producer id.",
    ("KIP-98", "TransactionStateManager.removeExpiredTransactionalIds"),
    "HT",
    ANY_CIRCUMSTANCES,
)

# --- lso: the last stable offset ------------------------------------------------------------------------------

LSO_BOUNDS: Final = Rule(
    "lso.bounds",
    "Log start <= last stable offset <= high watermark <= log end.",
    ("KIP-98", "UnifiedLog.fetchLastStableOffsetMetadata"),
    "PHTVL",
    ANY_CIRCUMSTANCES,
)
LSO_MONOTONE: Final = Rule(
    "lso.monotone",
    "The last stable offset never falls on a leader, truncation aside.",
    ("UnifiedLog.maybeIncrementFirstUnstableOffset",),
    "HT",
)
LSO_DECIDED_BELOW: Final = Rule(
    "lso.decided_below",
    "Every transactional record below the last stable offset is decided.",
    ("KIP-98", "ProducerStateManager"),
    "PHTL",
)
LSO_READ_COMMITTED: Final = Rule(
    "lso.read_committed",
    "A read_committed reader sees exactly the committed and the non-transactional records, in offset order.",
    ("KIP-98", "CompletedFetch"),
    "HTVL",
)
LSO_ABORTED_INDEX: Final = Rule(
    "lso.aborted_index",
    "The aborted index lists every aborted range that a fetch needs, and no other.",
    ("KIP-98", "TransactionIndex.collectAbortedTxns"),
    "HTVL",
)

# --- offsets: consumed offsets in transactions ----------------------------------------------------------------

OFFSETS_ATOMIC: Final = Rule(
    "offsets.atomic",
    "Input offsets become visible with the outputs of their transaction, or never.",
    ("KIP-98", "KIP-447", "KAFKA-17507"),
    "BHTL",
    WITH_DELAYS,
)
OFFSETS_STABLE_FETCH: Final = Rule(
    "offsets.stable_fetch",
    "A stable fetch never returns an offset that an undecided transaction may still change.",
    ("KIP-447",),
    "PHTV",
)
OFFSETS_GENERATION_FENCE: Final = Rule(
    "offsets.generation_fence",
    "A member of a past generation cannot commit offsets.",
    ("KIP-447", "KAFKA-15784"),
    "HTV",
)

# --- repl: replication ----------------------------------------------------------------------------------------

REPL_HW_BOUNDS: Final = Rule(
    "repl.hw_bounds",
    "The high watermark is at most the log end of each in-sync replica and never falls on a leader.",
    ("KIP-101", "Partition.maybeIncrementLeaderHW"),
    "PBHT",
)
REPL_COMMITTED_SURVIVES: Final = Rule(
    "repl.committed_survives",
    "A record below the high watermark survives every clean election; an unclean one may lose it.",
    ("KIP-101", "KIP-279"),
    "PBHT",
)
REPL_PREFIX_AGREEMENT: Final = Rule(
    "repl.prefix_agreement",
    "Replicas agree below the high watermark; a returning replica truncates to the leader's history.",
    ("KIP-101", "LeaderEpochFileCache"),
    "PBHT",
)

RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {rule.id: rule for rule in list(globals().values()) if isinstance(rule, Rule)}
)
"""Every rule by its id, in the order of this file."""


def _registered(rule_id: str) -> Rule:
    return RULES[rule_id]

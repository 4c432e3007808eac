"""The assumptions of the systems and the proofs: each once, with its number, its name and its control.

A number is unique in the whole project and never used again. A system lists what it assumes, and so does a proof, which
may assume less than the system that is searched. What is printed with a result is the list of the system, or of the
proof, that the result is from. What breaks without an assumption is shown by a control: the system without it, in which
a claim is violated. Where there can be no control, the reason stands in its place.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

BUGS: Final = "bugs"
"""Stands for the system of a control that is the search for a known bug, by whose name it is called."""


@dataclass(frozen=True, slots=True)
class ControlOf:
    """A control, by the system that it changes and its name there; or a known bug, whose search is the control."""

    system: str
    name: str

    def __str__(self) -> str:
        return f"{self.name} ({self.system})"


@dataclass(frozen=True, slots=True)
class Assumption:
    """One thing that is taken for granted.

    Attributes:
        number: unique in the project.
        name: in a few words; that of the condition in the domain of a rule, where there is one.
        statement: one sentence.
        controls: what breaks a claim where the assumption does not hold.
        no_control: why there can be none.
    """

    number: int
    name: str
    statement: str
    controls: tuple[ControlOf, ...] = ()
    no_control: str = ""

    def __post_init__(self) -> None:
        if bool(self.controls) == bool(self.no_control):
            raise ValueError(f"{self.id} {self.name} needs either a control or the reason why there can be none")

    @property
    def id(self) -> str:
        """Its number as it is printed."""
        return f"A{self.number}"

    @property
    def shown_by(self) -> str:
        """What breaks without it, or why nothing is shown."""
        broken = "; ".join(map(str, self.controls))
        return f"broken without it by: {broken}" if broken else f"no control: {self.no_control}"

    def __str__(self) -> str:
        return f"{self.id} {self.name}: {self.statement}"


GIVEN_UP: Final = (26,)
"""Numbers of assumptions that nothing takes for granted any more; they are not used again."""


def in_order(assumptions: Iterable[Assumption]) -> tuple[Assumption, ...]:
    """Each once, by number."""
    return tuple(sorted(set(assumptions), key=lambda assumption: assumption.number))


def ids(assumptions: Iterable[Assumption]) -> list[str]:
    """Their numbers as they are printed, in order."""
    return [assumption.id for assumption in in_order(assumptions)]


def registered() -> tuple[Assumption, ...]:
    """Every assumption of the project, by number.

    Raises:
        ValueError: two have the same number.
    """
    found = tuple(thing for thing in globals().values() if isinstance(thing, Assumption))
    if len({assumption.number for assumption in found}) < len(found):
        raise ValueError("two assumptions have the same number")
    return in_order(found)


# --- transactions, and most of them of their proof ------------------------------------------------------------

NOTHING_IS_LOST: Final = Assumption(
    1,
    "nothing_is_lost",
    "acks=all and clean elections: what is in a partition's log or in the coordinator's stays there",
    (
        ControlOf("partition", "unclean election"),
        ControlOf("transactions", "the coordinator does not wait for its log"),
    ),
)
PRODUCERS_ARE_REMEMBERED: Final = Assumption(
    2,
    "producers_are_remembered",
    "producer state is retained as long as the log, within one epoch the last batch",
    (ControlOf("transactions", "KAFKA-9144: producer state expires by the time of its data"),),
)
ONE_COPY_AT_A_TIME: Final = Assumption(
    3,
    "one_copy_at_a_time",
    "a leader handles one copy of a batch at a time, and takes it for new as long as it has not answered",
    no_control="how far a leader is with a batch is one value of the state; two copies would each need their own",
)
BATCHES_IN_ORDER: Final = Assumption(
    4,
    "batches_in_order",
    "a client sends the batches of a partition in order",
    (ControlOf("transactions", "a client sends a later batch first"),),
)
NO_LATE_BUMP_AT_THE_LAST_EPOCH: Final = Assumption(
    5,
    "no_late_bump_at_the_last_epoch",
    "an InitProducerId that expects the last epoch of a producer id does not come at the last epoch of a later one; any"
    " other comes at any time",
    no_control="the coordinator knows the producer id before the last rotation until the next request alone, so that no"
    " search breaks a claim without it; the lemmas ask for it, and a proof without it is not found yet",
)
IN_ORDER_BEFORE_VERSION_2: Final = Assumption(
    6,
    "in_order_before_version_2",
    "before transaction version 2, requests and markers arrive while their transaction is on",
    (
        ControlOf("transactions", "KAFKA-17754: a late EndTxn ends the next transaction"),
        ControlOf("transactions", "a late Produce joins the next transaction"),
    ),
)
REPEATED_MARKER_TAKES_A_GUARD: Final = Assumption(
    7,
    "repeated_marker_takes_a_guard",
    "a repeated marker may take a later transaction's guard away: a batch is then refused, which counts as no harm",
    (ControlOf("transactions", "a guard that a repeated marker takes counts as taken wrongly"),),
)
MARKERS_ARE_TAKEN_OVER: Final = Assumption(
    8,
    "markers_are_taken_over",
    "a group's coordinator takes a marker over before it answers it, and keeps what it knows as long as its log",
    (ControlOf("offsets", "KAFKA-17507: a marker is answered before it is applied"),),
)
NEWEST_RELEASE: Final = Assumption(
    9,
    "newest_release",
    "the newest release, under transaction version 2, and clients of that version",
    (
        ControlOf("transactions", "KAFKA-17754: a late EndTxn ends the next transaction"),
        ControlOf("transactions", "KAFKA-19446: a late marker ends the next transaction"),
    ),
)
PRODUCER_IDS_ARE_UNIQUE: Final = Assumption(
    10,
    "producer_ids_are_unique",
    "no producer id is drawn twice; here each is larger than the last (shown apart: nothing asks which one is)",
    (ControlOf("ids", "claims are not compared"),),
)
NO_REQUEST_OUTLIVES_A_TURN: Final = Assumption(
    11,
    "no_request_outlives_a_turn",
    "no request outlives 2^31 sequence numbers of its epoch (shown apart: wrapping then changes no decision)",
    (ControlOf("idempotence", "a request outlives a turn of the sequence"),),
)
READERS_KNOW_WHAT_IS_OPEN: Final = Assumption(
    12,
    "readers_know_what_is_open",
    "readers know which batches are open and which are aborted (shown apart, in the system of one partition)",
    (
        ControlOf("transactions", "a reader does not stop at what is open"),
        ControlOf("transactions", "a reader gets no list of aborted transactions"),
    ),
)
NO_LATE_BUMP: Final = Assumption(
    13,
    "no_late_bump",
    "an InitProducerId that expects an identity comes before it is answered, and before a later instance has one",
    (ControlOf("transactions", "KIP-360: a late bump ends the next transaction"),),
)
ONE_TRANSACTIONAL_ID: Final = Assumption(
    14,
    "one_transactional_id",
    "one transactional id, with any number of instances one after the other or side by side",
    no_control="a second one meets nothing of the first, which is proved; what they share is in the proof",
)
ONE_GROUP_MEMBER: Final = Assumption(
    15,
    "one_group_member",
    "a group has one offset, and of each transactional id one member, which comes back in each generation and names it"
    " in each commit (KIP-447)",
    no_control="a group refuses a member that it does not know as it refuses a past generation, and keeps offsets by"
    " partition: a second member or offset would meet nothing of the first",
)
ONE_COORDINATOR_AT_A_TIME: Final = Assumption(
    16,
    "one_coordinator_at_a_time",
    "one coordinator at a time answers for a transactional id: a deposed one knows that it was deposed",
    (ControlOf("transactions", "a deposed coordinator answers from its cache"),),
)
BUMPS_OUTSIDE_TRANSACTIONS: Final = Assumption(
    17,
    "bumps_outside_transactions",
    "a client asks for a bump of its identity outside its transactions (KIP-360)",
    no_control="a bump uses up an identity as the end of a transaction does, and has a number of its own: inside a"
    " transaction it would be that transaction's end, which coordinators abort then",
)
COMMITS_ARE_OF_THE_ACKNOWLEDGED: Final = Assumption(
    18,
    "commits_are_of_the_acknowledged",
    "a client asks for commit once everything is acknowledged; what it aborts it may give up",
    no_control="nothing breaks: the proof does without it (a batch that was not acknowledged may be missing)",
)
INSTANCES_ARE_NUMBERED: Final = Assumption(
    19,
    "instances_are_numbered",
    "instances are numbered in the order in which they are given their identities, one each",
    no_control="the number is a name that is given with the identity; a repeated request is a further instance",
)

# --- the append: any number of producers without a transactional id, and one partition ------------------------

COMMITTED_SURVIVES: Final = Assumption(
    20,
    "committed_survives",
    "acks=all and clean elections: a new leader has everything below the high watermark; what lies above may be lost",
    (ControlOf("idempotence", "unclean election"), ControlOf("partition", "unclean election")),
)
STATE_IS_RETAINED: Final = Assumption(
    21,
    "state_retained",
    "producer state is retained as long as the log",
    (ControlOf("idempotence", "expiry on"), ControlOf("partition", "expiry on")),
)
WINDOW_SURVIVES: Final = Assumption(
    22,
    "window_survives",
    "a replica knows of a producer what replay of its own log gives, the whole window (no restart from a snapshot)",
    (ControlOf("idempotence", "a new leader knows the last batch alone"),),
)
ACKNOWLEDGED_HOLD_THEIR_PLACE: Final = Assumption(
    23,
    "acknowledged_hold_their_place",
    "a batch counts as in flight from the lowest unsettled one on, acknowledged ahead of it or not",
    (ControlOf("idempotence", "acknowledged batches do not count as in flight"),),
)
FIRST_SEEN_FIRST: Final = Assumption(
    24,
    "first_seen_first",
    "no request overtakes the first one on a partition that does not know the producer (under transaction version 2 the"
    " leader itself sees to it)",
    (
        ControlOf("idempotence", "first batch overtaken"),
        ControlOf("transactions", "before version 2, a batch overtakes the first one"),
    ),
)
OUT_OF_ORDER_IS_HEARD_AT_ONCE: Final = Assumption(
    25,
    "out_of_order_is_heard_at_once",
    "an answer OUT_OF_ORDER_SEQUENCE_NUMBER to the lowest batch in flight arrives at once, or is lost",
    (ControlOf("idempotence", "an answer out of order arrives late"),),
)
BATCHES_ARE_NOT_SPLIT: Final = Assumption(
    27,
    "batches_are_not_split",
    "a batch that was sent is not split (MESSAGE_TOO_LARGE)",
    no_control="a batch is one thing in the system, from its first send to its place in the log",
)
WITHOUT_TRANSACTIONAL_ID: Final = Assumption(
    28,
    "without_transactional_id",
    "producers have no transactional id; transactions are left to their own systems",
    no_control="it says which producers are meant; those with a transactional id have theorems of their own",
)
NEWEST_APPEND: Final = Assumption(
    57,
    "newest_append",
    "leaders decide on a batch as the newest release does",
    (ControlOf("idempotence", "two in flight, window of one"),),
)
REPLAY_GIVES_WHAT_THE_LEADER_KNEW: Final = Assumption(
    29,
    "replay_gives_what_the_leader_knew",
    "a replica knows of a producer, and of transactions not yet replicated, what replay of its own log gives",
    (ControlOf("partition", "a new leader knows nothing of producers"),),
)
WATERMARK_IS_NOT_BEHIND_THE_LOG_START: Final = Assumption(
    30,
    "watermark_is_not_behind_the_log_start",
    "a high watermark lies between two batches, and a new leader's may lag, but not behind the log start",
    (ControlOf("partition", "a new leader's high watermark is behind the log start"),),
)
FAILED_APPEND_CHANGES_NOTHING: Final = Assumption(
    31,
    "failed_append_changes_nothing",
    "a failed append leaves log and producer state as they were (a failed write of the aborted index included)",
    (ControlOf("partition", "a failed append changes what is known of its producer"),),
)

# --- replicas, and producer ids -------------------------------------------------------------------------------

ONE_CONTROLLER: Final = Assumption(
    32,
    "one_controller",
    "the controller is one: its decisions are durable and ordered (a quorum, or ZooKeeper)",
    (ControlOf("replication", "the leader epoch is not raised, and records are lost"),),
)
ELECTIONS_ARE_HEARD_IN_ORDER: Final = Assumption(
    33,
    "elections_are_heard_in_order",
    "a broker learns of elections in order, late or not at all, and of none from before its last restart (KIP-380); of"
    " other changes of the in-sync set it learns the last one",
    (ControlOf("replication", "before KIP-380: a restarted broker learns of an election from before"),),
)
ONE_LOG_IS_KEPT: Final = Assumption(
    34,
    "one_log_is_kept",
    "of min.insync.replicas brokers one at least keeps its log, and before KIP-966 so does the last one in sync",
    (
        ControlOf("replication", "as many brokers lose records as min.insync.replicas"),
        ControlOf("replication", "the last replica standing loses records (before KIP-966)"),
    ),
)
WHO_LOST_RECORDS_LEAVES: Final = Assumption(
    35,
    "who_lost_records_leaves",
    "a broker that restarts without records that it had leaves the in-sync set before it may lead or return",
    (ControlOf("replication", "before KIP-903: a follower returns on the word of its former incarnation"),),
)
ONE_FETCH_UNDER_WAY: Final = Assumption(
    36,
    "one_fetch_under_way",
    "a follower has one Fetch under way; what it asked before its epoch or incarnation ended is not answered to it",
    (ControlOf("replication", "an answer to a Fetch of an earlier epoch is taken"),),
)
ONE_RECORD_OF_BLOCKS: Final = Assumption(
    37,
    "one_record_of_blocks",
    "the shared record of producer ids is one: its writes are durable and ordered (a quorum, or ZooKeeper)",
    (ControlOf("ids", "a claim does not raise the record"),),
)
BLOCKS_ARE_GRANTED_ONCE: Final = Assumption(
    38,
    "blocks_are_granted_once",
    "what a broker is granted reaches the incarnation that asked, at most once",
    (ControlOf("ids", "a restart begins its block anew"),),
)

# --- small systems, each of one mechanism ---------------------------------------------------------------------

_NO_MORE_OF_IT: Final = "it says how small the system is, and takes nothing away that its claims speak of"

OFFSET_OF_ONE_PRODUCER: Final = Assumption(
    39,
    "offset_of_one_producer",
    "one producer commits one offset of one group, once in each transaction, one transaction after the other",
    no_control=_NO_MORE_OF_IT,
)
NEXT_AFTER_THE_MARKER: Final = Assumption(
    40,
    "next_after_the_marker",
    "the transaction's coordinator writes one marker, and lets the next transaction begin when that is answered",
    no_control="in the system of transactions the next one begins, and markers come, at any time",
)
OFFSETS_PARTITION_STAYS: Final = Assumption(
    41,
    "offsets_partition_stays",
    "the partition of the offsets does not fail over, and refuses nothing but what a fenced instance sends",
    no_control="a new leader replays the same decisions from the same log; refusals are in the system of transactions",
)
MEMBER_KEEPS_ITS_ID: Final = Assumption(
    42,
    "member_keeps_its_id",
    "a member keeps its id across generations, so that only the generation distinguishes a past one",
    no_control="with a new id the group would check less by generation: an unknown id is refused as unknown",
)
OFFSETS_ARE_IN_THE_TRANSACTION: Final = Assumption(
    43,
    "offsets_are_in_the_transaction",
    "the offsets partition is in the member's transaction, and the coordinator confirms it in the end",
    no_control="a commit that is not confirmed is not written, of which the claims say nothing",
)
ONE_RECORD_IN_A_BATCH: Final = Assumption(
    44,
    "one_record_in_a_batch",
    "one transactional producer, one record in each batch, no tombstones",
    no_control=_NO_MORE_OF_IT,
)
CLEANS_BELOW_THE_STABLE: Final = Assumption(
    45,
    "cleans_below_the_stable",
    "the cleaner knows from the index which transactions are aborted, and cleans below the last stable offset",
    no_control="what lies above the last stable offset is undecided, and no claim of the system speaks of it",
)
PASSES_REPORT_TRANSACTIONS_APART: Final = Assumption(
    46,
    "passes_report_transactions_apart",
    "each pass assigns every record of the log to its transaction, as long as the markers are there",
    no_control="which marker is whose is a ghost of the system, by which its claims are stated",
)
LEADERS_STAY: Final = Assumption(
    47,
    "leaders_stay",
    "leaders do not fail, and what they know of the producer is retained",
    no_control="leaders that fail or forget are in the system of the append (A20, A21); this one is of numbering",
)
ANSWERS_IN_ORDER: Final = Assumption(
    48,
    "answers_in_order",
    "answers arrive in the order of the batches, or not at all",
    no_control="a connection is answered in order; an answer that comes late is in the system of the append (A25)",
)
REFUSED_FOR_GOOD_IS_LOWEST: Final = Assumption(
    49,
    "refused_for_good_is_lowest",
    "a batch is refused with a fatal error only while it is the lowest one in flight, and then in every number it has",
    no_control="it says which batches the system takes for bad, by which the known bugs of numbering are shown",
)
ANSWERED_BEFORE_THE_NEXT: Final = Assumption(
    50,
    "answered_before_the_next",
    "a request is answered before the next one of its instance is sent, or not at all",
    no_control="in the system of transactions requests come at any time",
)
MARKERS_COME_IN_THE_END: Final = Assumption(
    51,
    "markers_come_in_the_end",
    "every decided transaction gets its markers in the end",
    no_control="that they come is shown in the system of transactions (progress of a prepared transaction)",
)
REFUSED_INSTANCE_IS_CLOSED: Final = Assumption(
    52,
    "refused_instance_is_closed",
    "an instance that gets a fatal error is closed; the application starts a new one, or none",
    (ControlOf(BUGS, "KAFKA-18019"),),
)
REPLACED_COORDINATOR_STOPS: Final = Assumption(
    53,
    "replaced_coordinator_stops",
    "a replaced coordinator stops writing markers before a producer's state can expire (a day, unless set lower)",
    no_control="a partition that has forgotten a producer has no record of its coordinators either: there is no"
    " release, and no change of the decision, in which the claim would hold without it",
)
MARKERS_CARRY_THEIR_TIME: Final = Assumption(
    54,
    "markers_carry_their_time",
    "markers carry the time at which they are written",
    no_control="the clock of the system is the only one that it has",
)
PARTITION_HAS_JOINED: Final = Assumption(
    55,
    "partition_has_joined",
    "the partition is in the transaction, so that the coordinator confirms it unless it is busy or away",
    no_control="a batch that is never confirmed is never written, of which the claim says nothing",
)
FIRST_SENT_IN_ORDER: Final = Assumption(
    56,
    "first_sent_in_order",
    "batches reach the leader in order the first time (one connection); a resend may come at any time",
    no_control="a first batch that comes after a later one is in the system of the append (A24)",
)
ONE_MARKED_TRANSACTION: Final = Assumption(
    58,
    "one_marked_transaction",
    "one producer has one transaction, whose coordinator does not fail",
    no_control="coordinators that fail and transactions that follow are in the system of transactions",
)
ONE_REPLICA_EACH: Final = Assumption(
    59,
    "one_replica_each",
    "every partition has one replica; while its broker is away it has no leader, and its log is not lost",
    no_control="a log that is lost or a leader that changes is in the system of replication; here a leader is missing",
)
MARKED_WHEN_ASKED: Final = Assumption(
    60,
    "marked_when_asked",
    "a leader that is asked answers, and refuses nothing",
    no_control="a marker that is refused or not answered is sent again, which is in the system of transactions",
)

# --- what has to happen in the end ----------------------------------------------------------------------------

COORDINATORS_STAY_IN_THE_END: Final = Assumption(
    61,
    "coordinators_stay_in_the_end",
    "while a transaction is prepared its coordinators fail finitely often",
    (ControlOf("completion", "coordinators fail for ever: rank_never_rises under coordinator_fails_over"),),
)
MARKERS_ARE_FAIR: Final = Assumption(
    62,
    "markers_are_fair",
    "weak fairness: a marker that can be written for ever is written and answered in the end (so a partition has a"
    " leader again and again, and the coordinator sends again), and so is Complete; nothing else has to happen",
    (
        ControlOf(
            "completion", "a new coordinator sends no marker: present_coordinator_sends under coordinator_fails_over"
        ),
    ),
)
ANSWERED_IS_COMMITTED: Final = Assumption(
    63,
    "answered_is_committed",
    "acks=all, and unclean.leader.election.enable is false: what is answered is below a high watermark, and a leader is"
    " elected among those that have all of this",
    (ControlOf("replication", "acks 1"), ControlOf("replication", "unclean election")),
)

# --- groups that read -----------------------------------------------------------------------------------------

ONE_MEMBER_READS: Final = Assumption(
    64,
    "one_member_reads",
    "in each generation one member of the group has the partition, and a member of a new generation begins at the"
    " group's offset (a second member whose commits are accepted is as one of a past generation)",
    (ControlOf("group", "a past generation commits"),),
)
LAST_COMMIT_COUNTS: Final = Assumption(
    65,
    "last_commit_counts",
    "of the commits of one transaction to a group, or of one member without a transaction, the last to be accepted is"
    " the last that was sent (offsets have no sequence numbers); without a transaction none follows one whose marker is"
    " to come",
    (ControlOf("group", "an earlier commit of a transaction comes last"),),
)
COMMITS_WHAT_IT_HAS_READ: Final = Assumption(
    66,
    "commits_what_it_has_read",
    "a member commits the offset after what it was given, and has its transaction committed only once that is accepted",
    (
        ControlOf("group", "an offset beyond what was read is committed"),
        ControlOf("group", "a transaction is committed without its offset"),
    ),
)
GOES_BACK_AFTER_ABORT: Final = Assumption(
    67,
    "goes_back_after_abort",
    "a member whose transaction was aborted begins at the group's offset again; one whose commit without a transaction"
    " is not answered sends it again",
    (ControlOf("group", "a member goes on after an abort"),),
)
GROUP_KEEPS_ITS_OFFSET: Final = Assumption(
    68,
    "group_keeps_its_offset",
    "nobody deletes or resets the group's offset, and it does not expire; a group without one begins at the start",
    (ControlOf("group", "the group's offset expires"),),
)

"""The state of transactions: the clients of one transactional id, its coordinators, and the partitions they write to.

Transactional ids share nothing, so one is enough. The network is the set of everything ever sent, by the client
transaction that each request belongs to: any may arrive at any time, any number of times, or never; a reply is a
fact that its receiver may learn at any time. That number of a transaction is a ghost on every request, record,
batch and marker: no decision reads it. An InitProducerId that expects an identity (KIP-360) has such a number of
its own: like the end of a transaction it uses one identity up and returns the next.

Offsets belong to the system of one partition: here every batch has offset 0, of which decisions read only that it
is there; readers and groups count the batches instead. A group's partition of offsets is a partition like the
others. Time is free: any timeout may come at once.
"""

from dataclasses import dataclass, replace
from typing import Final

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol.completing import MarkerRequest
from spec.protocol.coordinator import BUMPING, TransactionEntry
from spec.protocol.ending import IdAndEpoch
from spec.protocol.offsets import NO_OFFSET
from spec.protocol.records import ProducerEntry
from spec.protocol.verification import NO_VERIFICATION
from spec.systems.language import Least, Sort, State, Variable
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT

TRANSACTION: Final = Sort("transaction")
PARTITION: Final = Sort("partition", opaque=True)
BATCH: Final = Sort("batch")
INSTANCE: Final = Sort("instance")
DECISION: Final = Sort("decision")
COORDINATOR: Final = Sort("coordinator_epoch")
PRODUCER: Final = Sort("producer_id")
READER: Final = Sort("reader")
OUTCOME: Final = Sort("outcome")
FATE: Final = Sort("fate")
NUMBER: Final = Sort("number")
KIND: Final = Sort("kind")

ABORT, COMMIT, BUMP = 0, 1, 2
"""A client's requests: an outcome, or, outside transactions, the identity after the one that it expects to have."""

DURABLE, LOST, UNSURE = 0, 1, 2
"""Fates of a record that the coordinator appends; unsure: it is in the log, and the coordinator takes it for lost."""

NOT_SENT, SENT, ANSWERED = 0, 1, 2
"""The results of a client's request that adds a partition."""

IDLE, UNVERIFIED, VERIFYING, CONFIRMED = 0, 1, 2, 3
"""How far a leader is with a batch: it asks no coordinator, it waits for the answer, the answer was yes."""

NOWHERE, OPEN, DECIDED = 0, 1, 2
"""Where a batch is: not in the log, in the log undecided; from 2 on, by how much, the decision of its marker."""

UNUSED, DATA, OFFSETS = 0, 1, 2
"""What a partition is for: records, or the offsets of a group. Its first write decides."""

READ_UNCOMMITTED, READ_COMMITTED = 0, 1
"""Readers, by their isolation level."""

TIMEOUT: Final = 1
"""That of every transaction; its start is 0 and the time is always after both."""


ADDS, BATCHES, ENDS, MARKERS, BUMPS = "adds", "batches", "ends", "markers", "bumps"
EVERYTHING: Final = frozenset({ADDS, BATCHES, ENDS, MARKERS, BUMPS})
"""Messages that may be late."""

IN_ORDER: Final = EVERYTHING - {BUMPS}
"""All of this but a client's bump, which in no release is harmless when it is late."""

ONGOING, EXHAUSTED = "ongoing", "exhausted"
"""Where Kafka compares less than the identity that InitProducerId expects: of an open transaction the producer id
alone, of an identity at its last epoch the epoch alone."""


def finite(profile: Profile, max_epoch: int = 14) -> Profile:
    """The release in a finite model: no sequence wraps, one batch is cached, and the last epoch is a small one."""
    return replace(profile, max_sequence=None, cached_batches=1, max_epoch=max_epoch)


SMALL: Final = finite(NEWEST)
"""The newest release in a finite model."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many of each an instance has at most; with one producer id, epochs never run out."""

    transactions: int = 2
    partitions: int = 1
    batches: int = 1
    instances: int = 1
    decisions: int = 2
    coordinators: int = 1
    producer_ids: int = 1
    generations: int = 1


@dataclass(frozen=True, slots=True)
class TransactionKnobs:
    """The settings of the system; the defaults are the true system of the newest release.

    Attributes:
        profile: the release whose decisions are taken.
        without: guards that never apply, of the append, of a commit of offsets, and of what a marker makes of them.
        outlive: what may arrive when its transaction is over, for its client or, a marker, for the coordinator; a
            bump, once it is answered or its instance has a successor.
        compared: where the coordinator compares the whole identity that a bump expects; nowhere in any release.
        readers: there are readers, and batches are numbered for them.
        readers_wait: a reader of committed data stops at the first open transaction.
        aborted_filtered: its answers list the aborted transactions.
        groups: transactions commit offsets of a group, which may rebalance.
        other_ids: other transactional ids write to the same partitions, and commit offsets of the same group.
        clients_bump: instances may ask for a bump of the identity that they have.
        first_in_order: no batch overtakes the first one of a producer that the partition does not know.
        times_out: open transactions may time out.
        leaders_fail: leaders of partitions may fail over.
        appends_fail: a record of the coordinator may be lost, or be taken for lost.
        guard_compared: an append needs the guard it was verified under (KAFKA-14884).
        timeout_bumps: the coordinator's own abort raises the epoch (KAFKA-6119).
        repeated_marker_accepted: under version 2 a marker may be repeated (KAFKA-19999).
        state_expires: a partition may forget a producer at once that has no open transaction (KAFKA-9144).
        failed_fence_remembered: a fencing epoch that could not be appended is not raised again (KAFKA-9666).
        waits_for_log: the coordinator answers and sends markers only once its record is durable.
        completion_is_of_operation: completing an earlier coordinator's markers leaves those of the next one
            awaited (KAFKA-16352).
        deposed_answers: a coordinator that does not know that it was deposed answers what needs no append, from the
            memory that it had then.
        sends_in_order: a client sends the batches of a partition in their order.
        commits_wait: a client asks for commit once everything is acknowledged.
        repeated_markers_count: a guard that a repeated marker takes away counts as one that was taken wrongly.
        first_epoch: the first epoch that the transactional id hands out.
        bounds: of the finite instance.
        limited: the bounds are limits; otherwise they only say of what there may be several.
    """

    profile: Profile = SMALL
    without: frozenset[str] = frozenset()
    outlive: frozenset[str] = EVERYTHING
    compared: frozenset[str] = frozenset()
    readers: bool = True
    readers_wait: bool = True
    aborted_filtered: bool = True
    groups: bool = True
    other_ids: bool = False
    clients_bump: bool = True
    first_in_order: bool = False
    times_out: bool = True
    leaders_fail: bool = True
    appends_fail: bool = True
    guard_compared: bool = True
    timeout_bumps: bool = True
    repeated_marker_accepted: bool = True
    state_expires: bool = False
    failed_fence_remembered: bool = True
    waits_for_log: bool = True
    completion_is_of_operation: bool = True
    deposed_answers: bool = False
    sends_in_order: bool = True
    commits_wait: bool = True
    repeated_markers_count: bool = False
    first_epoch: int = 0
    bounds: Bounds = Bounds()
    limited: bool = True

    @property
    def bumps(self) -> bool:
        """Clients are of transaction version 2."""
        return self.profile.transaction_version >= BUMPING

    @property
    def numbers(self) -> bool:
        """Batches are numbered, partition by partition."""
        return self.readers or self.groups

    @property
    def rotates(self) -> bool:
        """Epochs may run out, so that there is more than one producer id."""
        return self.bounds.producer_ids > 1

    def sizes(self) -> dict[str, int]:
        """How many values each sort has."""
        return {
            TRANSACTION.name: self.bounds.transactions,
            PARTITION.name: self.bounds.partitions,
            BATCH.name: self.bounds.batches,
            INSTANCE.name: self.bounds.instances,
            DECISION.name: self.bounds.decisions,
            COORDINATOR.name: self.bounds.coordinators,
            PRODUCER.name: self.bounds.producer_ids,
            READER.name: 2,
            OUTCOME.name: 2,
            FATE.name: 3 if self.appends_fail else 1,
            NUMBER.name: self.bounds.transactions * self.bounds.batches + 1,
            KIND.name: 3,
        }

    def settled(self, entry: TransactionEntry) -> TransactionEntry:
        """The entry, with what never changes in the instance as constants: the id is known, time stands still."""
        fixed = replace(entry, known=True, timeout=TIMEOUT, start_time=0, update_time=0)
        if self.rotates:
            return fixed
        return replace(fixed, producer_id=0, previous_producer_id=0, next_producer_id=ABSENT)


NO_IDENTITY: Final = IdAndEpoch(ABSENT, ABSENT)


def variables(knobs: TransactionKnobs) -> tuple[Variable, ...]:
    """The functions of the state."""
    before = knobs.settled(TransactionEntry(producer_id=0, producer_epoch=knobs.first_epoch - 1))
    message = (TRANSACTION, PARTITION, BATCH)
    return (
        # instances of the application: the identity each was given, its last transaction, its sequences
        Variable("given", (INSTANCE,), NO_IDENTITY),
        Variable("current", (INSTANCE,), ABSENT),
        Variable("next_sequence", (INSTANCE, PARTITION), 0),
        # client transactions, and the network: what was sent in each, and what was answered
        Variable("owner", (TRANSACTION,), ABSENT),
        Variable("identity", (TRANSACTION,), NO_IDENTITY),
        Variable("added", (TRANSACTION, PARTITION), NOT_SENT),
        Variable("produced", message, ABSENT),
        Variable("acknowledged", message, initial=False),
        Variable("end_sent", (TRANSACTION,), ABSENT),
        Variable("ended", (TRANSACTION,), initial=False),
        Variable("next_identity", (TRANSACTION,), NO_IDENTITY),
        # partitions: what the leader knows of producers, what it asks the coordinator, what is in the log
        Variable("entry", (PRODUCER, PARTITION), ProducerEntry()),
        Variable("query", (PRODUCER, PARTITION), NO_VERIFICATION),
        Variable("phase", message, IDLE),
        Variable("guarded", message, initial=False),
        Variable("data", message, NOWHERE),
        *_of_readers(knobs),
        *_of_groups(knobs),
        *_of_other_ids(knobs),
        # the coordinator: memory, the transaction that registered each partition, the decision that it carries out
        Variable("coordinator_epoch", (), 0),
        Variable("memory", (), before),
        Variable("registered", (PARTITION,), ABSENT),
        Variable("opened", (), ABSENT),
        Variable("decision", (), ABSENT),
        Variable("awaited", (), initial=True),
        Variable("drawn", (), 1),
        # the coordinator's log: the last record of the transactional id, and the same ghosts
        Variable("record", (), before),
        Variable("recorded", (PARTITION,), ABSENT),
        Variable("record_opened", (), ABSENT),
        Variable("record_ended", (), ABSENT),
        Variable("record_decision", (), ABSENT),
        *_of_the_deposed(knobs, before),
        # decisions: outcome and markers, by whom they are sent, and the last coordinator whose marker was written
        Variable("decisions", (), 0),
        Variable("outcome", (DECISION,), ABSENT),
        Variable("marker", (DECISION,), MarkerRequest(ABSENT, ABSENT, ABSENT)),
        Variable("to_mark", (DECISION, PARTITION), initial=False),
        Variable("sent_by", (DECISION, COORDINATOR), initial=False),
        Variable("marked", (DECISION, PARTITION), ABSENT),
        # ghosts: whose transaction a decision ended and on whose request, markers with effect, how often a batch was
        # appended (counted up to 2, as effects are), the newest identity,
        # decisions when an instance got its identity, coordinators seen, who appended last, who was refused wrongly;
        # a guard is taken where another marker makes it stale; the last bump that fenced, and the last one returned
        Variable("opened_by", (DECISION,), ABSENT),
        Variable("ended_by", (DECISION,), ABSENT),
        Variable("effects", (DECISION, PARTITION), 0),
        Variable("copies", message, 0),
        Variable("newest", (), NO_IDENTITY),
        Variable("decided_before", (INSTANCE,), ABSENT),
        Variable("latest_coordinator", (PRODUCER, PARTITION), ABSENT),
        Variable("appended_last", (PRODUCER, PARTITION), ABSENT),
        Variable("guard_taken", message, initial=False),
        Variable("fenced_by", (), ABSENT),
        Variable("bumped_by", (), ABSENT),
        Variable("fenced_wrongly", (TRANSACTION,), initial=False),
        Variable("refused_wrongly", (TRANSACTION,), initial=False),
    )


def _of_the_deposed(knobs: TransactionKnobs, before: TransactionEntry) -> tuple[Variable, ...]:
    """The state of the coordinator before the last failover, for as long as it does not know of the failover."""
    cache = (Variable("cached", (), before), Variable("cached_partitions", (PARTITION,), ABSENT))
    return cache * knobs.deposed_answers


def _of_readers(knobs: TransactionKnobs) -> tuple[Variable, ...]:
    """Where each batch is among those of its partition, how far each reader is, and what it was given."""
    message = (TRANSACTION, PARTITION, BATCH)
    numbers = (Variable("offset", message, ABSENT), Variable("log_end", (PARTITION,), 0)) * knobs.numbers
    readers = (
        Variable("position", (READER, PARTITION), 0),
        Variable("received", (READER, *message), initial=False),
    )
    return (*numbers, *(readers * knobs.readers))


def _of_other_ids(knobs: TransactionKnobs) -> tuple[Variable, ...]:
    """Which batches of a partition are of another transactional id, and which producer ids it has drawn."""
    batches = (Variable("of_other_id", (PARTITION, NUMBER), initial=False),) * knobs.numbers
    producers = (Variable("drawn_by_other_id", (PRODUCER,), initial=False),) * knobs.rotates
    return (*batches, *producers) * knobs.other_ids


def _of_groups(knobs: TransactionKnobs) -> tuple[Variable, ...]:
    """What partitions are for, the generation, what commits name and when they are written, what is pending, and taken.

    An offset is represented by the number of its transaction.
    """
    group = (
        Variable("kind", (PARTITION,), UNUSED),
        Variable("generation", (), 1),
        Variable("named", (TRANSACTION, PARTITION), ABSENT),
        Variable("committed_in", (TRANSACTION, PARTITION), ABSENT),
        Variable("pending", (PRODUCER, PARTITION), NO_OFFSET),
        Variable("group_offset", (PARTITION,), NO_OFFSET),
    )
    return group * knobs.groups


def _if(fact: Term) -> Term:
    """0 where the fact holds, else absent."""
    return choose(fact, 0, ABSENT)


def derived(knobs: TransactionKnobs) -> tuple[Least, ...]:
    """Whether there is some such request, partition or batch: 0 where there is, -1 where there is none.

    Of what is open on a partition, the least number.
    """

    def unanswered(state: State, txn: Term, partition: Term, batch: Term) -> Term:
        waits = all_of(state.produced(txn, partition, batch) >= 0, negate(state.acknowledged(txn, partition, batch)))
        return _if(any_of(waits, state.added(txn, partition) == SENT))

    def joined(state: State, txn: Term, partition: Term) -> Term:
        return _if(state.added(txn, partition) == ANSWERED)

    def in_process(state: State, txn: Term, partition: Term, batch: Term) -> Term:
        return _if(state.phase(txn, partition, batch) > IDLE)

    def unmarked(state: State, decision: Term, partition: Term) -> Term:
        missing = negate(state.marked(decision, partition) == state.coordinator_epoch())
        return _if(all_of(state.to_mark(decision, partition), missing))

    def late(state: State, decision: Term, coordinator: Term, partition: Term) -> Term:
        return _if(all_of(state.to_mark(decision, partition), state.marked(decision, partition) < coordinator))

    def undecided(state: State, partition: Term, txn: Term, batch: Term) -> Term:
        return choose(state.data(txn, partition, batch) == OPEN, state.offset(txn, partition, batch), ABSENT)

    return (
        *((Least("first_ongoing", (PARTITION,), (TRANSACTION, BATCH), undecided),) * knobs.readers),
        Least("unanswered", (TRANSACTION,), (PARTITION, BATCH), unanswered),
        Least("joined", (TRANSACTION,), (PARTITION,), joined),
        Least("in_process", (TRANSACTION,), (PARTITION, BATCH), in_process),
        Least("unmarked", (DECISION,), (PARTITION,), unmarked),
        Least("unmarked_by", (DECISION, COORDINATOR), (PARTITION,), late),
    )

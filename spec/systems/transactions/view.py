"""One state of the transactions, in the words of the protocol; and the base of the actions on it.

Every decision taken here is the protocol's own. The actions of clients, leaders and coordinators share the base.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from spec.algebra import Term, all_of, any_of, choose, negate
from spec.protocol import committing, completing, registering, verification
from spec.protocol.append import Append
from spec.protocol.committing import CommitRequest
from spec.protocol.completing import MarkerRequest
from spec.protocol.coordinator import TransactionEntry, Transition, is_at_rest, is_exhausted, is_in
from spec.protocol.ending import EndRequest, IdAndEpoch
from spec.protocol.groups import GroupEntry
from spec.protocol.groups import KnownClaim as Member
from spec.protocol.ids import InitRequest
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.protocol.registering import AddRequest
from spec.protocol.verification import ABORTABLE_SINCE, ADDS_SINCE, VerificationEntry
from spec.systems.language import Action, Function, Sort, State, pick
from spec.systems.transactions.decisions import ReleaseDecisions
from spec.systems.transactions.world import (
    ABORT,
    ANSWERED,
    BUMP,
    COMMIT,
    CONFIRMED,
    EXHAUSTED,
    OFFSETS,
    ONGOING,
    TIMEOUT,
    TransactionKnobs,
)
from spec.vocabulary import ABSENT, ErrorCode, GroupState, TransactionState


class TransactionsView:
    """One state: its functions, the parties' views of it, and the protocol's decisions in it."""

    def __init__(self, knobs: TransactionKnobs, taken: ReleaseDecisions, state: State) -> None:
        self.knobs = knobs
        self.taken = taken
        self.state = state

    def __getattr__(self, name: str) -> Function:
        function: Function = getattr(self.state, name)
        return function

    # --- the client -------------------------------------------------------------------------------------------

    def who(self, txn: Term) -> IdAndEpoch:
        """Producer id and epoch that every request of a transaction carries."""
        return self._one_id(self.identity(txn))

    def producer(self, identity: IdAndEpoch | MarkerRequest) -> Term:
        """The producer id; the only one, where epochs do not run out."""
        return identity.producer_id if self.knobs.rotates else 0

    def is_open(self, txn: Term) -> Term:
        """The client has begun the transaction and has not asked for its end."""
        return all_of(self.owner(txn) >= 0, self.end_sent(txn) == ABSENT)

    def is_bump(self, txn: Term) -> Term:
        """It is no transaction, but an InitProducerId that expects the identity it has."""
        return self.end_sent(txn) == BUMP

    def requested_end(self, txn: Term) -> Term:
        """The client has asked for commit or for abort."""
        return any_of(self.end_sent(txn) == ABORT, self.end_sent(txn) == COMMIT)

    def may_begin(self, instance: Term, txn: Term) -> Term:
        """The instance has an identity and no transaction that has not ended, and this number is the next."""
        last = self.current(instance)
        return all_of(
            self.given(instance).producer_epoch >= 0,
            any_of(last == ABSENT, self.ended(last)),
            self.owner(txn) == ABSENT,
            any_of(txn == 0, self.owner(txn - 1) >= 0),
        )

    def next_of(self, instance: Term) -> IdAndEpoch:
        """The identity for the instance's next transaction: the one returned by its last end, or the same."""
        last = self.current(instance)
        reported: IdAndEpoch = pick(
            self.next_identity(last).producer_epoch >= 0, self.next_identity(last), self.who(last)
        )
        identity: IdAndEpoch = pick(last == ABSENT, self.given(instance), reported)
        return identity

    def arrives(self, what: str, txn: Term) -> Term:
        """The network may bring a request of the transaction that is no EndTxn."""
        return any_of(what in self.knobs.outlive, self.is_open(txn))

    def is_of_data(self, partition: Term) -> Term:
        """No client commits offsets to the partition."""
        return negate(self.kind(partition) == OFFSETS) if self.knobs.groups else True

    # --- the partition ----------------------------------------------------------------------------------------

    def known(self, identity: IdAndEpoch, partition: Term) -> ProducerEntry:
        """The partition's state of a producer."""
        entry: ProducerEntry = self.entry(self.producer(identity), partition)
        return entry

    def verifying(self, identity: IdAndEpoch, partition: Term) -> VerificationEntry:
        """The partition's verification state of a producer."""
        entry: VerificationEntry = self.query(self.producer(identity), partition)
        return entry

    def batch(self, txn: Term, partition: Term, batch: Term) -> AppendRequest:
        """A batch as the leader sees it."""
        identity = self.who(txn)
        return AppendRequest(
            base_offset=0,
            producer_id=self.producer(identity),
            producer_epoch=identity.producer_epoch,
            base_sequence=self.produced(txn, partition, batch),
            transactional=True,
        )

    @property
    def produce_version(self) -> int:
        """Version of the clients' Produce."""
        return ADDS_SINCE if self.knobs.bumps else ABORTABLE_SINCE

    def is_asked_about(self, txn: Term, partition: Term, request: AppendRequest) -> Term:
        """The leader asks the coordinator before it lets a batch of the transaction in."""
        known = self.known(self.who(txn), partition)
        return verification.needs_verification(known, request, self.produce_version, self.knobs.profile)

    def appended(self, txn: Term, partition: Term, batch: Term, request: AppendRequest) -> Append:
        """The leader's decision on a batch, verified or not.

        Args:
            txn: a client's transaction, by its number, or a bump that it has asked for.
            partition: which one.
            batch: its number among those of the transaction to the partition, from 0.
            request: what arrives: data, or consumed offsets.
        """
        identity = self.who(txn)
        guard = any_of(self.guarded(txn, partition, batch), not self.knobs.guard_compared)
        guarded = all_of(self.phase(txn, partition, batch) == CONFIRMED, guard)
        seen = verification.met(self.verifying(identity, partition), guarded)
        return self.taken.append(self.known(identity, partition), request, seen)

    def number(self, txn: Term, partition: Term, batch: Term) -> Term:
        """The number that the batch gets among those of its partition; a repetition of the last one counts once."""
        offset, end = self.offset(txn, partition, batch), self.log_end(partition)
        return choose(all_of(offset >= 0, offset + 1 == end), offset, end)

    def offset_batch(self, txn: Term) -> AppendRequest:
        """A transaction's commit of one offset, as the group's coordinator appends it."""
        identity = self.who(txn)
        return committing.to_append(self.producer(identity), identity.producer_epoch, offsets=1, log_end=0)

    def is_let_commit(self, txn: Term, partition: Term) -> Term:
        """The group accepts the commit as a present member's (KIP-447)."""
        group = GroupEntry(known=True, state=GroupState.STABLE.value, generation=self.generation())
        member = Member(generation=self.named(txn, partition), member_given=True, member_known=True)
        version = committing.ADDS_SINCE if self.knobs.bumps else committing.ABORTABLE_SINCE
        request = CommitRequest(version, claim=member)
        let = committing.commit_in_transaction(group, request, self.knobs.profile, self.knobs.without)
        return let.error == ErrorCode.NONE.value

    def sent_marker(self, decision: Term, coordinator: Term) -> MarkerRequest:
        """The marker of a decision, as one coordinator sends it."""
        marker: MarkerRequest = self.marker(decision)
        return replace(marker, producer_id=self._one_id(marker).producer_id, coordinator_epoch=coordinator)

    def marker_appended(self, decision: Term, coordinator: Term, partition: Term) -> Append:
        """The leader's decision on a marker."""
        marker = self.sent_marker(decision, coordinator)
        known = self.entry(marker.producer_id, partition)
        seen = verification.met(self.query(marker.producer_id, partition), guarded=False)
        return self.taken.append(known, completing.to_append(marker, 0), seen)

    def marker_accepted(self, decision: Term, coordinator: Term, partition: Term) -> Term:
        """The leader writes a marker."""
        marker = self.sent_marker(decision, coordinator)
        repeated = marker.producer_epoch <= self.entry(marker.producer_id, partition).epoch
        refused = all_of(not self.knobs.repeated_marker_accepted, marker.version >= 2, repeated)
        return all_of(negate(refused), self.marker_appended(decision, coordinator, partition).reply.appended)

    def is_of_other_id(self, partition: Term, number: Term) -> Term:
        """The batch with this number in the partition is of another transactional id."""
        return self.of_other_id(partition, number) if self.knobs.other_ids else False

    # --- the coordinator --------------------------------------------------------------------------------------

    def remembers(self) -> TransactionEntry:
        """The coordinator's metadata of the transactional id."""
        return self.knobs.settled(self.memory())

    def fresh(self) -> Term:
        """The producer id that the coordinator would draw."""
        return self.drawn() if self.knobs.rotates else 0

    def initialized(self) -> Transition:
        """The decision on an InitProducerId that expects no identity."""
        return self.taken.initialize(self.remembers(), InitRequest(TIMEOUT, self.fresh()))

    def bumped(self, txn: Term) -> Transition:
        """The decision on an InitProducerId that expects an identity."""
        identity = self.who(txn)
        request = InitRequest(
            TIMEOUT, self.fresh(), producer_id=identity.producer_id, producer_epoch=identity.producer_epoch
        )
        return self.taken.initialize(self.remembers(), request)

    def is_compared(self, txn: Term) -> Term:
        """The identity that a bump expects is the present one, wherever the coordinator compares the whole of it."""
        memory, identity = self.remembers(), self.who(txn)
        present = all_of(identity.producer_id == memory.producer_id, identity.producer_epoch == memory.producer_epoch)
        exhausted = all_of(is_at_rest(memory), is_exhausted(memory.producer_epoch, self.knobs.profile))
        return all_of(
            any_of(ONGOING not in self.knobs.compared, negate(is_in(memory, TransactionState.ONGOING)), present),
            any_of(EXHAUSTED not in self.knobs.compared, negate(exhausted), present),
        )

    def added_to(self, txn: Term, partition: Term) -> Transition:
        """The decision on a partition that joins the transaction."""
        return self.taken.register(self.remembers(), self._to_add(txn, self.registered(partition)))

    def added_by_deposed(self, txn: Term, partition: Term) -> Transition:
        """The same decision of the coordinator before the last failover, by its state then."""
        request = self._to_add(txn, self.cached_partitions(partition))
        return self.taken.register(self.knobs.settled(self.cached()), request)

    def _to_add(self, txn: Term, registered: Term) -> AddRequest:
        identity = self.who(txn)
        return AddRequest(
            identity.producer_id,
            identity.producer_epoch,
            all_registered=registered >= 0,
            client_version=2 if self.knobs.bumps else 0,
        )

    def verified(self, txn: Term, partition: Term) -> Term:
        """The coordinator's answer to a leader that verifies a partition of the transaction."""
        identity, there = self.who(txn), self.registered(partition) >= 0
        request = AddRequest(identity.producer_id, identity.producer_epoch, all_registered=there, verify_only=True)
        return registering.verified(self.taken.register(self.remembers(), request), there, self.knobs.profile)

    def end_request(self, txn: Term) -> EndRequest:
        """The client's EndTxn."""
        identity = self.who(txn)
        return EndRequest(
            identity.producer_id,
            identity.producer_epoch,
            commits=self.end_sent(txn) == COMMIT,
            bumps=self.knobs.bumps,
            fresh_producer_id=self.fresh(),
        )

    def end_decided(self, txn: Term) -> Transition:
        """The decision on it."""
        return self.taken.end(self.remembers(), self.end_request(txn))

    def own_abort(self, entry: TransactionEntry) -> Transition:
        """The decision on the coordinator's own abort, with this in its memory."""
        request = completing.fencing_abort(entry, self.fresh(), 0, self.knobs.profile)
        if not self.knobs.timeout_bumps:
            request = replace(request, producer_epoch=entry.producer_epoch)
        return self.taken.end(entry, request)

    def fenced(self, entry: TransactionEntry) -> TransactionEntry:
        """Memory when the open transaction is about to be aborted."""
        return self.knobs.settled(completing.fence(entry))

    def may_abort(self, txn: Term) -> Term:
        """The coordinator would carry out the client's abort."""
        request = replace(self.end_request(txn), commits=False)
        return self.taken.end(self.remembers(), request).appends

    def is_current(self, identity: IdAndEpoch) -> Term:
        """It is the newest identity that anyone was given, and no fence has made it stale."""
        newest = self._one_id(self.newest())
        return all_of(identity.producer_id == newest.producer_id, identity.producer_epoch == newest.producer_epoch)

    def is_registered(self, txn: Term, partition: Term) -> Term:
        """The coordinator takes data of the transaction on this partition to be in its open transaction."""
        memory, identity = self.remembers(), self.who(txn)
        return all_of(
            is_in(memory, TransactionState.ONGOING),
            memory.pending == ABSENT,
            self.registered(partition) == txn,
            memory.producer_id == identity.producer_id,
            memory.producer_epoch == identity.producer_epoch,
        )

    def commits(self, decision: Term) -> Term:
        """The decision is to commit."""
        return self.outcome(decision) == COMMIT

    def aborts(self, decision: Term) -> Term:
        """The decision is to abort."""
        return self.outcome(decision) == ABORT

    def is_fatal(self, error: Term) -> Term:
        """The error fences the client."""
        return any_of(*(error == code.value for code in FATAL))

    def is_added(self, txn: Term, partition: Term) -> Term:
        """The client knows that the partition has joined the transaction."""
        return self.added(txn, partition) == ANSWERED

    def _one_id(self, identity: IdAndEpoch | MarkerRequest) -> IdAndEpoch:
        return IdAndEpoch(self.producer(identity), identity.producer_epoch)


# --- the base of actions ----------------------------------------------------------------------------------------------


FATAL = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
"""Answers of the coordinator that end a producer."""


Guard: TypeAlias = Iterator[Term]


class TransactionActionBase:
    """Actions as guards (a fact a line, the cheapest first) and effects, each pair by the name of the action."""

    def __init__(self, knobs: TransactionKnobs, taken: ReleaseDecisions) -> None:
        self.knobs = knobs
        self.of = partial(TransactionsView, knobs, taken)

    def _action(self, name: str, *over: Sort) -> Action:
        return Action(name, over, getattr(self, f"{name}_if"), getattr(self, name))

"""The state of one transactional id: the coordinator's memory and its log, and what the instances believe.

Partitions and their markers are left out: a decided transaction completes at any later time. Requests are answered
at once, or the answer is lost. Epochs end early here, so that what happens at the last one is reached; how many
producer ids, starts, failovers and failed appends there are is bounded by the instance.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from spec.algebra import Term, all_of, choose, negate
from spec.protocol import completing, coordinator, ending, ids, registering
from spec.protocol.coordinator import BUMPING, TransactionEntry, Transition
from spec.protocol.ending import EndRequest
from spec.protocol.ids import InitRequest
from spec.protocol.registering import AddRequest
from spec.systems.language import Function, Sort, State, Variable
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode, TransactionState

INSTANCE: Final = Sort("instance")
OUTCOME: Final = Sort("outcome")

ABORT: Final = 0
COMMIT: Final = 1
"""The outcomes of a transaction, as points of `OUTCOME`."""

TIMEOUT: Final = 1
"""Of a transaction; when it has passed is free."""

SHUT_OUT: Final = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
"""The errors for an instance whose identity is not the newest one."""


@dataclass(frozen=True, slots=True)
class CoordinatorKnobs:
    """What the system is made of; the defaults are the true system, in a small instance.

    Attributes:
        profile: the release; where epochs end early.
        timeout_fences: the abort of a transaction past its timeout raises the epoch (KAFKA-6119).
        mapping_error_abortable: a client continues with a new identity when its own is unknown (KAFKA-18019).
        lowered_to: the transaction version to which the cluster's is lowered at some time, while instances keep
            that of the profile; None where it stays.
        unwritable_rolled_back: what no record can hold is not pending, as what the log refuses is not; in no release.
        times_out, expires, fails_over, loses_replies, append_fails: what may happen.
        starts: how often instances may start.
        producer_ids: that the coordinator may hand out.
        faults: failovers, failed appends and expirations together.
        instances: that share the transactional id.
    """

    profile: Profile = NEWEST
    timeout_fences: bool = True
    mapping_error_abortable: bool = False
    lowered_to: int | None = None
    unwritable_rolled_back: bool = False
    times_out: bool = True
    expires: bool = False
    fails_over: bool = False
    loses_replies: bool = False
    append_fails: bool = False
    starts: int = 1
    producer_ids: int = 3
    faults: int = 2
    instances: int = 1

    @property
    def bumps(self) -> bool:
        """Requests of transactions are of version 2."""
        return self.profile.transaction_version >= BUMPING

    @property
    def lowered(self) -> Profile:
        """The release once its transaction version is lowered; as it was where that stays."""
        return self.profile if self.lowered_to is None else self.profile.under(self.lowered_to)


def early(release: Profile, last_epoch: int = 2) -> Profile:
    """A release whose epochs end early: the last one of a client is the one before `last_epoch`."""
    return replace(release, max_epoch=last_epoch)


VARIABLES: Final = (
    # the coordinator: memory, the newest record in its log, producer ids handed out
    Variable("entry", (), TransactionEntry()),
    Variable("record", (), TransactionEntry()),
    Variable("fresh", (), 0),
    # the instances: identity, whether a transaction is open, an EndTxn without answer
    Variable("producer_id", (INSTANCE,), ABSENT),
    Variable("producer_epoch", (INSTANCE,), ABSENT),
    Variable("alive", (INSTANCE,), initial=False),
    Variable("in_transaction", (INSTANCE,), initial=False),
    Variable("in_doubt", (INSTANCE,), ABSENT),
    Variable("must_recover", (INSTANCE,), initial=False),
    # what the instance bounds
    Variable("starts", (), 0),
    Variable("faults", (), 0),
    # ghosts: another instance has started since; the coordinator took the identity away; a part of the open
    # transaction was aborted; a commit was acknowledged to an instance that was replaced, or of whose transaction a
    # part was aborted; the newest identity that any instance got
    Variable("replaced", (INSTANCE,), initial=False),
    Variable("shut_out", (INSTANCE,), initial=False),
    Variable("torn", (INSTANCE,), initial=False),
    Variable("reported_commit_when_replaced", (INSTANCE,), initial=False),
    Variable("reported_commit_when_torn", (INSTANCE,), initial=False),
    Variable("given_producer_id", (), ABSENT),
    Variable("given_epoch", (), ABSENT),
)
OF_DOWNGRADES: Final = (Variable("lowered", (), initial=False),)


class TransactionalId:
    """The id in one state, and the decisions that its coordinator would take."""

    def __init__(self, knobs: CoordinatorKnobs, state: State) -> None:
        self.knobs = knobs
        self.state = state

    @property
    def entry(self) -> TransactionEntry:
        """The coordinator's memory."""
        known: TransactionEntry = self.state.entry()
        return known

    def of(self, instance: Term) -> "IdView":
        """One of the instances."""
        return IdView(self, instance)

    def ids_left(self) -> Term:
        """A new producer id can be drawn."""
        return self.state.fresh() < self.knobs.producer_ids

    def initialised(self, instance: Term, *, expects: bool = False) -> Transition:
        """InitProducerId, with the identity that a client expects when it resumes after an error."""
        identity = self.of(instance)
        request = InitRequest(
            timeout=TIMEOUT,
            fresh_producer_id=self.state.fresh(),
            producer_id=identity.producer_id() if expects else ABSENT,
            producer_epoch=identity.producer_epoch() if expects else ABSENT,
        )
        return self._by_version(partial(ids.initialize, self.entry, request))

    def registered(self, instance: Term) -> Transition:
        """AddPartitionsToTxn of a partition that is new to the transaction."""
        identity = self.of(instance)
        request = AddRequest(
            identity.producer_id(),
            identity.producer_epoch(),
            all_registered=False,
            client_version=BUMPING if self.knobs.bumps else 0,
        )
        return self._by_version(partial(registering.register, self.entry, request))

    def end_request(self, instance: Term, commits: Term) -> EndRequest:
        """EndTxn of an instance."""
        identity = self.of(instance)
        return EndRequest(
            identity.producer_id(), identity.producer_epoch(), commits, self.knobs.bumps, self.state.fresh()
        )

    def ended(self, instance: Term, commits: Term) -> Transition:
        """The decision on it."""
        return self._by_version(partial(ending.end, self.entry, self.end_request(instance, commits)))

    def fencing(self) -> TransactionEntry:
        """Memory when the coordinator is about to abort the open transaction."""
        return completing.fence(self.entry)

    def fenced(self, *, raises: bool = True) -> Transition:
        """The coordinator's own abort; without raising the epoch it is one as a client's."""
        return self._by_version(partial(self._fenced, raises))

    def _fenced(self, raises: bool, profile: Profile) -> Transition:
        request = completing.fencing_abort(self.entry, self.state.fresh(), 0, profile)
        if raises:
            return ending.end(self.fencing(), request, profile)
        return ending.end(self.entry, replace(request, producer_epoch=self.entry.producer_epoch), profile)

    def completes(self) -> Transition:
        """The decision on a transaction that has all its markers."""
        settled = replace(self.entry, pending=ABSENT)
        return self._by_version(partial(completing.prepare_complete, settled, 0))

    def can_be_recorded(self) -> Term:
        """A record of the version that is in force can say of which version the transaction is."""
        version, knobs = self.entry.client_version, self.knobs
        return negate(all_of(self._is_lowered(), coordinator.is_unwritable(version, knobs.lowered)))

    def _by_version(self, decision: Callable[[Profile], Transition]) -> Transition:
        """A decision under the transaction version that the cluster has now."""
        knobs = self.knobs
        if knobs.lowered_to is None:
            return decision(knobs.profile)
        lowered, then, otherwise = self._is_lowered(), decision(knobs.lowered), decision(knobs.profile)
        return Transition(
            choose(lowered, then.branch, otherwise.branch),
            choose(lowered, then.error, otherwise.error),
            choose(lowered, then.appends, otherwise.appends),
            self._picked(lowered, then.entry, otherwise.entry),
            self._picked(lowered, then.target, otherwise.target),
        )

    def _picked(self, fact: Term, then: TransactionEntry, otherwise: TransactionEntry) -> TransactionEntry:
        """One of two entries; of two constants what is chosen has the width of what the entry had before."""
        known = coordinator.choose_entry(negate(fact), otherwise, self.entry)
        return coordinator.choose_entry(fact, then, known)

    def _is_lowered(self) -> Term:
        return self.knobs.lowered_to is not None and self.state.lowered()

    def may_be_fenced(self) -> Term:
        """A transaction is open, and no transition is under way."""
        ongoing = coordinator.is_in(self.entry, TransactionState.ONGOING)
        return all_of(self.entry.known, ongoing, self.entry.pending == ABSENT)


class IdView:
    """One instance in one state."""

    def __init__(self, of: TransactionalId, instance: Term) -> None:
        self._state = of.state
        self._instance = instance

    def __getattr__(self, name: str) -> Function:
        return partial(getattr(self._state, name), self._instance)

    def speaks(self) -> Term:
        """It has an identity, and waits for no answer."""
        waits = all_of(self.in_doubt() == ABSENT, negate(self.must_recover()))
        return all_of(self.alive(), self.producer_id() >= 0, waits)


def decided(entry: TransactionEntry, profile: Profile) -> TransactionEntry:
    """Memory once a record is durable: after a decision the end of the transaction is pending."""
    waiting = completing.prepare_complete(entry, 0, profile).entry
    return coordinator.choose_entry(coordinator.is_preparing(entry), waiting, entry)


def drawn(transition: Transition, fresh: Term) -> Term:
    """Producer ids handed out after a transition, which may have taken the next one."""
    uses = all_of(transition.target.known, _is_one_of(fresh, transition.target))
    return choose(uses, fresh + 1, fresh)


def _is_one_of(producer_id: Term, entry: TransactionEntry) -> Term:
    return negate(all_of(negate(entry.producer_id == producer_id), negate(entry.next_producer_id == producer_id)))

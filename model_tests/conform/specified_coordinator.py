"""The transaction coordinator of the specification's broker: its memory and its log, changed by decisions alone."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from model_tests.conform.answers import ListedTransaction, SeenTransaction
from model_tests.conform.decision_log import Ruled
from model_tests.conform.requests import (
    AddPartitionsToTxn,
    BumpEpochs,
    InjectTransactionState,
    ListTransactions,
    RecordedEndTxn,
    RecordedInitProducerId,
)
from spec import rules
from spec.protocol import completing, coordinator, ending, ids, registering
from spec.protocol.completing import MarkerRequest
from spec.protocol.coordinator import TransactionEntry, Transition
from spec.protocol.ending import EndRequest, IdAndEpoch
from spec.protocol.guards import PASSED, Guard
from spec.protocol.ids import InitRequest
from spec.protocol.registering import AddRequest
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode, TransactionState

WriteMarker: TypeAlias = Callable[[str, MarkerRequest, bool], int]
"""Have a partition append a marker, which commits or aborts; the error."""

Registered: TypeAlias = frozenset[str]
"""The partitions of a transaction."""

NO_PARTITIONS: Registered = frozenset()
NOTHING_KNOWN: Final = (TransactionEntry(), NO_PARTITIONS)


class OwedMarkers(NamedTuple):
    """The markers that a decided transaction still owes to its partitions, and the record once they are written."""

    marker: MarkerRequest
    commits: bool
    completed: TransactionEntry


PASSED_OVER_FROM: Final = 2
"""How many of the last bumps of an epoch are decided one by one."""

EXPIRATION = 7 * 24 * 3_600_000
"""The default of `transactional.id.expiration.ms`; a session waits as long as it takes."""


class Coordinator:
    """What is known of every transactional id, and the last record of each in the log."""

    def __init__(self, profile: Profile, write_marker: WriteMarker) -> None:
        """A coordinator that knows nothing, at epoch 0."""
        self.now = 0
        self.ruled: tuple[Ruled, ...] = ()
        self._profile = profile
        self._write_marker = write_marker
        self._epoch = 0
        self._next_producer = 0
        self._memory: dict[str, tuple[TransactionEntry, Registered]] = {}
        self._log: dict[str, tuple[TransactionEntry, Registered]] = {}
        self._owed: dict[str, OwedMarkers] = {}

    def fresh_producer(self) -> int:
        """A producer id that was never handed out."""
        self._next_producer += 1
        return self._next_producer - 1

    def initialize(self, transactional_id: str, request: RecordedInitProducerId) -> tuple[int, IdAndEpoch]:
        """Hand out the next identity of a transactional id; the error, and the identity."""
        before, registered = self._known(transactional_id)
        requested = InitRequest(
            timeout=request.timeout,
            fresh_producer_id=self.fresh_producer(),
            now=self.now,
            id_empty=not transactional_id,
            producer_id=int(request.producer_id),
            producer_epoch=request.producer_epoch,
        )
        transition = ids.initialize(before, requested, self._profile)
        self._rule(transactional_id, before, transition, _initializing(self._profile))
        self._remember(transactional_id, transition.entry, registered)
        error = int(transition.error)
        if coordinator.is_fencing(transition.entry):
            error = self._abort(transactional_id) or error
        if not transition.appends:
            return error, IdAndEpoch(ABSENT, ABSENT)
        self._complete(transactional_id, transition.target, NO_PARTITIONS)
        return error, IdAndEpoch(transition.target.producer_id, transition.target.producer_epoch)

    def bump(self, request: BumpEpochs) -> tuple[int, IdAndEpoch]:
        """Hand out identities so many times; the last error and identity.

        Below the last epoch one decision is like the one before, an epoch further: those in the middle are passed over.
        """
        name, each = request.transactional_id, RecordedInitProducerId(0, request.transactional_id, request.timeout)
        handed_out = self.initialize(name, each)
        left = request.times - 1
        if left > PASSED_OVER_FROM and handed_out[1].producer_epoch + left < self._profile.max_epoch:
            self._pass_over(name, left - PASSED_OVER_FROM)
            left = PASSED_OVER_FROM
        for _ in range(left):
            self.ruled = ()
            handed_out = self.initialize(name, each)
        return handed_out

    def _pass_over(self, name: str, epochs: int) -> None:
        for known in (self._memory, self._log):
            entry, registered = known[name]
            known[name] = (replace(entry, producer_epoch=entry.producer_epoch + epochs), registered)
        self._next_producer += epochs

    def register(self, request: AddPartitionsToTxn) -> dict[str, int]:
        """Add partitions to a transaction, or verify that they are in it; the error of each."""
        name = request.transactional_id
        before, registered = self._known(name)
        requested = AddRequest(
            producer_id=int(request.producer_id),
            producer_epoch=request.producer_epoch,
            all_registered=registered.issuperset(request.partitions),
            now=self.now,
            client_version=registering.client_version(request.version),
            id_empty=not name,
            verify_only=request.verify_only,
        )
        transition = registering.register(before, requested, self._profile)
        self._rule(name, before, transition, _registering(self._profile))
        self._remember(name, transition.entry, registered)
        if transition.appends:
            self._complete(name, transition.target, registered | set(request.partitions))
        if not request.verify_only:
            return dict.fromkeys(request.partitions, int(transition.error))
        return {
            each: registering.verified(transition, each in registered, self._profile) for each in request.partitions
        }

    def end(self, request: RecordedEndTxn) -> tuple[int, IdAndEpoch]:
        """End a transaction for a client; the error, and the identity for the next one."""
        requested = EndRequest(
            producer_id=int(request.producer_id),
            producer_epoch=request.producer_epoch,
            commits=request.committed,
            bumps=request.version >= ending.BUMPS_SINCE,
            fresh_producer_id=self.fresh_producer(),
            now=self.now,
            id_empty=not request.transactional_id,
        )
        transition = self._end(request.transactional_id, requested)
        return int(transition.error), ending.answered(transition, requested, self._profile)

    def listed(self, request: ListTransactions) -> tuple[ListedTransaction, ...]:
        """The transactional ids that pass the filters."""
        shown = (
            ListedTransaction(name, entry.producer_id, state_name(entry)) for name, (entry, _) in self._memory.items()
        )
        return tuple(
            each
            for each in shown
            if (not request.states or each.state in request.states)
            and (not request.producer_ids or each.producer_id in request.producer_ids)
        )

    def inject(self, request: InjectTransactionState) -> None:
        """A record gets into the log behind the coordinator's back."""
        entry = TransactionEntry(
            known=True,
            state=STATES[request.state].value,
            producer_id=int(request.producer_id),
            producer_epoch=request.producer_epoch,
            timeout=request.timeout,
            start_time=ABSENT if request.state == "Empty" else self.now,
            update_time=self.now,
        )
        self._log[request.transactional_id] = (entry, frozenset(request.partitions))

    def restart(self, epoch: int, *, leaderless: bool = False) -> None:
        """A new coordinator loads the log, and continues with the markers of decided transactions.

        Args:
            epoch: its own, counted from that at the session's start.
            leaderless: it takes every partition for deleted, because it knows of no leader.
        """
        self._epoch = epoch
        self._owed.clear()
        self._memory = {
            name: (coordinator.loaded(record, self._profile), registered)
            for name, (record, registered) in self._log.items()
        }
        for name, (entry, registered) in list(self._memory.items()):
            if coordinator.is_preparing(entry):
                self._remember(name, entry, NO_PARTITIONS if leaderless else registered)
                self._owe_markers(name)

    def time_out(self, transactional_id: str) -> None:
        """Time passes until a transaction is past its timeout, and whatever else has timed out by then ends too."""
        entry, _ = self._known(transactional_id)
        self.now = max(self.now, entry.start_time + entry.timeout + 1)
        for name, (each, registered) in list(self._memory.items()):
            timed_out = completing.is_timed_out(each, self.now)
            if timed_out or name == transactional_id:
                guard = "timed_out" if timed_out else "within_timeout"
                self.ruled += (Ruled(name, guard, (rules.TXN_TIMEOUT,), _reported(each)),)
            if timed_out:
                self._remember(name, completing.fence(each), registered)
                self._abort(name)

    def expire(self, transactional_id: str) -> None:
        """Time passes until a transactional id is forgotten."""
        entry, _ = self._known(transactional_id)
        self.now = max(self.now, entry.update_time + EXPIRATION)
        for name, (each, _) in list(self._memory.items()):
            if completing.is_expired(each, self.now, EXPIRATION):
                self._log.pop(name, None)
                del self._memory[name]

    def seen(self) -> dict[str, SeenTransaction]:
        """What DescribeTransactions shows of every id that is known."""
        return {name: _described(entry, registered) for name, (entry, registered) in self._memory.items()}

    def _known(self, name: str) -> tuple[TransactionEntry, Registered]:
        return self._memory.get(name, NOTHING_KNOWN)

    def _remember(self, name: str, entry: TransactionEntry, registered: Registered) -> None:
        if entry.known:
            self._memory[name] = (entry, registered)

    def _complete(self, name: str, target: TransactionEntry, registered: Registered) -> None:
        """The record is durable."""
        entry, _ = self._known(name)
        self._log[name] = (target, registered)
        self._memory[name] = (coordinator.completed(entry, target, self._profile), registered)

    def _abort(self, name: str) -> int:
        """The coordinator's own abort, with the fencing epoch."""
        entry, _ = self._known(name)
        request = completing.fencing_abort(entry, self.fresh_producer(), self.now, self._profile)
        return int(self._end(name, request).error)

    def _end(self, name: str, request: EndRequest) -> Transition:
        before, registered = self._known(name)
        transition = ending.end(before, request, self._profile)
        self._rule(name, before, transition, _ending(self._profile))
        self._remember(name, transition.entry, registered)
        if transition.appends:
            self._complete(name, transition.target, registered)
            if transition.error == ErrorCode.NONE:
                self._owe_markers(name)
        return transition

    def _owe_markers(self, name: str) -> None:
        """The outcome is decided: every partition is to have its marker, and then the transaction is complete."""
        entry, registered = self._known(name)
        transition = completing.prepare_complete(entry, self.now, self._profile)
        marker = completing.marker_of(entry, self._epoch)
        self._memory[name] = (transition.entry, registered)
        self._owed[name] = OwedMarkers(marker, entry.state == TransactionState.PREPARE_COMMIT.value, transition.target)

    def owed(self) -> int:
        """How many markers, or ends of transactions without any, are still to come."""
        return sum(max(1, len(self._known(name)[1])) for name in self._owed)

    def settle(self, most: int | None = None) -> None:
        """Send the markers that are owed, or the first so many; what is refused as stale is never sent again."""
        left = self.owed() if most is None else most
        if not left:
            return
        for name, owed in list(self._owed.items()):
            entry, registered = self._known(name)
            chosen = sorted(registered)[:left]
            errors = {each: self._write_marker(each, owed.marker, owed.commits) for each in chosen}
            remaining = registered - {each for each, error in errors.items() if completing.is_done(error)}
            self._memory[name] = (entry, remaining)
            left -= max(1, len(chosen))
            if not remaining:
                self._complete(name, owed.completed, NO_PARTITIONS)
            if not remaining or any(completing.is_given_up(error) for error in errors.values()):
                del self._owed[name]
            if left <= 0:
                return

    def _rule(self, name: str, before: TransactionEntry, transition: Transition, checks: tuple[Guard, ...]) -> None:
        if transition.branch == PASSED:
            ruled = Ruled(name, "passed", (rules.TXN_LEGAL_TRANSITION,), _reported(before), checks)
        else:
            deciding, over = checks[transition.branch - 1], checks[: transition.branch - 1]
            ruled = Ruled(name, deciding.name, (deciding.rule,), _reported(before), over)
        self.ruled += (ruled,)


@cache
def _initializing(profile: Profile) -> tuple[Guard, ...]:
    """The checks of InitProducerId, whose names, rules and answers are the same for every request."""
    return ids.guards(TransactionEntry(), InitRequest(ABSENT, ABSENT), profile)


@cache
def _registering(profile: Profile) -> tuple[Guard, ...]:
    return registering.guards(TransactionEntry(), AddRequest(ABSENT, ABSENT, all_registered=False), profile)


@cache
def _ending(profile: Profile) -> tuple[Guard, ...]:
    return ending.guards(TransactionEntry(), EndRequest(ABSENT, ABSENT, commits=False, bumps=False), profile)


def _reported(entry: TransactionEntry) -> str:
    return f"{state_name(entry)} {entry.producer_id}/{entry.producer_epoch}" if entry.known else "nothing known"


def _name(state: TransactionState) -> str:
    return state.name.title().replace("_", "")


STATES: Final = MappingProxyType({_name(state): state for state in TransactionState})
"""Every state by Kafka's name, as `CompleteCommit`."""


def state_name(entry: TransactionEntry) -> str:
    """Kafka's name of the state."""
    return _name(TransactionState(entry.state))


def _described(entry: TransactionEntry, registered: Registered) -> SeenTransaction:
    return SeenTransaction(
        state_name(entry),
        entry.producer_id,
        entry.producer_epoch,
        entry.timeout,
        entry.start_time >= 0,
        tuple(sorted(registered)),
    )

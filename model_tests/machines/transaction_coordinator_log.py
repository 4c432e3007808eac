"""The coordinators seen through their log: every record of `__transaction_state` is compared with the rules of ids."""

from collections.abc import Container, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from model_tests.machines.ghost_state import CoordinatedTransaction, CurrentEvent, LoggedChange
from model_tests.machines.transaction_watch import TransactionWatch
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import TransactionMetadata
from reference.broker.transaction_record import decode_key, decode_value
from reference.log.partition_log import PartitionLog
from spec import rules
from spec.evidence import Layer, evidences
from spec.vocabulary import MAX_EPOCH, TransactionState

_EMPTY, _ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
_COMMITTING, _ABORTING = TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT
_COMMITTED, _ABORTED = TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT
_DEAD = TransactionState.DEAD

AT_REST: Final = frozenset({_EMPTY, _COMMITTED, _ABORTED})
DECIDED: Final = frozenset({_COMMITTING, _ABORTING})

AFTER: Final[Mapping[TransactionState | None, frozenset[TransactionState]]] = MappingProxyType(
    {
        None: frozenset({_EMPTY, _DEAD}),  # an id whose first record was refused is forgotten like any other
        _EMPTY: frozenset({_EMPTY, _ONGOING, _DEAD}),
        _ONGOING: frozenset({_ONGOING, _COMMITTING, _ABORTING}),
        _COMMITTING: frozenset({_COMMITTED}),
        _ABORTING: frozenset({_ABORTED}),
        _COMMITTED: frozenset({_EMPTY, _ONGOING, _DEAD}),
        _ABORTED: frozenset({_EMPTY, _ONGOING, _DEAD}),
    }
)
"""What may follow each state in the log; under version 2 an id at rest may be aborted as well."""

LAST_OF_CLIENTS: Final = MAX_EPOCH - 1  # the last epoch that a client is given; a fence may take one more


class IdHistory:
    """One transactional id.

    Attributes:
        known: what its coordinator knows to be in the log; None if nothing.
        ahead: a record that is in the log although its append failed for the coordinator.
        current: the transaction that is open or not complete.
    """

    def __init__(self, transactional_id: str) -> None:
        """Nothing is known."""
        self.transactional_id = transactional_id
        self.known: TransactionMetadata | None = None
        self.ahead: LoggedChange | None = None
        self.current: CoordinatedTransaction | None = None
        self.past: list[CoordinatedTransaction] = []
        self.buried = False

    @property
    def state(self) -> TransactionState | None:
        """What it stands at."""
        return None if self.known is None else self.known.state

    def all(self) -> Iterator[CoordinatedTransaction]:
        """Its transactions, newest first."""
        if self.current is not None:
            yield self.current
        yield from reversed(self.past)

    def takes(self, change: LoggedChange) -> None:
        """A change counts from now on."""
        before, after = self.known, change.metadata
        self.known, self.ahead, self.buried = after, None, after is None
        if after is None:
            return
        if after.state == _ONGOING:
            if before is None or before.state != _ONGOING or self.current is None:
                self._begins(change)
            if self.current is not None:
                self.current.registered |= after.partitions
        elif after.state in DECIDED:
            if before is None or before.state != _ONGOING or self.current is None:
                self._begins(change)
            if self.current is not None and self.current.commits is None:
                self.current.commits = after.state == _COMMITTING
                self.current.identity = ProducerIdentity(after.producer_id, after.epoch)
                self.current.epochs.add(change.coordinator_epoch)
        elif after.state in (_COMMITTED, _ABORTED) and self.current is not None:
            self.current.completed = True

    def _begins(self, change: LoggedChange) -> None:
        if self.current is not None:
            self.past.append(self.current)
        self.current = CoordinatedTransaction(self.transactional_id, change.owner, set())

    def loads(self, coordinator_epoch: int) -> None:
        """A new coordinator knows all that is in the log."""
        if self.ahead is not None:
            self.takes(self.ahead)
        if self.state in DECIDED and self.current is not None:
            self.current.epochs.add(coordinator_epoch)


class CoordinatorLog:
    """All ids, by their log.

    Attributes:
        ids: by transactional id.
        owner_of: transactional id by producer id.
    """

    def __init__(self, watch: TransactionWatch) -> None:
        """Nothing is in the log."""
        self.watch = watch
        self.ids: dict[str, IdHistory] = {}
        self.owner_of: dict[int, str] = {}
        self._read: dict[int, int] = {}

    def of(self, transactional_id: str) -> IdHistory:
        """The history of an id."""
        return self.ids.setdefault(transactional_id, IdHistory(transactional_id))

    def of_producer(self, producer_id: int) -> IdHistory | None:
        """The history of the id that a producer id belongs to."""
        name = self.owner_of.get(producer_id)
        return None if name is None else self.ids.get(name)

    def looks(
        self, partition: int, log: PartitionLog, cause: CurrentEvent, epoch: int, doubtful: Container[tuple[int, int]]
    ) -> None:
        """Read what is new in a partition of the log.

        Args:
            partition: its number.
            log: what is in it.
            cause: what is happening.
            epoch: the coordinator's.
            doubtful: partition and offset of records in the log although their append failed for the coordinator.
        """
        new = log.batches[self._read.get(partition, 0) :]
        self._read[partition] = len(log.batches)
        for batch in new:
            for record in batch.records():
                metadata = None if record.value is None else decode_value(record.value).metadata()
                self._sees(
                    LoggedChange(decode_key(record.key or b""), metadata, cause, epoch),
                    (partition, batch.base_offset) in doubtful,
                )

    def _sees(self, change: LoggedChange, doubtful: bool) -> None:
        history = self.of(change.transactional_id)
        self.legal(history, change)
        self.decided_once(history, change)
        self.ends_its_own(history, change)
        self.epochs_last(history, change)
        self.expires(history, change)
        self.unique(change)
        if doubtful:
            history.ahead = change
        else:
            history.takes(change)

    # --- invariants -------------------------------------------------------------------------------------------

    @evidences(rules.TXN_LEGAL_TRANSITION, Layer.STATEFUL)
    def legal(self, history: IdHistory, change: LoggedChange) -> None:
        """Every change of state is an edge of the graph."""
        after = _DEAD if change.metadata is None else change.metadata.state
        allowed = AFTER[history.state]
        if self.watch.setting.profile.transaction_version >= 2 and history.state in AT_REST:
            allowed = allowed | {_ABORTING}
        before = "nothing" if history.state is None else history.state.name
        message = f"{change.transactional_id} goes from {before} to {after.name} by {change.cause.name}"
        self.watch.expect(rules.TXN_LEGAL_TRANSITION, after in allowed, message)

    @evidences(rules.TXN_ONE_OUTCOME, Layer.STATEFUL)
    def decided_once(self, history: IdHistory, change: LoggedChange) -> None:
        """After the decision only its completion follows."""
        if history.state not in DECIDED or history.current is None:
            return
        after = _DEAD if change.metadata is None else change.metadata.state
        wanted = _COMMITTED if history.current.commits else _ABORTED
        message = f"{history.current} is followed by {after.name} by {change.cause.name}"
        self.watch.expect(rules.TXN_ONE_OUTCOME, after == wanted, message)

    @evidences(rules.TXN_NO_CROSSTALK, Layer.STATEFUL)
    def ends_its_own(self, history: IdHistory, change: LoggedChange) -> None:
        """A client's request adds to its own transaction, or ends it, and no other."""
        current, owner = history.current, change.owner
        if history.state != _ONGOING or current is None or owner is None or change.metadata is None:
            return
        message = f"{change.cause.name} of {owner} takes {current} to {change.metadata.state.name}"
        self.watch.expect(rules.TXN_NO_CROSSTALK, current.owner == owner, message)

    @evidences(rules.FENCE_EPOCH_EXHAUSTION, Layer.STATEFUL)
    def epochs_last(self, history: IdHistory, change: LoggedChange) -> None:
        """Epochs stay in their range; an instance that starts after the last one gets a new producer id."""
        before, after = history.known, change.metadata
        if after is None or before is None or before.epoch < LAST_OF_CLIENTS - 3:
            return
        message = f"{change.transactional_id} goes from epoch {before.epoch} to {after.epoch} by {change.cause.name}"
        same_id = after.producer_id == before.producer_id
        holds = 0 <= after.epoch <= (MAX_EPOCH if same_id else 0)
        if after.state == _EMPTY and before.epoch >= LAST_OF_CLIENTS:
            holds = holds and not same_id
        self.watch.expect(rules.FENCE_EPOCH_EXHAUSTION, holds, message)

    @evidences(rules.TXN_EXPIRY, Layer.STATEFUL)
    def expires(self, history: IdHistory, change: LoggedChange) -> None:
        """Only an id at rest is forgotten, and what comes after it has a new producer id."""
        if change.metadata is None:
            message = f"{change.transactional_id} is forgotten in {history.state}"
            self.watch.expect(rules.TXN_EXPIRY, history.state is None or history.state in AT_REST, message)
        elif history.buried:
            message = (
                f"{change.transactional_id} was forgotten, and has producer id {change.metadata.producer_id} again"
            )
            tried = None if history.ahead is None else history.ahead.metadata
            again = tried is not None and tried.producer_id == change.metadata.producer_id
            is_new = again or change.metadata.producer_id not in self.owner_of
            self.watch.expect(rules.TXN_EXPIRY, is_new, message)

    @evidences(rules.IDS_UNIQUE, Layer.STATEFUL)
    def unique(self, change: LoggedChange) -> None:
        """No producer id belongs to two transactional ids."""
        if change.metadata is not None:
            self.given(change.metadata.producer_id, change.transactional_id)

    def given(self, producer_id: int, name: str) -> None:
        """A producer id was given out."""
        owner = self.owner_of.setdefault(producer_id, name)
        message = f"producer id {producer_id} of {owner} is given to {name}"
        self.watch.expect(rules.IDS_UNIQUE, owner == name, message)

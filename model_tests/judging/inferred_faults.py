"""Faults that no single step shows: requests that outlived their transaction, batches that were renumbered."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from model_tests.judging.step_assumptions import Fault, claimed_in
from model_tests.traces.schema import Row
from spec.protocol.coordinator_steps import DECISIONS
from spec.rules import Rule
from spec.versions import Profile
from spec.vocabulary import ABSENT, Api, ErrorCode, TransactionState

BETWEEN_TRANSACTIONS: Final = frozenset((Api.INIT_PRODUCER_ID, "TransactionalIdExpiry", "CoordinatorLoad"))
BY_BROKERS: Final = frozenset(("VerifyPartitions", "TransactionTimeout", "MarkersSent", "MarkerAnswered"))
ASKED: Final = (Api.PRODUCE, *(api for api in DECISIONS if api not in BETWEEN_TRANSACTIONS | BY_BROKERS))
"""Requests of a client that belong to one of its transactions."""
REQUESTS: Final = frozenset((*ASKED, "VerifyPartitions"))
LOOKED_AT: Final = REQUESTS | {
    *("BrokerRestart", Api.WRITE_TXN_MARKERS, "ClientBeginTransaction"),
    *("ClientInitTransactionsAnswered", "ClientEndTransactionAnswered"),
}
"""Steps of other apis show them only by a state that was prepared (`PREPARED`)."""
HIDDEN: Final = Fault.OUTLIVED | Fault.RENUMBERED
READ: Final = frozenset(
    (
        *("step", "api", "error", "client", "transaction", "transactional_id", "producer_id", "producer_epoch"),
        *("message", "topic", "partition", "writer", "first_record"),
        *("before_txn_state", "after_txn_state", "after_txn_producer_id"),
    )
)
"""Columns of a step that are looked at here."""
PREPARED: Final = (TransactionState.PREPARE_COMMIT.value, TransactionState.PREPARE_ABORT.value)


class Happened(NamedTuple):
    """A fault of a trace: in which step, and at which partition if at one."""

    step: int
    fault: int
    topic: str
    partition: int


def may_excuse(rule: Rule, profile: Profile, faults: int) -> bool:
    """Whether the rule is claimed under a profile and these faults, and is not where a hidden one is beside them."""
    return claimed_in(rule, profile, faults) and not claimed_in(rule, profile, faults | HIDDEN)


def hidden_faults(rows: Iterable[Row]) -> Iterator[Happened]:
    """The hidden faults of a trace, each from the step on in which it has happened.

    Args:
        rows: the steps of the trace, in order.
    """
    transactions, writing, renumbered = _Transactions(), _IdentityTracking(), False
    for row in rows:
        if transactions.is_late(row):
            yield Happened(row["step"], Fault.OUTLIVED, "", ABSENT)
        writing.add(row)
        if writing.is_renumbered and not renumbered:
            renumbered = True
            yield Happened(row["step"], Fault.RENUMBERED, "", ABSENT)


class _IdentityTracking:
    """Under which identities batches were written, and whether brokers had cause to refuse what was in the log.

    They have after a restart, which leaves a window of one, where a copy of a request arrived after a later one, and
    where the first batch of a producer that they did not know arrived after a later one, which was refused for it: its
    client numbers both anew, the one that is in the log by then, too.
    """

    def __init__(self) -> None:
        self.restarted = self.copied = self.overtaken = self.renumbered = False
        self._identities: dict[tuple[object, ...], tuple[int, int]] = {}
        self._arrived: set[int] = set()
        self._unknown: dict[tuple[object, ...], int] = {}
        """By identity at a partition, the latest batch that was refused because its producer was unknown."""

    @property
    def is_renumbered(self) -> bool:
        """Whether a client wrote under another identity what may have been in the log."""
        return self.renumbered and (self.restarted or self.copied or self.overtaken)

    def add(self, row: Row) -> None:
        """The next step."""
        self.restarted |= row["api"] == "BrokerRestart"
        if row["api"] != Api.PRODUCE or not row["writer"]:
            return
        self.copied |= row["message"] in self._arrived
        self._arrived.add(row["message"])
        batch = row["topic"], row["partition"], row["writer"], row["first_record"]
        identity = row["producer_id"], row["producer_epoch"]
        self.renumbered |= self._identities.setdefault(batch, identity) != identity
        self._note_order((*batch[:3], *identity), row)

    def _note_order(self, producer: tuple[object, ...], row: Row) -> None:
        refused = self._unknown.get(producer, ABSENT)
        self.overtaken |= row["first_record"] < refused
        if row["error"] == ErrorCode.UNKNOWN_PRODUCER_ID:
            self._unknown[producer] = max(refused, row["first_record"])


class _Transactions:
    """What applications and coordinators have shown so far."""

    def __init__(self) -> None:
        self.begun: dict[str, int] = {}
        self.over: set[tuple[str, int]] = set()
        self.newest: dict[str, str] = {}
        self.awaited: set[int] = set()
        """Producer ids whose clients are in a transaction that no request has ended."""

    def is_late(self, row: Row) -> bool:
        """Whether the next step handles what outlived its transaction."""
        api, client, transaction, ok = row["api"], row["client"], row["transaction"], row["error"] == ErrorCode.NONE
        if api == "ClientBeginTransaction":
            self.begun[client] = transaction
            self.awaited.add(row["producer_id"])
        elif api == "ClientInitTransactionsAnswered" and ok:
            self.newest[row["transactional_id"]] = client
        elif api == "ClientEndTransactionAnswered" and ok:
            self.over.add((client, transaction))
        elif api == Api.WRITE_TXN_MARKERS:
            return row["producer_id"] in self.awaited
        late = api in REQUESTS and transaction >= 0 and self._is_over(row)
        self._note_state(row)
        return late

    def _is_over(self, row: Row) -> bool:
        client, transaction, name = row["client"], row["transaction"], row["transactional_id"]
        follows = self.begun.get(client, transaction) > transaction
        taken_over = client in self.begun and self.newest.get(name, client) != client
        return follows or taken_over or (client, transaction) in self.over

    def _note_state(self, row: Row) -> None:
        """A coordinator decides: then its markers are due."""
        if row["after_txn_state"] in PREPARED and row["before_txn_state"] not in PREPARED:
            self.awaited.discard(row["after_txn_producer_id"])
            current = self.newest.get(row["transactional_id"])
            if current is not None and row["client"] != current:
                self.over.add((current, self.begun.get(current, -1)))

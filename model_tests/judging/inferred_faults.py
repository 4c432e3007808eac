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
OF_TRANSACTIONS: Final = (Api.PRODUCE, *(api for api in DECISIONS if api not in BETWEEN_TRANSACTIONS | BY_BROKERS))
"""Requests of a client that belong to one of its transactions."""
REQUESTS: Final = frozenset((*OF_TRANSACTIONS, "VerifyPartitions"))
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
    """A fault of a trace: in which step, at which partition if at one, and whom it concerns.

    Attributes:
        producer_id: of the producer that it concerns, -1 if none is named.
        name: of the application or the transactional id, empty if none is named.
    """

    step: int
    fault: int
    topic: str
    partition: int
    producer_id: int = ABSENT
    name: str = ""


def may_excuse(rule: Rule, profile: Profile, faults: int) -> bool:
    """Whether the rule is claimed under a profile and these faults, and is not where a hidden one is beside them."""
    return claimed_in(rule, profile, faults) and not claimed_in(rule, profile, faults | HIDDEN)


def hidden_faults(rows: Iterable[Row]) -> Iterator[Happened]:
    """The hidden faults of a trace, each from the step on in which it has happened.

    Args:
        rows: the steps of the trace, in order.
    """
    transactions, writing = _Transactions(), _IdentityTracking()
    for row in rows:
        if transactions.is_late(row):
            yield Happened(
                row["step"], Fault.OUTLIVED, "", ABSENT, row["producer_id"], row["transactional_id"] or row["writer"]
            )
        writing.add(row)
        for writer in writing.newly_renumbered():
            yield Happened(row["step"], Fault.RENUMBERED, "", ABSENT, name=writer)


class _IdentityTracking:
    """Under which identities batches were written, and whether brokers had cause to refuse what was in the log.

    They have after a restart, which leaves a window of one, where a copy of a request arrived after a later one, and
    where the first batch of a producer that they did not know arrived after a later one, which was refused for it: its
    client numbers both anew, the one that is in the log by then, too.
    """

    def __init__(self) -> None:
        self.restarted = False
        self.renumbered = set[str]()
        """Writers that have written a batch under two identities; likewise those that follow."""
        self.copied = set[str]()
        self.overtaken = set[str]()
        self._answered = set[str]()
        self._identities: dict[tuple[object, ...], tuple[int, int]] = {}
        self._arrived: set[int] = set()
        self._unknown: dict[tuple[object, ...], int] = {}
        """By identity at a partition, the latest batch that was refused because its producer was unknown."""

    def newly_renumbered(self) -> list[str]:
        """The writers that, as of now, wrote under another identity what may have been in the log."""
        caused = self.renumbered if self.restarted else self.renumbered & (self.copied | self.overtaken)
        new = sorted(caused - self._answered)
        self._answered.update(new)
        return new

    def add(self, row: Row) -> None:
        """The next step."""
        self.restarted |= row["api"] == "BrokerRestart"
        writer = row["writer"]
        if row["api"] != Api.PRODUCE or not writer:
            return
        if row["message"] in self._arrived:
            self.copied.add(writer)
        self._arrived.add(row["message"])
        batch = row["topic"], row["partition"], writer, row["first_record"]
        identity = row["producer_id"], row["producer_epoch"]
        if self._identities.setdefault(batch, identity) != identity:
            self.renumbered.add(writer)
        self._note_order((*batch[:3], *identity), row)

    def _note_order(self, producer: tuple[object, ...], row: Row) -> None:
        refused = self._unknown.get(producer, ABSENT)
        if row["first_record"] < refused:
            self.overtaken.add(row["writer"])
        if row["error"] == ErrorCode.UNKNOWN_PRODUCER_ID:
            self._unknown[producer] = max(refused, row["first_record"])


class Families:
    """Whose identities and batches belong together: the instances of a transactional id, or an application alone."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """As the steps show them.

        Args:
            rows: the steps of the trace that are looked at for hidden faults.
        """
        self._name_of: dict[str, str] = {}
        self._of_producer: dict[int, set[str]] = {}
        for row in rows:
            self._add(row)

    def _add(self, row: Row) -> None:
        name, producer = row["transactional_id"], row["producer_id"]
        application = row["writer"] or (row["client"] if row["api"].startswith("Client") else "")
        if application and name:
            self._name_of[application] = name
        if producer >= 0 and (application or name):
            self._of_producer.setdefault(producer, set()).add(name or application)

    def of(self, name: str, producer_id: int) -> frozenset[str]:
        """The families of an application or transactional id, and of a producer id; none where they are not known."""
        found = {self._name_of.get(name, name)} if name else set()
        for each in self._of_producer.get(producer_id, ()):
            found.add(self._name_of.get(each, each))
        return frozenset(found)


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

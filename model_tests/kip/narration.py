"""The messages and notes of each action of transactions, from the states of a search.

The reference does not know a variant of the protocol, so nothing is recorded of its runs.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, takewhile
from types import MappingProxyType
from typing import Any, Final

from model_tests.diagrams.events import DrawnMessage, Event, Mark, Note
from spec.engines.verdict import Happening
from spec.systems.language import State
from spec.vocabulary import Api, TransactionState


@dataclass(frozen=True, slots=True)
class Moment:
    """One action of a counterexample: the state before it, what happens, the state after it."""

    before: State
    happening: Happening
    after: State

    @property
    def at(self) -> tuple[int, ...]:
        """The arguments of the action."""
        return self.happening.at


CLIENTS: Final = ("client 0", "client 1")
COORDINATOR: Final = "coordinator"
PARTITIONS: Final = ("partition 0", "partition 1")
OUTCOMES: Final = ("abort", "commit")
MARKERS: Final = ("ABORT", "COMMIT")

DURABLE: Final = 0
"""The fate of an append to the coordinator's log that is kept and answered."""


# --- the actions of transactions --------------------------------------------------------------------------------------


OPEN: Final = 1
"""A record's fate and the state of data as `spec.systems.transactions.world` numbers them."""


def state_of(moment: Moment) -> Note:
    """What the coordinator knows after the action."""
    memory = moment.after.memory()
    pending = f", {TransactionState(memory.pending).name} pending" if memory.pending >= 0 else ""
    return Note(COORDINATOR, f"{TransactionState(memory.state).name}, epoch {memory.producer_epoch}{pending}")


def _client(moment: Moment, transaction: int) -> str:
    return CLIENTS[moment.after.owner(transaction)]


def _epoch(moment: Moment, transaction: int) -> int:
    epoch: int = moment.after.identity(transaction).producer_epoch
    return epoch


def _lateness(moment: Moment, transaction: int, *, again: bool = False) -> Mark:
    """A request of a transaction that is over for its client is late; any other second copy is a repetition."""
    current = moment.before.current(moment.before.owner(transaction))
    over = moment.before.ended(transaction) or current > transaction
    if over:
        return Mark.LATE
    return Mark.AGAIN if again else Mark.PLAIN


def _fate(fate: int) -> Iterator[Event]:
    if fate != DURABLE:
        yield Note(COORDINATOR, "the append to its log fails" if fate == 1 else "the append is taken for failed")


def coordinator_initializes(moment: Moment) -> Iterator[Event]:
    """InitProducerId arrives, and is answered with an identity."""
    instance, fate = moment.at
    yield DrawnMessage(CLIENTS[instance], COORDINATOR, Api.INIT_PRODUCER_ID)
    yield from _fate(fate)
    if fate == DURABLE:
        yield DrawnMessage(COORDINATOR, CLIENTS[instance], f"epoch {moment.after.given(instance).producer_epoch}")


def coordinator_fences(moment: Moment) -> Iterator[Event]:
    """InitProducerId while a transaction is open."""
    yield DrawnMessage(CLIENTS[moment.at[0]], COORDINATOR, Api.INIT_PRODUCER_ID)
    yield state_of(moment)


def client_asks_for_bump(moment: Moment) -> Iterator[Event]:
    """InitProducerId that expects an identity is sent."""
    instance, transaction = moment.at
    expected = f"epoch {_epoch(moment, transaction)} expected"
    yield Note(CLIENTS[instance], f"in place of transaction {transaction}: sends InitProducerId, {expected}")


def coordinator_bumps(moment: Moment) -> Iterator[Event]:
    """InitProducerId arrives, and is given an identity."""
    transaction, fate = moment.at
    yield from _bump(moment, transaction)
    yield from _fate(fate)
    if fate == DURABLE:
        reported = moment.after.next_identity(transaction).producer_epoch
        yield DrawnMessage(COORDINATOR, _client(moment, transaction), f"epoch {reported}")


def bump_meets_open_transaction(moment: Moment) -> Iterator[Event]:
    """InitProducerId arrives while a transaction is open."""
    (transaction,) = moment.at
    yield from _bump(moment, transaction)
    yield Note(COORDINATOR, f"fences, and aborts transaction {moment.before.opened()}")
    yield DrawnMessage(COORDINATOR, _client(moment, transaction), "CONCURRENT_TRANSACTIONS", Mark.REFUSED)


def _bump(moment: Moment, transaction: int) -> Iterator[Event]:
    mark = Mark.LATE if moment.before.ended(transaction) else Mark.PLAIN
    text = f"InitProducerId, epoch {_epoch(moment, transaction)} expected"
    yield DrawnMessage(_client(moment, transaction), COORDINATOR, text, mark)


def client_adds_partition(moment: Moment) -> Iterator[Event]:
    """AddPartitionsToTxn is sent; when it arrives is another step."""
    instance, transaction, partition = moment.at
    yield Note(CLIENTS[instance], f"transaction {transaction}: sends AddPartitionsToTxn of {PARTITIONS[partition]}")


def client_sends_batch(moment: Moment) -> Iterator[Event]:
    """Produce is sent."""
    instance, transaction, partition, batch = moment.at
    sequence = moment.after.produced(transaction, partition, batch)
    numbers = f"epoch {_epoch(moment, transaction)}, sequence {sequence}"
    yield Note(CLIENTS[instance], f"transaction {transaction}: sends Produce to {PARTITIONS[partition]}, {numbers}")


def client_ends(moment: Moment) -> Iterator[Event]:
    """EndTxn is sent."""
    transaction, outcome = moment.at
    numbers = f"{OUTCOMES[outcome]}, epoch {_epoch(moment, transaction)}"
    yield Note(_client(moment, transaction), f"transaction {transaction}: sends EndTxn {numbers}")


def coordinator_adds(moment: Moment) -> Iterator[Event]:
    """AddPartitionsToTxn arrives."""
    transaction, partition, fate = moment.at
    again = moment.before.added(transaction, partition) > 1
    text = f"AddPartitionsToTxn of transaction {transaction}"
    yield DrawnMessage(_client(moment, transaction), COORDINATOR, text, _lateness(moment, transaction, again=again))
    yield from _fate(fate)
    yield state_of(moment)


def coordinator_verifies(moment: Moment) -> Iterator[Event]:
    """The coordinator answers a leader."""
    transaction, partition, batch, fate = moment.at
    confirmed = moment.after.phase(transaction, partition, batch) > moment.before.phase(transaction, partition, batch)
    answer = "in the transaction" if confirmed else "not in the transaction"
    yield from _fate(fate)
    yield DrawnMessage(
        COORDINATOR,
        PARTITIONS[partition],
        f"{answer}, for the batch of transaction {transaction}",
        Mark.PLAIN if confirmed else Mark.REFUSED,
    )
    yield state_of(moment)


def coordinator_ends(moment: Moment) -> Iterator[Event]:
    """EndTxn arrives."""
    transaction, fate = moment.at
    outcome = OUTCOMES[moment.before.end_sent(transaction)]
    text = f"EndTxn {outcome} of transaction {transaction}, epoch {_epoch(moment, transaction)}"
    mark = Mark.LATE if moment.before.ended(transaction) else Mark.PLAIN
    yield DrawnMessage(_client(moment, transaction), COORDINATOR, text, mark)
    yield from _fate(fate)
    yield state_of(moment)
    if fate == DURABLE:
        yield DrawnMessage(COORDINATOR, _client(moment, transaction), f"NONE for transaction {transaction}")


def times_out(_: Moment) -> Iterator[Event]:
    """Time passes."""
    yield Note(COORDINATOR, "the open transaction is past its timeout")


def coordinator_aborts(moment: Moment) -> Iterator[Event]:
    """The coordinator's own abort."""
    yield from _fate(moment.at[0])
    yield state_of(moment)


def coordinator_completes(moment: Moment) -> Iterator[Event]:
    """All markers are answered."""
    yield state_of(moment)


def coordinator_fails_over(moment: Moment) -> Iterator[Event]:
    """Another coordinator reads the log."""
    yield Note(COORDINATOR, f"another node takes over, coordinator epoch {moment.after.coordinator_epoch()}")
    yield state_of(moment)


def late_completion_arrives(_: Moment) -> Iterator[Event]:
    """An operation of the former coordinator is completed."""
    yield Note(COORDINATOR, "the former coordinator's operation is completed, and takes the newer one away")


def leader_receives(moment: Moment) -> Iterator[Event]:
    """Produce arrives."""
    transaction, partition, batch = moment.at
    text = f"Produce of transaction {transaction}, epoch {_epoch(moment, transaction)}"
    again = bool(moment.before.data(transaction, partition, batch))
    yield DrawnMessage(
        _client(moment, transaction), PARTITIONS[partition], text, _lateness(moment, transaction, again=again)
    )
    if moment.after.guarded(transaction, partition, batch):
        yield DrawnMessage(PARTITIONS[partition], COORDINATOR, "is the partition in the transaction?")


def leader_appends(moment: Moment) -> Iterator[Event]:
    """The batch is appended, recognised, or refused."""
    transaction, partition, batch = moment.at
    before, after = moment.before.data(transaction, partition, batch), moment.after.data(transaction, partition, batch)
    name = f"the batch of transaction {transaction}"
    if after != before:
        yield Note(PARTITIONS[partition], f"appends {name}: a transaction is open")
    elif moment.after.acknowledged(transaction, partition, batch):
        yield Note(PARTITIONS[partition], f"recognises {name}")
    else:
        yield DrawnMessage(PARTITIONS[partition], _client(moment, transaction), name, Mark.REFUSED)


def leader_writes_marker(moment: Moment) -> Iterator[Event]:
    """A marker arrives."""
    decision, coordinator, partition = moment.at
    marker: Any = moment.before.marker(decision)
    marked = moment.before.marked(decision, partition) >= 0
    over = moment.before.decision() != decision
    mark = Mark.LATE if marked and over else Mark.AGAIN if marked else Mark.PLAIN
    kind = MARKERS[moment.before.outcome(decision)]
    opened = moment.before.opened_by(decision)
    text = f"marker {kind} of transaction {opened}, epoch {marker.producer_epoch}, coordinator {coordinator}"
    yield DrawnMessage(COORDINATOR, PARTITIONS[partition], text, mark)
    decided = [f"of transaction {transaction}" for transaction in _decided_here(moment, partition)]
    yield Note(PARTITIONS[partition], f"the marker decides the batch {' and '.join(decided)}" if decided else "written")


def _decided_here(moment: Moment, partition: int) -> list[int]:
    """Transactions of which a batch was open before, and is decided."""
    begun = takewhile(lambda transaction: moment.before.owner(transaction) >= 0, count())
    return [t for t in begun if moment.before.data(t, partition, 0) == OPEN < moment.after.data(t, partition, 0)]


def leader_fails_over(moment: Moment) -> Iterator[Event]:
    """Another leader."""
    yield Note(PARTITIONS[moment.at[0]], "another leader takes over; what was being verified is forgotten")


def leader_forgets(moment: Moment) -> Iterator[Event]:
    """Producer state expires."""
    yield Note(PARTITIONS[moment.at[1]], "forgets the producer")


PARTICIPANTS: Final = (*CLIENTS, COORDINATOR, *PARTITIONS)
"""All that may appear, from left to right."""

NARRATED: Final[Mapping[str, Callable[[Moment], Iterator[Event]]]] = MappingProxyType(
    {
        "coordinator_initializes": coordinator_initializes,
        "coordinator_fences": coordinator_fences,
        "client_asks_for_bump": client_asks_for_bump,
        "coordinator_bumps": coordinator_bumps,
        "bump_meets_open_transaction": bump_meets_open_transaction,
        "client_adds_partition": client_adds_partition,
        "client_sends_batch": client_sends_batch,
        "client_ends": client_ends,
        "coordinator_adds": coordinator_adds,
        "coordinator_verifies": coordinator_verifies,
        "coordinator_ends": coordinator_ends,
        "transaction_times_out": times_out,
        "coordinator_aborts": coordinator_aborts,
        "coordinator_completes": coordinator_completes,
        "coordinator_fails_over": coordinator_fails_over,
        "late_completion_arrives": late_completion_arrives,
        "leader_receives": leader_receives,
        "leader_appends": leader_appends,
        "leader_writes_marker": leader_writes_marker,
        "leader_fails_over": leader_fails_over,
        "leader_forgets": leader_forgets,
    }
)
"""The events of each action."""

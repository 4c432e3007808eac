"""The runs of a search as rows of the trace schema; the reference does not know a variant, so its states are read.

The system has no times, no versions of requests and no offsets: every batch is at offset 0. So rows have none either.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, product
from typing import Any, Final

from model_tests.monitor.drawing import Captions
from model_tests.traces.schema import OF_ID, Row
from reference.recording.recorder import FATE, Fate, Recorder
from reference.world.coordinator_rows import VERIFY_PARTITIONS
from spec.engines.verdict import Trace
from spec.protocol import completing, ending, verification
from spec.protocol.coordinator import Transition, is_fencing
from spec.protocol.ending import IdAndEpoch
from spec.protocol.records import AppendReply, AppendRequest, flatten
from spec.systems.language import State
from spec.systems.transactions.known import TransactionLemmaView
from spec.systems.transactions.variant import VariantView
from spec.systems.transactions.world import COMMIT, CONFIRMED, DURABLE, LOST, NO_IDENTITY, OPEN, SENT
from spec.vocabulary import ABSENT, Api, ErrorCode, Timestamp

COORDINATOR: Final = "coordinator"
ELSEWHERE: Final = "elsewhere"
"""The participant of an action that has no rows of its own."""

NONE: Final = ErrorCode.NONE.value
INIT, ADD, PRODUCE, END = Api.INIT_PRODUCER_ID, Api.ADD_PARTITIONS_TO_TXN, Api.PRODUCE, Api.END_TXN


def captions(view: VariantView) -> Captions:
    """The participants of an instance from left to right, and what a drawing calls transactions."""
    bounds = view.knobs.bounds
    clients, leaders = map("client {}".format, range(bounds.instances)), map(_leader, range(bounds.partitions))
    return Captions(order=(*clients, COORDINATOR, *leaders, ELSEWHERE), transaction=_transaction)


def recorded(
    name: str, view: VariantView, trace: Trace, states: Sequence[State], changed: Callable[[int], str]
) -> Sequence[Row]:
    """The rows of a run; those of an action have its number in the run as their step.

    Args:
        name: of the system.
        view: its words.
        trace: the actions of the run.
        states: before each action, and after the last one.
        changed: what the action of a step changes, in words; said of one that has no rows of its own.
    """
    # In an instance, where numbers are small, a release decides otherwise: no judge may take these rows for its.
    recorder = Recorder(0, replace(view.knobs.profile, name=f"{name}, bounded"))
    sendings: dict[tuple[Any, ...], int] = defaultdict(count().__next__)
    for step, happening in enumerate(trace):
        moment, rows = Moment(view(states[step]), view(states[step + 1]), sendings), RECORDED.get(happening.action)
        for row in rows(moment, *happening.at) if rows else [_remark(ELSEWHERE, changed(step))]:
            known = {} if FATE in row else moment.known(row)
            recorder.add(row["api"], Timestamp(0), {**row, **known, "step": step})
    return recorder.rows


@dataclass(frozen=True, slots=True)
class Moment:
    """One action while it is recorded.

    Attributes:
        before: the state before it.
        after: the state after it.
        sendings: the number of every sending; all copies of one have the same.
    """

    before: TransactionLemmaView
    after: TransactionLemmaView
    sendings: dict[tuple[Any, ...], int]

    def sent(self, api: str, *sending: int) -> Row:
        """A request to the coordinator."""
        number = self.sendings[api, *sending]
        return {"api": api, "node": COORDINATOR, "transactional_id": "payments", "message": number}

    def init(self, instance: int) -> Row:
        """InitProducerId that expects no identity: each time another one."""
        return {**self.sent(INIT, ABSENT, len(self.sendings)), "client": f"client {instance}"}

    def request(self, api: str, txn: int, *at: int) -> Row:
        """A request of a client's transaction, about the partition that `at` begins with."""
        view, whose = self.after, _identity("expected_" if api == INIT else "", self.after.who(txn))
        row = {**self.sent(api, txn, *at), "client": f"client {view.owner(txn)}", "transaction": txn, **whose}
        if at:
            row |= {"topic": "orders", "partition": at[0]}
        if api == END:
            row["committed"] = view.end_sent(txn) == COMMIT
        if api == PRODUCE:
            row |= {"node": _leader(at[0]), **_appended(view.batch(txn, *at))}
        return row

    def question(self, *at: int, anew: bool = False) -> Row:
        """A leader's about a batch, the last one or another; under version 2 it adds the partition."""
        api = ADD if self.after.knobs.bumps else VERIFY_PARTITIONS
        if anew:
            self.sendings.pop((api, *at), None)
        return {**self.request(api, *at), "client": _leader(at[1])}

    # --- steps of several rows ----------------------------------------------------------------------------------------

    def ends(self, txn: int) -> Iterator[Row]:
        """EndTxn is sent; what is not answered yet is given up."""
        view, bounds = self.after, self.after.knobs.bounds
        yield _with(Fate.SENT, self.request(END, txn))
        for partition in range(bounds.partitions):
            if view.added(txn, partition) == SENT:
                yield _with(Fate.GIVEN_UP, self.request(ADD, txn, partition))
        for at in product([txn], filter(view.is_of_data, range(bounds.partitions)), range(bounds.batches)):
            if view.produced(*at) >= 0 and not view.acknowledged(*at):
                yield _with(Fate.GIVEN_UP, self.request(PRODUCE, *at))

    def decided(self, row: Row, of: Transition, fate: int = DURABLE) -> Iterator[Row]:
        """The coordinator decides on a request, and answers it; its record has this fate."""
        failed = of.appends and fate != DURABLE and self.before.knobs.waits_for_log
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE.value if failed else of.error
        answer = _identity("reply_", self.handed_out(row, of)) if error == NONE else {}
        decided = {**row, "error": error, **answer}
        yield decided
        if fate != DURABLE:
            yield _remark(COORDINATOR, f"the append to its log {'fails' if fate == LOST else 'is taken for failed'}")
        if is_fencing(self.after.remembers()) and not is_fencing(self.before.remembers()):
            yield _remark(COORDINATOR, f"fences, and aborts transaction {self.before.opened()}")
        yield from _answered(decided)

    def handed_out(self, row: Row, of: Transition) -> IdAndEpoch:
        """The identity in the answer."""
        if row["api"] == INIT:
            return IdAndEpoch(of.target.producer_id, of.target.producer_epoch)
        if row["api"] == END and row["client"] != COORDINATOR:
            return ending.answered(of, self.before.end_request(row["transaction"]), self.before.knobs.profile)
        return NO_IDENTITY

    def verified(self, *batch_and_fate: int) -> Iterator[Row]:
        """A leader is answered; a variant may answer otherwise than is decided."""
        txn, partition, batch, fate = batch_and_fate
        of, confirmed = self.before.added_to(txn, partition), self.after.phase(txn, partition, batch) == CONFIRMED
        if not self.before.knobs.bumps:
            of = replace(of, appends=False, error=self.before.verified(txn, partition))
        answered = replace(of, error=NONE if confirmed else of.error or ABSENT)
        return self.decided(self.question(txn, partition, batch), answered, fate)

    def received(self, *at: int) -> Iterator[Row]:
        """Produce arrives; the question about it is sent."""
        yield _with(Fate.ARRIVED, self.request(PRODUCE, *at))
        if self.after.guarded(*at):
            yield _with(Fate.SENT, self.question(*at, anew=True))

    def appended(self, txn: int, partition: int, batch: int) -> Iterator[Row]:
        """The batch is appended, recognised, or refused; a variant may refuse what is decided to be let in."""
        view, at = self.before, (txn, partition, batch)
        guarded = view.guarded(*at) and view.phase(*at) == CONFIRMED
        reply = view.appended(txn, partition, batch, view.batch(*at)).reply
        if reply.error == NONE and not self.after.acknowledged(*at):
            reply = replace(reply, error=ABSENT, appended=False, duplicate=False)
        return self.replied({**self.request(PRODUCE, *at), "verification_guarded": guarded}, reply)

    def marked(self, decision: int, coordinator: int, partition: int) -> Iterator[Row]:
        """A marker is written, and decides what is open."""
        view, bounds = self.before, self.before.knobs.bounds
        marker = _appended(completing.to_append(view.sent_marker(decision, coordinator), 0))
        of = {"transaction": view.opened_by(decision), "control_type": int(view.commits(decision)), **_at(partition)}
        sent = self.sent(Api.WRITE_TXN_MARKERS, decision, coordinator, partition)
        reply = view.marker_appended(decision, coordinator, partition).reply
        batches = list(product(range(bounds.transactions), [partition], range(bounds.batches)))
        decided = {str(at[0]): None for at in batches if view.data(*at) == OPEN < self.after.data(*at)}
        remark = _remark(_leader(partition), f"the marker decides transaction {' and '.join(decided)}")
        row = {**sent, "client": COORDINATOR, **of, **marker}
        return self.replied(row, reply, [remark] * bool(decided))

    def replied(self, row: Row, reply: AppendReply, remarks: Iterable[Row] = ()) -> Iterator[Row]:
        """The leader appends with what it verifies, and answers."""
        met = verification.met(self.before.query(row["producer_id"], row["partition"]), guarded=False)
        replied = {"error": reply.error, "duplicate": reply.duplicate, "appended": reply.appended}
        whole = {**dict(flatten(met)), **row, **replied}
        return iter((whole, *remarks, *_answered(whole)))

    def by_itself(self, api: str, **columns: Any) -> Row:
        """What nobody asks the coordinator for."""
        of = {"client": COORDINATOR, "message": ABSENT, "error": NONE, "transaction": self.before.opened()}
        return {**self.sent(api), **of, **columns}

    def known(self, row: Row) -> Row:
        """What the node of a row knows before and after the action: of the id, or of the producer on its partition."""
        views = {"before_": self.before, "after_": self.after}
        return {f"{at}{name}": value for at, view in views.items() for name, value in _known(view, row).items()}


RECORDED: Final[Mapping[str, Callable[..., Iterable[Row]]]] = {
    "client_asks_for_bump": lambda this, _, txn: [_with(Fate.SENT, this.request(INIT, txn))],
    "client_adds_partition": lambda this, _, *at: [_with(Fate.SENT, this.request(ADD, *at))],
    "client_sends_batch": lambda this, _, *at: [_with(Fate.SENT, this.request(PRODUCE, *at))],
    "client_ends": lambda this, txn, _: this.ends(txn),
    "coordinator_initializes": lambda this, who, fate: this.decided(this.init(who), this.before.initialized(), fate),
    "coordinator_fences": lambda this, who: this.decided(this.init(who), this.before.initialized()),
    "coordinator_bumps": lambda this, txn, fate: this.decided(this.request(INIT, txn), this.before.bumped(txn), fate),
    "bump_meets_open_transaction": lambda this, txn: this.decided(this.request(INIT, txn), this.before.bumped(txn)),
    "coordinator_adds": lambda this, *at: this.decided(
        this.request(ADD, *at[:2]), this.before.added_to(*at[:2]), at[2]
    ),
    "coordinator_verifies": Moment.verified,
    "coordinator_ends": lambda this, txn, fate: this.decided(
        this.request(END, txn), this.before.end_decided(txn), fate
    ),
    "transaction_times_out": lambda this: [this.by_itself("TransactionTimeout")],
    "coordinator_aborts": lambda this, fate: this.decided(
        this.by_itself(END), this.before.own_abort(this.before.remembers()), fate
    ),
    "coordinator_completes": lambda this: [this.by_itself("MarkersSent")],
    "coordinator_fails_over": lambda this: [
        this.by_itself("CoordinatorLoad", transaction=ABSENT, coordinator_epoch=this.after.coordinator_epoch())
    ],
    "late_completion_arrives": lambda *_: [
        _remark(COORDINATOR, "the former coordinator's operation is completed, and takes the newer one away")
    ],
    "leader_receives": Moment.received,
    "leader_appends": Moment.appended,
    "leader_writes_marker": Moment.marked,
    "leader_fails_over": lambda _, p: [
        {"api": "LeaderFailover", **_at(p)},
        _remark(_leader(p), "what was being verified is forgotten"),
    ],
    "leader_forgets": lambda _, who, p: [{"api": "ProducerStateExpiry", **_at(p), "producer_id": who}],
}
"""The rows of each action; of any other it is said what it changes."""


def _leader(partition: int) -> str:
    return f"partition {partition}"


def _at(partition: int) -> Row:
    return {"node": _leader(partition), "topic": "orders", "partition": partition}


def _known(view: TransactionLemmaView, row: Row) -> Row:
    if row["node"] != COORDINATOR:
        return dict(flatten(view.entry(row["producer_id"], row["partition"]))) if "producer_id" in row else {}
    registered = [each for each in range(view.knobs.bounds.partitions) if view.registered(each) >= 0]
    of = {"txn_partitions": len(registered), "partition_registered": row.get("partition") in registered}
    known = {name: getattr(view.remembers(), scalar) for scalar, name in OF_ID.items()}
    return {**of, **{name: value for name, value in known.items() if not name.endswith("_ms")}}


def _identity(prefix: str, identity: IdAndEpoch) -> Row:
    return {f"{prefix}producer_id": identity.producer_id, f"{prefix or 'producer_'}epoch": identity.producer_epoch}


def _appended(request: AppendRequest) -> Row:
    return {name: value for name, value in flatten(request) if name != "base_offset"}


def _with(fate: Fate, row: Row) -> Row:
    return {**row, FATE: fate.value}


def _remark(at: str, text: str) -> Row:
    return _with(Fate.REMARK, {"api": text, "node": at})


def _answered(row: Row) -> Iterable[Row]:
    """The answer to who has asked; a refusal by a variant's own change has no error."""
    fate = Fate.REFUSED if row["error"] == ABSENT else Fate.ANSWERED
    return [_with(fate, row)] * (row["client"] != row["node"])


def _transaction(row: Row) -> str:
    belongs = "in place of" if row["api"] == INIT else "of"
    return f"{belongs} transaction {row['transaction']}" if row["transaction"] >= 0 else ""

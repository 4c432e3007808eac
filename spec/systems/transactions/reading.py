"""The theorem: what a client was answered is committed is read exactly once, in order, by each read_committed reader.

With it stands what the transactions take for granted of their partitions: each step on one is a durable append, and
nothing that is in its log is lost. The system of one partition shows that of what its replicas keep (`durable`).

A lemma is about the arguments of the action, then about a reader, a partition, two transactions each with a batch, and
a producer id.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

from spec import rules
from spec.algebra import Term, all_of, any_of, implies, negate
from spec.judging.judge import entries_agree
from spec.protocol import append as appending
from spec.protocol import completing, lso
from spec.protocol.append import Append
from spec.protocol.records import AppendRequest, MetVerification, ProducerEntry
from spec.rules import Rule
from spec.systems.language import Action, Claim, Sort, State, StepLemma, System
from spec.systems.links import is_durable_append
from spec.systems.transactions.claims import has_passed
from spec.systems.transactions.decisions import decisions
from spec.systems.transactions.known import TransactionLemmaView
from spec.systems.transactions.proof import UNBOUNDED, proved
from spec.systems.transactions.readers import ReaderActions
from spec.systems.transactions.world import (
    BATCH,
    COMMIT,
    DECIDED,
    OPEN,
    PARTITION,
    PRODUCER,
    READ_COMMITTED,
    READER,
    TRANSACTION,
    TransactionKnobs,
)

CONFIRMED: Final = MetVerification(verification_guarded=True)
"""As the system of one partition appends: whatever is let in without consent is let in with it."""

READS: Final = "reader_fetches"

Given: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]

_ABOUT: Final = (READER, PARTITION, TRANSACTION, BATCH, TRANSACTION, BATCH, PRODUCER)
_READER, _PARTITION, _TXN, _BATCH, _LATER, _NEXT, _PRODUCER = range(len(_ABOUT))


def is_before(view: TransactionLemmaView, txn: Term, batch: Term, later: Term, following: Term) -> Term:
    """One batch of a producer id comes before another: by the epoch, or in one transaction by its number.

    Args:
        view: the state of the system, and what is asked of it.
        txn: a client's transaction, by its number.
        batch: its number among those of the transaction to the partition, from 0.
        later: another transaction, or the same.
        following: a batch of that one.
    """
    one, other = view.who(txn), view.who(later)
    of_one = all_of(view.owner(txn) >= 0, view.owner(later) >= 0, one.producer_id == other.producer_id)
    within = all_of(txn == later, batch < following)
    return all_of(of_one, any_of(one.producer_epoch < other.producer_epoch, within))


def log_is_in_order(
    view: TransactionLemmaView, partition: Term, txn: Term, batch: Term, later: Term, following: Term
) -> Term:
    """Batches of a producer id are in the log of a partition in the order in which the client sent them.

    Args:
        view: the state of the system, and what is asked of it.
        partition: which one.
        txn: a client's transaction, by its number.
        batch: its number among those of the transaction to the partition, from 0.
        later: a transaction that is not before it.
        following: a batch of that one.
    """
    there = all_of(view.data(txn, partition, batch) >= OPEN, view.data(later, partition, following) >= OPEN)
    both = all_of(there, view.is_of_data(partition), is_before(view, txn, batch, later, following))
    return implies(both, view.offset(txn, partition, batch) < view.offset(later, partition, following))


def received_is_behind(view: TransactionLemmaView, reader: Term, partition: Term, txn: Term, batch: Term) -> Term:
    """What a reader of committed data was given is behind it."""
    given = all_of(reader == READ_COMMITTED, view.received(reader, txn, partition, batch), view.is_of_data(partition))
    return implies(given, view.offset(txn, partition, batch) < view.position(reader, partition))


def committed_is_read_once_in_order(
    view: TransactionLemmaView, reader: Term, partition: Term, txn: Term, batch: Term, later: Term, following: Term
) -> Term:
    """A batch that was acknowledged, of a transaction whose commit was, is in the log once, and read once, in order.

    Args:
        view: the state of the system, and what is asked of it.
        reader: which one.
        partition: which one.
        txn: a client's transaction, by its number.
        batch: its number among those of the transaction to the partition, from 0.
        later: a transaction of the same producer id that is not before it.
        following: a batch of that one.
    """
    answered = all_of(view.ended(txn), view.end_sent(txn) == COMMIT, view.acknowledged(txn, partition, batch))
    received = view.received(reader, txn, partition, batch)
    passed = has_passed(view, reader, txn, partition, batch)
    of_next = all_of(reader == READ_COMMITTED, view.received(reader, later, partition, following))
    before = all_of(of_next, is_before(view, txn, batch, later, following))
    read_in_order = all_of(
        view.copies(txn, partition, batch) == 1,
        implies(passed, received),
        implies(before, all_of(passed, received)),
    )
    return implies(all_of(answered, view.is_of_data(partition)), read_in_order)


class Reading:
    """The lemmas beneath the theorem.

    Args:
        knobs: of the system.
        system: the transactions with these knobs, and maybe with a defect.
    """

    def __init__(self, knobs: TransactionKnobs, system: System) -> None:
        self._knobs = knobs
        self._system = system
        self.of = partial(TransactionLemmaView, knobs, decisions(knobs))
        self._readers = ReaderActions(knobs, decisions(knobs))

    def lemmas(self) -> tuple[Claim, ...]:
        """What the theorem needs besides the lemmas of the transactions; its steps keep them."""
        return (
            self._claim(log_is_in_order, rules.SEQ_ORDER, PARTITION, TRANSACTION, BATCH, TRANSACTION, BATCH),
            self._claim(received_is_behind, rules.LSO_READ_COMMITTED, READER, PARTITION, TRANSACTION, BATCH),
        )

    def theorems(self) -> tuple[Claim, ...]:
        """The theorem."""
        message = (PARTITION, TRANSACTION, BATCH)
        return (
            self._claim(committed_is_read_once_in_order, rules.SEQ_EXACTLY_ONCE, *_ABOUT[:_PRODUCER]),
            self._claim(self.below_stable_is_decided, rules.LSO_DECIDED_BELOW, *message),
        )

    def below_stable_is_decided(self, view: TransactionLemmaView, partition: Term, txn: Term, batch: Term) -> Term:
        """What is below the bound of a reader of committed data is decided.

        Args:
            view: the state of the system, and what is asked of it.
            partition: which one.
            txn: a client's transaction, by its number.
            batch: its number among those of the transaction to the partition, from 0.
        """
        bound = self._readers.bound(view, READ_COMMITTED, partition)
        where, offset = view.data(txn, partition, batch), view.offset(txn, partition, batch)
        return implies(where >= OPEN, lso.is_decided_below(offset, bound, where >= DECIDED))

    def steps(self) -> tuple[StepLemma, ...]:
        """Every lemma, under every action that it speaks of."""
        return tuple(self._steps())

    def _steps(self) -> Iterator[StepLemma]:
        for action in self._system.actions:
            yield from self._kept(action)
            yield self._durable(action)
            yield self._nothing_lost(action)
        yield self._given_once(self._system.action(READS))

    def _kept(self, action: Action) -> Iterator[StepLemma]:
        here = len(action.over)
        in_order = tuple(here + place for place in (_PARTITION, _TXN, _BATCH, _LATER, _NEXT))
        one, other = (here + _TXN, here + _PARTITION, here + _BATCH), (here + _LATER, here + _PARTITION, here + _NEXT)
        behind = tuple(here + place for place in (_READER, _PARTITION, _TXN, _BATCH))
        of_logs: Given = tuple(
            (name, at)
            for at in (one, other)
            for name in ("sent_is_of_a_transaction", "log_is_numbered", "log_has_the_sequences", "sequence_is_of_batch")
        )
        begun: Given = tuple(("transaction_has_identity", at[:1]) for at in (one, other))
        of_readers: Given = (
            begun[0],
            ("received_was_committed", (here + _READER, *one)),
            ("decided_is_stale", one),
            ("sent_is_of_a_transaction", one),
        )
        for lemma, at, given in zip(self.lemmas(), (in_order, behind), ((*begun, *of_logs), of_readers), strict=True):

            def holds(_: State, after: State, *args: Term, lemma: Claim = lemma, at: tuple[int, ...] = at) -> Term:
                return lemma.holds(after, *(args[place] for place in at))

            yield self._lemma(lemma.name, lemma.rule, lemma.sentence, action, ((lemma.name, at), *given), holds)

    def _given_once(self, action: Action) -> StepLemma:
        def holds(before: State, _: State, *at: Term) -> Term:
            view, (reader, txn, partition, batch) = self.of(before), at[:4]
            first = negate(view.received(reader, txn, partition, batch))
            return implies(all_of(reader == READ_COMMITTED, view.is_of_data(partition)), first)

        statement = "No reader of committed data is given a batch a second time."
        given: Given = (("received_is_behind", (0, 2, 1, 3)),)
        return self._lemma("given_once", rules.LSO_READ_COMMITTED, statement, action, given, holds)

    def _durable(self, action: Action) -> StepLemma:
        here = len(action.over)

        def holds(before: State, after: State, *at: Term) -> Term:
            producer, partition = at[here + _PRODUCER], at[here + _PARTITION]
            known, knows = before.entry(producer, partition), after.entry(producer, partition)
            return any_of(entries_agree(known, knows), self._appends(before, action, producer, partition, at, knows))

        statement = "What a partition knows of producers changes by durable appends alone."
        return self._lemma("partition_steps_are_durable", rules.SEQ_EXACTLY_ONCE, statement, action, (), holds)

    def _appends(
        self, before: State, action: Action, producer: Term, partition: Term, at: tuple[Term, ...], knows: ProducerEntry
    ) -> Term:
        """The action has appended a batch of this producer to this partition."""
        view = self.of(before)
        request: AppendRequest
        match action.name:
            case "leader_appends":
                here, request = at[1], view.batch(*at[:3])
            case "group_appends_commit":
                here, request = at[1], view.offset_batch(at[0])
            case "leader_writes_marker":
                here, request = at[2], completing.to_append(view.sent_marker(at[0], at[1]), 0)
            case _:
                return False
        mine = all_of(here == partition, request.producer_id == producer)
        return all_of(mine, is_durable_append(before.entry(producer, partition), request, knows, self._decide))

    def _decide(self, entry: ProducerEntry, request: AppendRequest) -> Append:
        return appending.append(entry, request, self._knobs.profile, CONFIRMED)

    def _nothing_lost(self, action: Action) -> StepLemma:
        here = len(action.over)

        def holds(before: State, after: State, *at: Term) -> Term:
            message = (at[here + _TXN], at[here + _PARTITION], at[here + _BATCH])
            stays = implies(before.data(*message) >= OPEN, after.data(*message) >= OPEN)
            return all_of(stays, before.log_end(message[1]) <= after.log_end(message[1]))

        given: Given = (("decisions_are_numbered", (0,)),) if action.name == "leader_writes_marker" else ()
        statement = "What is in the log of a partition stays there."
        return self._lemma("nothing_in_the_log_is_lost", rules.SEQ_EXACTLY_ONCE, statement, action, given, holds)

    def _claim(self, sentence: Callable[..., Term], rule: Rule, *over: Sort) -> Claim:
        statement = str(sentence.__doc__).partition("\n")[0]
        return Claim(sentence.__name__, rule, statement, over, lambda state, *at: sentence(self.of(state), *at))

    def _lemma(
        self, name: str, rule: Rule, sentence: str, action: Action, given: Given, holds: Callable[..., Term]
    ) -> StepLemma:
        return StepLemma(name, rule, sentence, action, _ABOUT, given, holds)


def reading(knobs: TransactionKnobs = UNBOUNDED, changed: System | None = None) -> System:
    """The system whose theorem is that what is committed is read exactly once, in order.

    Args:
        knobs: what is in it; by default the true system, without bounds.
        changed: the transactions with these knobs, where they have a defect.
    """
    system = changed or proved(knobs)
    of = Reading(knobs, system)
    return replace(
        system,
        name="reading",
        actions=(),
        theorems=of.theorems(),
        lemmas=of.lemmas(),
        goals=(),
        steps=of.steps(),
        taken=system.lemmas,
        taken_from=system.name,
    )

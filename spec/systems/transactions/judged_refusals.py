"""What the coordinators of the system of transactions leave out, put to the judge: it changes nothing.

A request that no action of the system takes is refused, or finds that there is nothing to do. Of each the judge expects
the memory that was there before: a recorded step that changes memory is a step of the system.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from spec import rules
from spec.algebra import Term, any_of, negate
from spec.protocol import completing, ending, registering
from spec.protocol.coordinator import is_unwritable
from spec.protocol.coordinator_steps import StepInput
from spec.rules import Rule
from spec.systems.language import Action, Sort, State, StepLemma, given
from spec.systems.transactions.coordinators import Coordinators
from spec.systems.transactions.decisions import ReleaseDecisions
from spec.systems.transactions.judged_base import Sentence, judged
from spec.systems.transactions.judged_memory import NO_INPUT, NOW, TIMEOUT, VERSION, JudgedMemory
from spec.systems.transactions.world import (
    BATCH,
    COMMIT,
    DURABLE,
    INSTANCE,
    NOT_SENT,
    PARTITION,
    TRANSACTION,
    VERIFYING,
    TransactionKnobs,
)
from spec.vocabulary import Api

Guard: TypeAlias = Iterator[Term]

_LEGAL: Final = rules.TXN_LEGAL_TRANSITION


class JudgedRefusals(JudgedMemory):
    """A lemma for each request of the coordinators: that it is on the network, and that no action takes it."""

    def __init__(self, knobs: TransactionKnobs, taken: ReleaseDecisions) -> None:
        self._coordinators = Coordinators(knobs, taken)
        super().__init__(knobs, taken, self._coordinators.all())

    def all(self) -> tuple[StepLemma, ...]:
        """The lemmas of the requests whose actions the knobs leave in the system."""
        inputs, message = (NOW, TIMEOUT, VERSION), (TRANSACTION, PARTITION, BATCH)
        starts = ("coordinator_initializes", "coordinator_fences")
        bumps = ("coordinator_bumps", "bump_meets_open_transaction")
        lemmas = (
            self._otherwise(self.start_refused, rules.IDS_IDENTITY_NEVER_REPEATS, starts, (INSTANCE,), inputs),
            self._otherwise(self.bump_refused, rules.FENCE_STALE_EPOCH, bumps, (TRANSACTION,), inputs),
            self._otherwise(self.too_young, rules.TXN_TIMEOUT, (), (), (NOW,)),
            self._otherwise(self.add_refused, _LEGAL, ("coordinator_adds",), message[:2], (NOW, VERSION)),
            self._otherwise(self.verifying_refused, _LEGAL, ("coordinator_verifies",), message, (NOW, VERSION)),
            self._otherwise(
                self.end_refused, rules.TXN_ONE_OUTCOME, ("coordinator_ends",), (TRANSACTION,), inputs[::2]
            ),
        )
        return tuple(lemma for lemma in lemmas if lemma is not None)

    def _otherwise(
        self, sentence: Sentence, rule: Rule, names: tuple[str, ...], over: tuple[Sort, ...], more: tuple[Sort, ...]
    ) -> StepLemma | None:
        """The lemma of the request that these actions take, where the system has them."""
        if not all(name in self._actions for name in names):
            return None
        actions = [self._actions[name] for name in names]

        def guard(state: State, *at: Term) -> Guard:
            yield from getattr(self, f"_{sentence.__name__}_if")(state, *at)
            taken = (action.enabled(state, *at, *([DURABLE] * (len(action.over) - len(at)))) for action in actions)
            yield negate(any_of(*taken))

        step = f"no {' and no '.join(names)}" if names else "transaction_times_out too early"
        return judged(sentence, rule, Action(step, over, guard, _nothing), more)

    def _start_refused_if(self, state: State, instance: Term) -> Guard:
        yield from self._coordinators.next_instance(self.of(state), instance)

    def start_refused(self, before: State, after: State, instance: Term, *inputs: Term) -> Term:
        """An InitProducerId without an identity that no action takes changes nothing, says the judge."""
        return self._not_handed_out(before, after, _asks(*inputs))

    def _bump_refused_if(self, state: State, txn: Term) -> Guard:
        yield from self._coordinators.bump_arrives(self.of(state), txn)

    def bump_refused(self, before: State, after: State, txn: Term, *inputs: Term) -> Term:
        """An InitProducerId that expects an identity and that no action takes changes nothing, says the judge."""
        return self._not_handed_out(before, after, replace(_asks(*inputs), expected=self.of(before).who(txn)))

    def _not_handed_out(self, before: State, after: State, inputs: StepInput) -> Term:
        """Where a record can be written: a cluster goes back to version 0 in no run of the system."""
        written = negate(is_unwritable(self._timed(before).client_version, self.knobs.profile))
        return given(written, lambda: self._refused(before, after, Api.INIT_PRODUCER_ID, inputs))

    def _too_young_if(self, _: State) -> Guard:
        yield from ()

    def too_young(self, before: State, after: State, now: Term) -> Term:
        """A transaction that is not past its timeout, or of which something is under way, stays, says the judge."""
        late = completing.is_timed_out(self._timed(before), now)
        return given(
            negate(late), lambda: self._refused(before, after, "TransactionTimeout", replace(NO_INPUT, now=now))
        )

    def _add_refused_if(self, state: State, txn: Term, partition: Term) -> Guard:
        yield state.added(txn, partition) > NOT_SENT

    def add_refused(self, before: State, after: State, txn: Term, partition: Term, now: Term, version: Term) -> Term:
        """A client's AddPartitionsToTxn that no action takes changes nothing, says the judge."""
        return given(
            version < registering.BY_BROKERS_SINCE,
            lambda: self._not_joined(before, after, txn, partition, now, version),
        )

    def _verifying_refused_if(self, state: State, txn: Term, partition: Term, batch: Term) -> Guard:
        yield state.phase(txn, partition, batch) == VERIFYING

    def verifying_refused(
        self, before: State, after: State, txn: Term, partition: Term, batch: Term, now: Term, version: Term
    ) -> Term:
        """A leader's AddPartitionsToTxn that no action takes changes nothing, says the judge."""
        return given(
            version >= registering.BY_BROKERS_SINCE,
            lambda: self._not_joined(before, after, txn, partition, now, version),
        )

    def _not_joined(self, before: State, after: State, txn: Term, partition: Term, now: Term, version: Term) -> Term:
        there = before.registered(partition) >= 0
        inputs = replace(NO_INPUT, version=version, now=now, producer=self.of(before).who(txn), registered=there)
        return self._refused(before, after, Api.ADD_PARTITIONS_TO_TXN, inputs)

    def _end_refused_if(self, state: State, txn: Term) -> Guard:
        yield self.of(state).requested_end(txn)

    def end_refused(self, before: State, after: State, txn: Term, now: Term, version: Term) -> Term:
        """A client's EndTxn that no action takes changes nothing, says the judge."""
        producer, commits = self.of(before).who(txn), before.end_sent(txn) == COMMIT
        inputs = replace(NO_INPUT, version=version, now=now, producer=producer, commits=commits)
        of_client = (version >= ending.BUMPS_SINCE) if self.knobs.bumps else (version < ending.BUMPS_SINCE)
        return given(of_client, lambda: self._refused(before, after, Api.END_TXN, inputs))


def _asks(now: Term, timeout: Term, version: Term) -> StepInput:
    return replace(NO_INPUT, version=version, now=now, timeout=timeout)


def _nothing(state: State, *_: Term) -> State:
    return state

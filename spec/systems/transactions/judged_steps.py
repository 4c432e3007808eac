"""The steps of the coordinators of transactions, put to the judge of recorded steps: what is proved is what is judged.

Of one action each sentence makes the step that a trace records of it, and asks for the verdict of
`spec/judging/judge_coordinator.py`. The system has no times: those of the step are any that the request and the clock
can have, and those of the entry afterwards are the judge's. A fence and the abort that it leads to are one step.
"""

from dataclasses import replace
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, negate, same
from spec.judging.judge_coordinator import agrees, known_alike
from spec.protocol import completing, ending, registering
from spec.protocol.coordinator import TransactionEntry, is_fencing, is_unwritable, worded
from spec.protocol.coordinator_steps import DECISIONS, NOT_LOGGED, StepInput, is_one_of
from spec.protocol.ending import IdAndEpoch
from spec.systems.language import State, StepLemma, given, pick
from spec.systems.transactions.coordinators import Coordinators
from spec.systems.transactions.decisions import ReleaseDecisions
from spec.systems.transactions.judged_memory import COUNT, NO_INPUT, NOW, REFUSAL, TIMEOUT, VERSION, Given, JudgedMemory
from spec.systems.transactions.recording import NONE
from spec.systems.transactions.world import (
    ANSWERED,
    COMMIT,
    CONFIRMED,
    DURABLE,
    IDLE,
    NO_IDENTITY,
    PARTITION,
    SENT,
    TransactionKnobs,
)
from spec.vocabulary import ABSENT, Api, ErrorCode

CONCURRENT: Final = ErrorCode.CONCURRENT_TRANSACTIONS.value


class JudgedCoordinators(JudgedMemory):
    """A lemma for each action of the coordinators, by the name of the action.

    The arguments of a sentence are those of its action; then, by its sorts, the time on the coordinator's clock, the
    timeout and the version of the request, the error of a log that refuses the record, the number of partitions in the
    transaction before the step, and one partition of all.
    """

    def __init__(self, knobs: TransactionKnobs, taken: ReleaseDecisions) -> None:
        super().__init__(knobs, taken, Coordinators(knobs, taken).all())

    def all(self) -> tuple[StepLemma, ...]:
        """The lemmas of the actions that the knobs leave in the system."""
        new, fence = rules.IDS_IDENTITY_NEVER_REPEATS, rules.FENCE_ZOMBIE_CANNOT_COMMIT
        joined = rules.TXN_REGISTERED_BEFORE_DATA
        logged, aborts = (REFUSAL, COUNT, PARTITION), "coordinator_aborts"
        inputs, sent = (NOW, TIMEOUT, VERSION, *logged), (NOW, VERSION, *logged)
        nothing_joined: Given = (("registered_is_of_open", (-1,)),)
        complete_awaited: Given = (("memory_is_of_a_state", ()),) * self.knobs.bumps
        verifies = self.verifies if self.knobs.bumps else self.verifies_only
        return self._lemmas(
            (self.initializes, new, ("coordinator_initializes",), inputs, nothing_joined),
            (self.bumps, new, ("coordinator_bumps",), inputs, nothing_joined),
            (self.fences, fence, ("coordinator_fences", aborts), inputs, ()),
            (self.bump_fences, fence, ("bump_meets_open_transaction", aborts), inputs, ()),
            (self.times_out, rules.TXN_TIMEOUT, ("transaction_times_out", aborts), (NOW, *logged), ()),
            (self.adds, joined, ("coordinator_adds",), sent, ()),
            (self.adds_offsets, joined, ("coordinator_adds",), sent, ()),
            (verifies, joined, ("coordinator_verifies",), sent, ()),
            (self.ends, rules.TXN_ONE_OUTCOME, ("coordinator_ends",), sent, ()),
            (self.completes, rules.TXN_ATOMIC, ("coordinator_completes",), (NOW, COUNT, PARTITION), complete_awaited),
            (self.fails_over, rules.TXN_FAILOVER, ("coordinator_fails_over",), (NOW,), ()),
        )

    # --- identities -------------------------------------------------------------------------------------------

    def initializes(
        self,
        before: State,
        after: State,
        instance: Term,
        fate: Term,
        now: Term,
        timeout: Term,
        version: Term,
        *logged: Term,
    ) -> Term:
        """An InitProducerId without an identity is judged as the system decides it, whatever becomes of its record."""
        inputs = replace(NO_INPUT, version=version, now=now, timeout=timeout)
        answered = pick(fate == DURABLE, after.given(instance), NO_IDENTITY)
        return self._handed_out(before, after, inputs, fate, answered, True, *logged)

    def bumps(
        self, before: State, after: State, txn: Term, fate: Term, now: Term, timeout: Term, version: Term, *logged: Term
    ) -> Term:
        """An InitProducerId that expects an identity is judged as the system decides it."""
        inputs = replace(NO_INPUT, version=version, now=now, timeout=timeout, expected=self.of(before).who(txn))
        answered = pick(fate == DURABLE, after.next_identity(txn), NO_IDENTITY)
        return self._handed_out(before, after, inputs, fate, answered, negate(before.ended(txn)), *logged)

    def _handed_out(
        self,
        before: State,
        after: State,
        inputs: StepInput,
        fate: Term,
        answered: IdAndEpoch,
        heard: Term,
        refusal: Term,
        count: Term,
        partition: Term,
    ) -> Term:
        """The identity and its record; the transaction has no partitions."""
        error = choose(fate == DURABLE, NONE, refusal)
        none = all_of(before.registered(partition) == ABSENT, after.registered(partition) == ABSENT)
        return given(
            all_of(self._may_ask(inputs), is_one_of(refusal, NOT_LOGGED), count == 0),
            lambda: all_of(
                none, self._judged(before, after, Api.INIT_PRODUCER_ID, inputs, error, answered, heard=heard)
            ),
        )

    def fences(
        self, before: State, after: State, _: Term, fate: Term, now: Term, timeout: Term, version: Term, *logged: Term
    ) -> Term:
        """An InitProducerId without an identity that meets an open transaction: fence and abort are judged as one."""
        inputs = replace(NO_INPUT, version=version, now=now, timeout=timeout)
        return self._fenced(before, after, inputs, fate, *logged)

    def bump_fences(
        self, before: State, after: State, txn: Term, fate: Term, now: Term, timeout: Term, version: Term, *logged: Term
    ) -> Term:
        """An InitProducerId that expects an identity, and an open transaction: fence and abort are judged as one."""
        inputs = replace(NO_INPUT, version=version, now=now, timeout=timeout, expected=self.of(before).who(txn))
        return self._fenced(before, after, inputs, fate, *logged)

    def _fenced(
        self, before: State, after: State, inputs: StepInput, fate: Term, refusal: Term, count: Term, partition: Term
    ) -> Term:
        error = choose(fate == DURABLE, CONCURRENT, refusal)
        first = negate(is_fencing(before.memory()))  # a further request waits for the fence, and changes nothing
        return given(
            all_of(first, self._may_ask(inputs), is_one_of(refusal, NOT_LOGGED)),
            lambda: self._keeping(before, after, Api.INIT_PRODUCER_ID, inputs, error, NO_IDENTITY, count, partition),
        )

    def times_out(
        self, before: State, after: State, fate: Term, now: Term, refusal: Term, count: Term, partition: Term
    ) -> Term:
        """The coordinator's own abort of a transaction past its timeout is judged as the system decides it."""
        inputs = replace(NO_INPUT, now=now)
        return given(
            completing.is_timed_out(self._timed(before), now),
            lambda: self._keeping(before, after, "TransactionTimeout", inputs, NONE, NO_IDENTITY, count, partition),
        )

    # --- the transaction --------------------------------------------------------------------------------------

    def adds(self, before: State, after: State, txn: Term, partition: Term, fate: Term, *more: Term) -> Term:
        """A client's AddPartitionsToTxn is judged as the system decides it."""
        return self._added(before, after, Api.ADD_PARTITIONS_TO_TXN, txn, partition, fate, *more)

    def adds_offsets(self, before: State, after: State, txn: Term, partition: Term, fate: Term, *more: Term) -> Term:
        """A client's AddOffsetsToTxn is judged as the system decides it."""
        return self._added(before, after, Api.ADD_OFFSETS_TO_TXN, txn, partition, fate, *more)

    def _added(
        self,
        before: State,
        after: State,
        api: str,
        txn: Term,
        partition: Term,
        fate: Term,
        now: Term,
        version: Term,
        *logged: Term,
    ) -> Term:
        answered = after.added(txn, partition) == ANSWERED
        of_client = all_of(version < registering.BY_BROKERS_SINCE, before.added(txn, partition) == SENT)
        return given(
            of_client, lambda: self._joined(before, after, api, txn, partition, fate, answered, now, version, *logged)
        )

    def verifies(
        self,
        before: State,
        after: State,
        txn: Term,
        partition: Term,
        batch: Term,
        fate: Term,
        now: Term,
        version: Term,
        *logged: Term,
    ) -> Term:
        """A leader's AddPartitionsToTxn for a client of version 2 is judged as the system decides it."""
        phase = after.phase(txn, partition, batch)
        return given(
            version >= registering.BY_BROKERS_SINCE,
            lambda: all_of(
                any_of(phase == CONFIRMED, phase == IDLE),
                self._joined(
                    before,
                    after,
                    Api.ADD_PARTITIONS_TO_TXN,
                    txn,
                    partition,
                    fate,
                    phase == CONFIRMED,
                    now,
                    version,
                    *logged,
                ),
            ),
        )

    def _joined(
        self,
        before: State,
        after: State,
        api: str,
        txn: Term,
        partition: Term,
        fate: Term,
        succeeds: Term,
        now: Term,
        version: Term,
        refusal: Term,
        count: Term,
        other: Term,
    ) -> Term:
        """A partition joins or is refused; it is asked for whatever succeeds, and no other partition joins."""
        transition = self.of(before).added_to(txn, partition)
        there = before.registered(partition) >= 0
        inputs = replace(NO_INPUT, version=version, now=now, producer=self.of(before).who(txn), registered=there)
        failed = all_of(transition.appends, negate(fate == DURABLE))
        error = choose(failed, refusal, worded(transition.error, version, registering.FENCED_SINCE))
        joins = all_of(negate(there), after.registered(partition) >= 0)
        alone = any_of(other == partition, after.registered(other) == before.registered(other))
        return given(
            all_of(txn >= 0, is_one_of(refusal, NOT_LOGGED)),
            lambda: all_of(
                same(succeeds, error == NONE),
                alone,
                self._judged(
                    before,
                    after,
                    api,
                    inputs,
                    error,
                    NO_IDENTITY,
                    count=count,
                    count_after=choose(joins, count + 1, count),
                    registered_after=after.registered(partition) >= 0,
                ),
            ),
        )

    def verifies_only(
        self,
        before: State,
        after: State,
        txn: Term,
        partition: Term,
        batch: Term,
        _: Term,
        now: Term,
        version: Term,
        *logged: Term,
    ) -> Term:
        """A leader's question whether a partition was added is judged as the system decides it."""
        view, (_, count, other) = self.of(before), logged
        there = before.registered(partition) >= 0
        inputs = replace(NO_INPUT, version=version, now=now, producer=view.who(txn), registered=there)
        error = view.verified(txn, partition)
        phase = choose(error == NONE, CONFIRMED, IDLE)
        return given(
            version >= registering.BY_BROKERS_SINCE,
            lambda: all_of(
                after.phase(txn, partition, batch) == phase,
                self._keeping(before, after, "VerifyPartitions", inputs, error, NO_IDENTITY, count, other),
            ),
        )

    def ends(
        self,
        before: State,
        after: State,
        txn: Term,
        fate: Term,
        now: Term,
        version: Term,
        refusal: Term,
        count: Term,
        partition: Term,
    ) -> Term:
        """A client's EndTxn that is not refused is judged as the system decides it, and answered so."""
        view = self.of(before)
        inputs = replace(
            NO_INPUT, version=version, now=now, producer=view.who(txn), commits=before.end_sent(txn) == COMMIT
        )
        failed = all_of(view.end_decided(txn).appends, negate(fate == DURABLE))
        bumps = self.knobs.bumps
        answered = pick(all_of(bumps, negate(failed)), after.next_identity(txn), NO_IDENTITY)
        of_client = version >= ending.BUMPS_SINCE if bumps else version < ending.BUMPS_SINCE
        error = choose(failed, refusal, NONE)
        return given(
            all_of(of_client, is_one_of(refusal, NOT_LOGGED), view.who(txn).producer_epoch >= 0),
            lambda: all_of(
                any_of(failed, after.ended(txn)),
                self._keeping(before, after, Api.END_TXN, inputs, error, answered, count, partition),
            ),
        )

    def completes(self, before: State, after: State, now: Term, count: Term, partition: Term) -> Term:
        """The end of a transaction whose last partition has its marker is judged as the system decides it."""
        memory, profile = self._timed(before), self.knobs.profile
        awaited = completing.prepare_complete(memory, now, profile)
        due = all_of(known_alike(awaited.entry, memory), negate(is_unwritable(awaited.target.client_version, profile)))
        timely = all_of(now >= 0, count <= 1, self.knobs.bumps or due)
        inputs = replace(NO_INPUT, now=now)
        return given(
            timely,
            lambda: all_of(
                after.registered(partition) == ABSENT,
                self._judged(before, after, "MarkersSent", inputs, NONE, NO_IDENTITY, count=count, count_after=0),
            ),
        )

    def fails_over(self, before: State, after: State, now: Term) -> Term:
        """The memory of a coordinator that has loaded the log is what the judge makes of the record."""
        record = replace(self.knobs.settled(before.record()), update_time=now)
        new = self._step(TransactionEntry(), record, replace(NO_INPUT, now=now), NONE)
        loaded = DECISIONS["CoordinatorLoad"](new, self.knobs.profile).entry
        memory = self.knobs.settled(after.memory())
        return all_of(
            known_alike(self.knobs.settled(loaded), memory),
            agrees(
                DECISIONS["CoordinatorLoad"](replace(new, after=memory), self.knobs.profile), replace(new, after=memory)
            ),
        )

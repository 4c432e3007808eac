"""The lemmas that tie the system of transactions to the judges of recorded steps, and the actions without a lemma.

The system counts batches and has no offsets: offsets decide nothing, which is a fact of the append decision
(`decisions_do_not_depend_on_offsets`).

If no action of the system takes a request, the request is refused or has nothing to do. For each such request the judge
expects unchanged memory. So a recorded step that changes memory is a step of the system.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final, TypeAlias

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate, same
from spec.judging.judge import entries_agree
from spec.judging.judge_groups import OffsetCommitStep, judge_marker, judge_offset_commit
from spec.protocol import completing, ending, registering, verification
from spec.protocol.append import append
from spec.protocol.coordinator import is_unwritable
from spec.protocol.coordinator_steps import StepInput
from spec.protocol.offsets import OffsetEntry
from spec.protocol.records import AppendRequest
from spec.rules import Rule
from spec.systems.language import Action, Sort, State, StepLemma, given
from spec.systems.system_append import is_as_judged
from spec.systems.transactions.coordinators import Coordinators
from spec.systems.transactions.decisions import ReleaseDecisions
from spec.systems.transactions.judged_memory import (
    NO_INPUT,
    NOW,
    TIMEOUT,
    VERSION,
    Given,
    JudgedActions,
    JudgedMemory,
    Sentence,
    judged,
    unbroken,
)
from spec.systems.transactions.judged_steps import JudgedCoordinators
from spec.systems.transactions.leaders import Leaders
from spec.systems.transactions.readers import GroupActions
from spec.systems.transactions.world import (
    BATCH,
    COMMIT,
    CONFIRMED,
    DURABLE,
    INSTANCE,
    NOT_SENT,
    OFFSETS,
    OPEN,
    PARTITION,
    TRANSACTION,
    VERIFYING,
    TransactionKnobs,
)
from spec.vocabulary import ABSENT, Api, ErrorCode

NONE: Final = ErrorCode.NONE.value
REFUSED: Final = ErrorCode.INVALID_TXN_STATE.value


# --- appends to a partition -------------------------------------------------------------------------------------------


class JudgedAppends(JudgedActions):
    """A lemma for each action that appends to a partition, by the name of the action."""

    def __init__(self, knobs: TransactionKnobs, taken: ReleaseDecisions) -> None:
        super().__init__(knobs, taken, (*Leaders(knobs, taken).all(), *GroupActions(knobs, taken).all()))

    def all(self) -> tuple[StepLemma, ...]:
        """The lemmas of the actions that the knobs leave in the system."""
        # decision, coordinator and partition are the marker's; then come a transaction and a batch of its own
        pending: Given = (("open_is_pending", (3, 2, 4)),)
        return self._lemmas(
            (self.appends, rules.SEQ_SUCCESSOR, ("leader_appends",), (), ()),
            (self.marker, rules.TXN_MARKER_ONCE, ("leader_writes_marker",), (TRANSACTION, BATCH), pending),
            (self.commits, rules.OFFSETS_GENERATION_FENCE, ("group_appends_commit",), (), ()),
        )

    def appends(self, before: State, after: State, txn: Term, partition: Term, batch: Term) -> Term:
        """A batch that has reached the log is judged as the system decides it, and acknowledged as it is answered."""
        return self._appended(before, after, (txn, partition, batch), self.of(before).batch(txn, partition, batch))

    def commits(self, before: State, after: State, txn: Term, partition: Term) -> Term:
        """A group's commit in a transaction is judged as the system decides it: as a commit and as an append."""
        view, at = self.of(before), (txn, partition, 0)
        late = not self.knobs.profile.offsets_verified_first
        let = any_of(late, view.is_let_commit(txn, partition))
        written = negate(after.log_end(partition) == before.log_end(partition))
        step = OffsetCommitStep(
            before.named(txn, partition),
            before.generation(),
            choose(written, NONE, REFUSED),
            before.group_offset(partition).recorded_at,
            after.group_offset(partition).recorded_at,
        )
        _, checks = judge_offset_commit(step, self.knobs.profile)
        producer = view.producer(view.who(txn))
        untouched = entries_agree(before.entry(producer, partition), after.entry(producer, partition))
        return all_of(
            late or unbroken(checks),
            implies(negate(let), untouched),
            given(let, lambda: self._appended(before, after, at, view.offset_batch(txn))),
        )

    def marker(
        self, before: State, after: State, decision: Term, coordinator: Term, partition: Term, txn: Term, batch: Term
    ) -> Term:
        """A marker is judged as the system decides it; what the transaction said of an offset is pending until then."""
        view = self.of(before)
        sent = view.sent_marker(decision, coordinator)
        request = completing.to_append(sent, 0)
        seen = verification.met(before.query(sent.producer_id, partition), guarded=False)
        known, knows = before.entry(sent.producer_id, partition), after.entry(sent.producer_id, partition)
        return all_of(
            is_as_judged(known, request, knows, self.knobs.profile, seen),
            self._takes_over(before, decision, partition, sent.producer_id, txn, batch) if self.knobs.groups else True,
        )

    def _takes_over(
        self, before: State, decision: Term, partition: Term, producer: Term, txn: Term, batch: Term
    ) -> Term:
        """For any transaction that the marker ends, the judge finds its offset pending."""
        view = self.of(before)
        mine = all_of(view.who(txn).producer_id == producer, before.kind(partition) == OFFSETS)
        undecided = all_of(mine, before.data(txn, partition, batch) == OPEN)
        settled_entry = OffsetEntry(txn, choose(undecided, before.offset(txn, partition, batch), ABSENT))
        return unbroken([judge_marker(settled_entry, before.pending(producer, partition), view.commits(decision))])

    def _appended(self, before: State, after: State, at: tuple[Term, Term, Term], request: AppendRequest) -> Term:
        """A batch as the judge expects it: its client gets this answer, and the batch is at the place in the answer."""
        view = self.of(before)
        producer, partition = view.producer(view.who(at[0])), at[1]
        guarded = all_of(before.phase(*at) == CONFIRMED, before.guarded(*at))
        seen = verification.met(before.query(producer, partition), guarded)
        known, knows = before.entry(producer, partition), after.entry(producer, partition)
        reply = append(known, request, self.knobs.profile, seen).reply
        acknowledged = any_of(before.acknowledged(*at), reply.appended, reply.duplicate)
        return all_of(
            is_as_judged(known, request, knows, self.knobs.profile, seen),
            same(after.acknowledged(*at), acknowledged),
            after.data(*at) == choose(reply.appended, OPEN, before.data(*at)),
        )


# --- requests that are refused ----------------------------------------------------------------------------------------


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


_CALL: Final = "a call of an application, which the rules of histories judge"
_QUESTION: Final = "a leader's question, of which the coordinator's answer is recorded"
_OTHER: Final = "a step of another transactional id, which is judged as one of that id"


# --- all lemmas, and what has none ------------------------------------------------------------------------------------


UNJUDGED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "client_adds_partition": _CALL,
        "client_sends_batch": _CALL,
        "client_commits_offset": _CALL,
        "client_ends": _CALL,
        "client_asks_for_bump": _CALL,
        "leader_receives": _QUESTION,
        "group_receives_commit": _QUESTION,
        "leader_fails_over": "no step of a coordinator or of a log: links hold a new leader's entries to its log",
        "group_rebalances": "no step of its own: each commit is recorded with the generation that the group then has",
        "other_id_begins_to_use": _OTHER,
        "other_id_appends": _OTHER,
        "other_id_offset_is_committed": _OTHER,
        "other_id_draws_producer_id": _OTHER,
        "reader_passes_other_id": "a read, which the rules of histories judge",
        "reader_fetches": "a read, which the rules of histories judge",
    }
)
"""Actions that no decision on one recorded step covers, and what judges them instead."""

LEFT_OUT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "TransactionalIdExpiry": "no transactional id expires in the system; `expire` is judged by its own lemmas",
        "MarkerAnswered": "an answer before the last one changes no memory but the number of partitions to wait for",
    }
)
"""Kinds of recorded steps that correspond to no action of the system."""


def judged_steps(knobs: TransactionKnobs, taken: ReleaseDecisions) -> tuple[StepLemma, ...]:
    """The lemmas of all actions that the knobs leave in the system, and of the requests that none of them takes."""
    return (
        *JudgedAppends(knobs, taken).all(),
        *JudgedCoordinators(knobs, taken).all(),
        *JudgedRefusals(knobs, taken).all(),
    )

"""Counterexamples of the coordinator's system, in the world of transactions.

Model epochs end early; here the id starts so near to the last epoch that the same number of them is left.
"""

import copy
from functools import partial
from typing import Final

from model_tests.bugs.script import Diverged, GhostViolation
from model_tests.bugs.scripted_clients import ID, ScriptedClients
from model_tests.scenarios.transaction_stage import coordinator
from reference.broker.coordinator_errors import CoordinatorNotAvailable, InvalidProducerIdMapping, UnknownServerError
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_metadata import BUMPS_EPOCH, TransactionEntry
from reference.broker.transaction_timeouts import abort_timed_out
from reference.client.transaction_states import ErrorHandling, ProducerRequest, meaning
from reference.errors import ProducerFenced, Refusal
from reference.recording.recorder import Row
from reference.world.messages import Request
from spec import rules
from spec.versions import Profile
from spec.vocabulary import MAX_EPOCH, Epoch, ErrorCode, TransactionState

INSTANCES: Final = ("instance 0", "instance 1")
PARTITION: Final = 0
"""The one that every transaction writes to."""


class CoordinatorScript(ScriptedClients):
    """One transactional id, and what its instances and its coordinators do."""

    def __init__(self, profile: Profile, epochs: int, lowered_to: int | None = None) -> None:
        """No instance has the id.

        Args:
            profile: the release, with the transaction version of the clients.
            epochs: left until the last one.
            lowered_to: the transaction version to which the cluster's may be lowered.
        """
        super().__init__(profile, INSTANCES)
        self.lowered_to = lowered_to
        self.first_epoch = Epoch(MAX_EPOCH - epochs)
        self.identities: dict[int, ProducerIdentity] = {}
        self.given: ProducerIdentity | None = None
        self.open: set[int] = set()
        self.torn: set[int] = set()
        self.replaced: set[int] = set()
        self.shut_out: set[int] = set()
        self.in_doubt: dict[int, bool] = {}
        self.recovering: set[int] = set()
        self.wrongly_reported: GhostViolation | None = None

    # --- instances --------------------------------------------------------------------------------------------

    def instance_starts(self, instance: int) -> None:
        """InitProducerId without identity."""
        first = not self.identities
        self._identified(instance, self.succeeds(self.asks_for_identity(instance)))
        if first:
            self._age(instance)
        others = self.identities.keys() - {instance}
        self.replaced = (self.replaced | others) - {instance}
        self.shut_out = (self.shut_out | others) - {instance}

    def start_fences(self, instance: int) -> None:
        """InitProducerId without identity while a transaction is open."""
        request = self.asks_for_identity(instance)
        self.arrives(request)
        if self.answer_arrives(request).error is not ErrorCode.NONE:
            self._expect_aborted()

    def instance_adds(self, instance: int) -> None:
        """A partition joins; what the client makes of a refusal is what its table of errors says."""
        request, outcome = self.joins(instance, self.identities[instance], PARTITION)
        by_client = self.profile.transaction_version < BUMPS_EPOCH
        requested = ProducerRequest.ADD_PARTITIONS if by_client else ProducerRequest.PRODUCE
        if outcome.error is ErrorCode.INVALID_PRODUCER_ID_MAPPING and (
            meaning(requested, outcome.error) is not ErrorHandling.FATAL
        ):
            self.story.remark(INSTANCES[instance], "treats it as an abortable error")
            self.recovering.add(instance)
        else:
            self.accepted(request, outcome)
            self.open.add(instance)

    def instance_ends(self, instance: int, outcome: int) -> None:
        """EndTxn, and its answer."""
        request = self._ends(instance, bool(outcome))
        answer = self.answer_arrives(request)
        if answer.error is ErrorCode.UNSUPPORTED_VERSION:
            self.open.discard(instance)
            self.shut_out.add(instance)
        else:
            self._answered(instance, bool(outcome), self.accepted(request, answer))

    def end_without_answer(self, instance: int, outcome: int) -> None:
        """EndTxn, and its answer is lost."""
        request = self._ends(instance, bool(outcome))
        self.accepted(request, self.answer(request))
        self.reply_is_lost(self.answers(request)[0])
        self.in_doubt[instance] = bool(outcome)

    def instance_ends_again(self, instance: int) -> None:
        """The same EndTxn again."""
        commit = self.in_doubt.pop(instance)
        request = self._ends(instance, commit)
        self._answered(instance, commit, self.accepted(request, self.answer_arrives(request)))

    def instance_recovers(self, instance: int) -> None:
        """InitProducerId with the identity that the client had."""
        if instance not in self.recovering:
            raise Diverged("the client does not continue after the error")
        self._identified(instance, self.succeeds(self.asks_for_identity(instance, self.identities[instance])))

    # --- coordinator and time ---------------------------------------------------------------------------------

    def transaction_completes(self) -> None:
        """All markers that are owed are written."""
        self.coordinator_sends_markers(self.coordinating)
        for request in self.markers():
            if request.number in self.wires.open:
                self.arrives(request)
        self.answers_to_markers_arrive()

    def transaction_times_out(self) -> None:
        """The transaction is open for longer than its timeout."""
        self._time_out()
        self._expect_aborted()

    def timeout_in_vain(self) -> None:
        """The same, and the log does not take the abort."""
        self.coordinator_log_fails(self.coordinating, CoordinatorNotAvailable())
        self.story.remark(coordinator(self.coordinating), "its log will not take the next record")
        self._time_out()

    def id_expires(self) -> None:
        """The id has been at rest for longer than it is remembered."""
        self.clock.advance(2 * self.shape.id_expiration_ms)
        self.coordinator_expires_ids(self.coordinating)
        if self._coordinator.states.find(ID) is not None:
            raise Diverged("the id has not expired")
        self.shut_out = set(self.identities)

    def version_is_lowered(self) -> None:
        """The cluster's transaction version changes; the clients continue as before."""
        if self.lowered_to is not None:
            node = self.brokers.nodes[self.coordinating]
            node.transactions.profile = node.log.profile = self.profile.under(self.lowered_to)
            remark = f"the cluster's transaction.version is lowered to {self.lowered_to}"
            self.story.remark(coordinator(self.coordinating), remark)
            self.recorder.rename = partial(_under, self.lowered_to)

    # --- the ghost --------------------------------------------------------------------------------------------

    def broken(self) -> GhostViolation | None:
        """The first of what may be broken about one id."""
        entry = self._coordinator.states.find(ID)
        if self.wrongly_reported is not None or entry is None:
            return self.wrongly_reported
        locked = self._stuck(entry) or self._never_times_out(entry)
        return self._last_epoch_reported() or self._burnt(entry) or locked or self._self_fenced()

    def instead(self) -> str:
        """What the coordinator knows, and what it answers an instance now."""
        entry = self._coordinator.states.find(ID)
        if entry is None:
            return "the id is unknown"
        known = entry.metadata
        reported = f"the id is {known.state.name} with producer id {known.producer_id} and epoch {known.epoch}"
        answers = [answer for answer in map(self._would_answer, self.identities.values()) if answer]
        return ", ".join([reported, *answers])

    def _would_answer(self, identity: ProducerIdentity) -> str:
        try:
            self._add(copy.deepcopy(self._coordinator), identity)
        except Refusal as refusal:
            return f"and AddPartitionsToTxn of {tuple(identity)} is answered {refusal.code.name}"
        return ""

    def _last_epoch_reported(self) -> GhostViolation | None:
        for instance, identity in self.identities.items():
            if identity.epoch >= MAX_EPOCH and instance not in self.open:
                text = f"instance {instance} got epoch {identity.epoch}, which is kept for fencing"
                return GhostViolation(rules.FENCE_EPOCH_EXHAUSTION, text)
        return None

    def _burnt(self, entry: TransactionEntry) -> GhostViolation | None:
        known, given = entry.metadata, self.given
        if given is None or known.producer_id != given.producer_id or known.epoch <= given.epoch + 1:
            return None
        text = f"the coordinator is at epoch {known.epoch}, and the highest epoch given out is {given.epoch}"
        return GhostViolation(rules.FENCE_EPOCH_EXHAUSTION, text)

    def _stuck(self, entry: TransactionEntry) -> GhostViolation | None:
        if entry.metadata.state is not TransactionState.ONGOING or entry.pending is not None:
            return None
        tried = copy.deepcopy(self._coordinator)
        try:
            tried.fence(tried.states.known(ID))
        except UnknownServerError as refusal:
            return GhostViolation(rules.FENCE_EPOCH_EXHAUSTION, f"the open transaction cannot be aborted: {refusal}")
        return None

    def _never_times_out(self, entry: TransactionEntry) -> GhostViolation | None:
        if entry.metadata.state is not TransactionState.ONGOING or entry.pending is None:
            return None
        tried = copy.deepcopy(self._coordinator)
        tried.clock.advance(2 * self.shape.transaction_timeout_ms)
        abort_timed_out(tried)
        if tried.states.known(ID).metadata.state is not TransactionState.ONGOING:
            return None
        text = f"the transaction is open long past its timeout, with {entry.pending.name} pending"
        return GhostViolation(rules.TXN_TIMEOUT, text)

    def _self_fenced(self) -> GhostViolation | None:
        for instance, identity in self.identities.items():
            if instance in self.open | self.shut_out | self.recovering or instance in self.in_doubt:
                continue
            tried = copy.deepcopy(self._coordinator)
            try:
                self._add(tried, identity)
            except (ProducerFenced, InvalidProducerIdMapping) as refusal:
                return GhostViolation(
                    rules.FENCE_STALE_EPOCH, f"the newest identity {tuple(identity)} is refused: {refusal}"
                )
            except Refusal:
                continue
        return None

    # --- what several do --------------------------------------------------------------------------------------

    @property
    def _coordinator(self) -> TransactionCoordinator:
        return self.brokers.nodes[self.coordinating].transactions

    def _add(self, to: TransactionCoordinator, identity: ProducerIdentity) -> None:
        """A partition joins the transaction.

        Raises:
            Refusal: the coordinator refuses it.
        """
        to.add_partitions(ID, identity, (self.names[PARTITION],), self.profile.transaction_version)

    def _time_out(self) -> None:
        self.clock.advance(2 * self.shape.transaction_timeout_ms)
        self.coordinator_aborts_timed_out(self.coordinating)

    def _expect_aborted(self) -> None:
        if self.metadata.state is TransactionState.ONGOING:
            raise Diverged(f"the transaction is not aborted: the id stays Ongoing with epoch {self.metadata.epoch}")
        self.torn |= self.open
        self.shut_out = set(self.identities)

    def _age(self, instance: int) -> None:
        """The first identity has only so many epochs left."""
        self.sessions_come_and_go(self.coordinating, ID, self.first_epoch)
        self.story.remark(coordinator(self.coordinating), f"the epoch kept for fencing is {MAX_EPOCH}")
        self._identified(instance, ProducerIdentity(self.metadata.producer_id, self.first_epoch))

    def _identified(self, instance: int, identity: ProducerIdentity) -> None:
        self.identities[instance] = self.given = identity
        for facts in (self.open, self.torn, self.recovering):
            facts.discard(instance)

    def _ends(self, instance: int, commit: bool) -> Request:
        """EndTxn arrives."""
        request = self.asks_to_end(instance, self.identities[instance], commit=commit)
        self.arrives(request)
        return request

    def _answered(self, instance: int, commit: bool, identity: ProducerIdentity) -> None:
        if commit and instance in self.replaced:
            self.wrongly_reported = GhostViolation(
                rules.FENCE_ZOMBIE_CANNOT_COMMIT, f"instance {instance} was replaced, and got a success for its commit"
            )
        if commit and instance in self.torn:
            self.wrongly_reported = GhostViolation(
                rules.TXN_CLIENT_VERDICT, f"instance {instance} got a success for a commit of which a part was aborted"
            )
        self.open.discard(instance)
        self.torn.discard(instance)
        if self.profile.transaction_version >= BUMPS_EPOCH:
            self.identities[instance] = self.given = identity
            self.shut_out.discard(instance)


def _under(version: int, row: Row) -> None:
    row["transaction_version"] = version

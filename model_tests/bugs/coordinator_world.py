"""The reference's transaction coordinator with one transactional id, for counterexamples of the coordinator's system.

Model epochs end early; here the id starts so near to the last epoch that the same number of them is left.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Final

from model_tests.bugs.coordinator_steps import COORDINATOR, ID, TIMEOUT_MS, CoordinatorSteps
from model_tests.bugs.world import Diverged, GhostViolation
from reference.broker.coordinator_errors import CoordinatorNotAvailable, InvalidProducerIdMapping, UnknownServerError
from reference.broker.ids import BlockAllocator, ProducerIdentity, ProducerIdManager
from reference.broker.marker_channel import WriteMarker
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_log import AppendFault, TransactionLog
from reference.broker.transaction_metadata import BUMPS_EPOCH, TopicPartition, TransactionEntry
from reference.broker.transaction_timeouts import abort_timed_out, expire_ids
from reference.client.transaction_states import ErrorHandling, ProducerRequest, meaning
from reference.clock import Clock
from reference.errors import ProducerFenced, Refusal, UnsupportedVersion
from reference.world.steps import TIMEOUT
from spec import rules
from spec.versions import Profile
from spec.vocabulary import MAX_EPOCH, CoordinatorEpoch, Epoch, ErrorCode, TransactionState

PARTITION: Final = TopicPartition("orders", 0)
INSTANCES: Final = ("instance 0", "instance 1")


def write_everywhere(_: TopicPartition, __: object) -> ErrorCode:
    """Every partition takes every marker."""
    return ErrorCode.NONE


class CoordinatorWorld:
    """The coordinator, its log, and the results of the instances."""

    cast = (*INSTANCES, COORDINATOR)

    def __init__(self, profile: Profile, epochs: int, lowered_to: int | None = None) -> None:
        """No instance has the id.

        Args:
            profile: the release, with the transaction version of the clients.
            epochs: left until the last one.
            lowered_to: the transaction version to which the cluster's may be lowered.
        """
        self.profile = profile
        self.lowered_to = lowered_to
        self.first_epoch = Epoch(MAX_EPOCH - epochs)
        self.clock = Clock(1000)
        self.steps = CoordinatorSteps(profile, self.clock, INSTANCES)
        self.story = self.steps.story
        self.log = TransactionLog(profile, partitions=1)
        self.producer_ids = ProducerIdManager(BlockAllocator(), profile)
        self.elections = 0
        self.coordinator = self._elected()
        self.identities: dict[int, ProducerIdentity] = {}
        self.given: ProducerIdentity | None = None
        self.open: set[int] = set()
        self.torn: set[int] = set()
        self.replaced: set[int] = set()
        self.shut_out: set[int] = set()
        self.in_doubt: dict[int, tuple[bool, object]] = {}
        self.recovering: set[int] = set()
        self.wrongly_reported: GhostViolation | None = None

    @property
    def acts(self) -> Mapping[str, Callable[..., None]]:
        """What each action does."""
        return {
            "instance_starts": self.instance_starts,
            "start_fences": self.start_fences,
            "instance_adds": self.instance_adds,
            "instance_ends": self.instance_ends,
            "end_without_answer": self.end_without_answer,
            "instance_ends_again": self.instance_ends_again,
            "instance_recovers": self.instance_recovers,
            "transaction_completes": self.coordinator_sends_markers,
            "transaction_times_out": self.transaction_times_out,
            "timeout_in_vain": self.timeout_in_vain,
            "coordinator_fails_over": self.coordinator_fails_over,
            "id_expires": self.id_expires,
            "version_is_lowered": self.version_is_lowered,
        }

    # --- instances --------------------------------------------------------------------------------------------

    def instance_starts(self, instance: int) -> None:
        """InitProducerId without identity."""
        first = self.coordinator.states.find(ID) is None and not self.identities
        self._identified(instance, self.steps.initialize(self.coordinator, instance))
        if first:
            self._age(instance)
        others = self.identities.keys() - {instance}
        self.replaced = (self.replaced | others) - {instance}
        self.shut_out = (self.shut_out | others) - {instance}

    def start_fences(self, instance: int) -> None:
        """InitProducerId without identity while a transaction is open."""
        try:
            self.steps.initialize(self.coordinator, instance)
        except Refusal:
            self._expect_aborted()

    def instance_adds(self, instance: int) -> None:
        """AddPartitionsToTxn; what the client makes of a refusal is what its table of errors says."""
        identity = self.identities[instance]
        try:
            self.steps.add(self.coordinator, instance, identity, PARTITION)
        except InvalidProducerIdMapping as refusal:
            if meaning(ProducerRequest.ADD_PARTITIONS, refusal.code) is ErrorHandling.FATAL:
                raise
            self.story.remark(INSTANCES[instance], "treats it as an abortable error")
            self.recovering.add(instance)
        else:
            self.open.add(instance)

    def instance_ends(self, instance: int, outcome: int) -> None:
        """EndTxn, and its answer."""
        try:
            identity = self._end(instance, bool(outcome))
        except UnsupportedVersion:
            self.open.discard(instance)
            self.shut_out.add(instance)
        else:
            self._answered(instance, bool(outcome), identity)

    def end_without_answer(self, instance: int, outcome: int) -> None:
        """EndTxn, and its answer is lost."""
        sending = object()
        self._end(instance, bool(outcome), answered=False, sending=sending)
        self.in_doubt[instance] = bool(outcome), sending

    def instance_ends_again(self, instance: int) -> None:
        """The same EndTxn again."""
        commit, sending = self.in_doubt.pop(instance)
        self._answered(instance, commit, self._end(instance, commit, sending=sending))

    def instance_recovers(self, instance: int) -> None:
        """InitProducerId with the identity that the client had."""
        if instance not in self.recovering:
            raise Diverged("the client does not continue after the error")
        self._identified(instance, self.steps.initialize(self.coordinator, instance, self.identities[instance]))

    # --- coordinator and time ---------------------------------------------------------------------------------

    def coordinator_sends_markers(self) -> None:
        """All markers that are owed are written."""
        with self.steps.by_itself(self.coordinator, "MarkersSent"):
            self.coordinator.send_markers()

    def transaction_times_out(self) -> None:
        """The transaction is open for longer than its timeout."""
        self.clock.advance(2 * TIMEOUT_MS)
        with self.steps.by_itself(self.coordinator, TIMEOUT):
            abort_timed_out(self.coordinator)
        self._expect_aborted()

    def timeout_in_vain(self) -> None:
        """The same, and the log does not take the abort."""
        self.log.faults.append(AppendFault(CoordinatorNotAvailable()))
        self.clock.advance(2 * TIMEOUT_MS)
        self.story.remark(COORDINATOR, "its log will not take the next record")
        with self.steps.by_itself(self.coordinator, TIMEOUT):
            abort_timed_out(self.coordinator)

    def coordinator_fails_over(self) -> None:
        """Another node reads the log."""
        self.coordinator = self._elected()
        self.steps.loads(self.coordinator)

    def id_expires(self) -> None:
        """The id has been at rest for longer than it is remembered."""
        self.clock.advance(2 * self.coordinator.config.expiration_ms)
        with self.steps.by_itself(self.coordinator, "TransactionalIdExpiry"):
            expire_ids(self.coordinator)
        if self.coordinator.states.find(ID) is not None:
            raise Diverged("the id has not expired")
        self.shut_out = set(self.identities)

    def version_is_lowered(self) -> None:
        """The cluster's transaction version changes; the clients continue as before."""
        if self.lowered_to is not None:
            self.coordinator.profile = self.log.profile = self.profile.under(self.lowered_to)
            self.steps.lower_version(self.lowered_to)

    # --- the ghost --------------------------------------------------------------------------------------------

    def broken(self) -> GhostViolation | None:
        """The first of what may be broken about one id."""
        entry = self.coordinator.states.find(ID)
        if self.wrongly_reported is not None or entry is None:
            return self.wrongly_reported
        locked = self._stuck(entry) or self._never_times_out(entry)
        return self._last_epoch_reported() or self._burnt(entry) or locked or self._self_fenced()

    def instead(self) -> str:
        """What the coordinator knows, and what it answers an instance now."""
        entry = self.coordinator.states.find(ID)
        if entry is None:
            return "the id is unknown"
        known = entry.metadata
        reported = f"the id is {known.state.name} with producer id {known.producer_id} and epoch {known.epoch}"
        answers = [answer for answer in map(self._would_answer, self.identities.values()) if answer]
        return ", ".join([reported, *answers])

    def _would_answer(self, identity: ProducerIdentity) -> str:
        try:
            copy.deepcopy(self.coordinator).add_partitions(ID, identity, (PARTITION,), self._version)
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
        tried = copy.deepcopy(self.coordinator)
        try:
            tried.fence(tried.states.known(ID))
        except UnknownServerError as refusal:
            return GhostViolation(rules.FENCE_EPOCH_EXHAUSTION, f"the open transaction cannot be aborted: {refusal}")
        return None

    def _never_times_out(self, entry: TransactionEntry) -> GhostViolation | None:
        if entry.metadata.state is not TransactionState.ONGOING or entry.pending is None:
            return None
        tried = copy.deepcopy(self.coordinator)
        tried.clock.advance(2 * TIMEOUT_MS)
        abort_timed_out(tried)
        if tried.states.known(ID).metadata.state is not TransactionState.ONGOING:
            return None
        text = f"the transaction is open long past its timeout, with {entry.pending.name} pending"
        return GhostViolation(rules.TXN_TIMEOUT, text)

    def _self_fenced(self) -> GhostViolation | None:
        for instance, identity in self.identities.items():
            if instance in self.open | self.shut_out | self.recovering or instance in self.in_doubt:
                continue
            tried = copy.deepcopy(self.coordinator)
            try:
                tried.add_partitions(ID, identity, (PARTITION,), self._version)
            except (ProducerFenced, InvalidProducerIdMapping) as refusal:
                return GhostViolation(
                    rules.FENCE_STALE_EPOCH, f"the newest identity {tuple(identity)} is refused: {refusal}"
                )
            except Refusal:
                continue
        return None

    # --- what several do --------------------------------------------------------------------------------------

    @property
    def _version(self) -> int:
        return self.profile.transaction_version

    def _elected(self) -> TransactionCoordinator:
        write: WriteMarker = write_everywhere
        elected = TransactionCoordinator(self.profile, self.producer_ids, self.log, write, self.clock)
        elected.elect(0, CoordinatorEpoch(self.elections))
        self.elections += 1
        return elected

    def _age(self, instance: int) -> None:
        """The first identity has only so many epochs left; the log says so too."""
        entry = self.coordinator.states.known(ID)
        with self.steps.by_itself(self.coordinator, "Sessions"):
            entry.metadata = entry.metadata._replace(epoch=self.first_epoch)
        self.log.write(ID, entry.metadata, self.clock.now)
        self.story.remark(COORDINATOR, f"the epoch kept for fencing is {MAX_EPOCH}")
        self._identified(instance, ProducerIdentity(entry.metadata.producer_id, self.first_epoch))

    def _identified(self, instance: int, identity: ProducerIdentity) -> None:
        self.identities[instance] = self.given = identity
        for facts in (self.open, self.torn, self.recovering):
            facts.discard(instance)

    def _end(self, instance: int, commit: bool, *, answered: bool = True, sending: object = None) -> ProducerIdentity:
        identity = self.identities[instance]
        return self.steps.end(self.coordinator, instance, identity, commit=commit, answered=answered, sending=sending)

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
        if self._version >= BUMPS_EPOCH:
            self.identities[instance] = self.given = identity
            self.shut_out.discard(instance)

    def _expect_aborted(self) -> None:
        known = self.coordinator.states.known(ID).metadata
        if known.state is TransactionState.ONGOING:
            raise Diverged(f"the transaction is not aborted: the id stays Ongoing with epoch {known.epoch}")
        self.torn |= self.open
        self.shut_out = set(self.identities)

"""Outcomes compared with the results of applications: one for all partitions, none for zombies, no identity twice."""

from collections.abc import Sequence
from typing import NamedTuple

from model_tests.machines.ghost_state import CurrentEvent, LoggedBatch, Owner
from model_tests.machines.transaction_coordinator_log import CoordinatorLog
from model_tests.machines.transaction_watch import TransactionWatch
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_api import OFFSETS_TOPIC
from reference.client.coordinator_channel import CoordinatorAnswer, CoordinatorRequest, EndTxn, InitProducerId
from reference.world.instances import ApplicationRun, ClientTransaction
from spec import rules
from spec.evidence import Layer, evidences
from spec.vocabulary import MAX_EPOCH, NO_PRODUCER_ID, ErrorCode


class Given(NamedTuple):
    """An identity that was given out: when, and for what; only a repeated request may get it again."""

    step: int
    order: int
    purpose: object
    starts: bool


class Verdicts:
    """What became of every transaction.

    Attributes:
        instances: of the world.
        given: identities in the order in which they were given out.
        outcomes: of each transaction, what each ended batch was ended with.
    """

    def __init__(self, watch: TransactionWatch, coordinators: CoordinatorLog) -> None:
        """No results yet."""
        self.watch = watch
        self.coordinators = coordinators
        self.instances: Sequence[ApplicationRun] = ()
        self.given: dict[ProducerIdentity, Given] = {}
        self.outcomes: dict[Owner, list[LoggedBatch]] = {}
        self._reported: set[Owner] = set()

    def transaction(self, owner: Owner) -> ClientTransaction:
        """A transaction as its application sees it."""
        return self.instances[owner.instance].transactions[owner.ordinal]

    # --- what happens -----------------------------------------------------------------------------------------

    def decided(self, written: LoggedBatch) -> None:
        """A marker has ended a batch."""
        self.zombie(written)
        if written.owner is not None:
            ended = [each for each in self.outcomes.get(written.owner, []) if each.ended_by is not None]
            self.outcomes[written.owner] = [*ended, written]
            self.atomic(written.owner)
            self.verdict(written.owner)

    def looks(self) -> None:
        """Check the new results of applications."""
        for instance in self.instances:
            if instance.transactions:
                owner = Owner(instance.number, len(instance.transactions) - 1)
                if owner not in self._reported and (
                    instance.transaction.is_committed or instance.transaction.is_aborted
                ):
                    self._reported.add(owner)
                    self.verdict(owner)

    def answered(self, request: CoordinatorRequest, answer: CoordinatorAnswer, cause: CurrentEvent) -> None:
        """A coordinator hands out an identity."""
        if answer.error is not ErrorCode.NONE or answer.identity.producer_id == NO_PRODUCER_ID:
            return
        match request:
            case InitProducerId(expected=None):
                self._gives(request.transactional_id, answer.identity, object(), starts=True)
            case InitProducerId() | EndTxn():
                self._gives(request.transactional_id, answer.identity, (type(request), cause.owner), starts=False)

    @evidences(rules.IDS_IDENTITY_NEVER_REPEATS, Layer.STATEFUL)
    def _gives(self, name: str, identity: ProducerIdentity, purpose: object, starts: bool) -> None:
        self.coordinators.given(identity.producer_id, name)
        before = self.given.get(identity)
        message = f"{name} is given {identity} once more"
        self.watch.expect(rules.IDS_IDENTITY_NEVER_REPEATS, before is None or before.purpose == purpose, message)
        if identity.epoch >= MAX_EPOCH - 1 or identity.epoch < 0:
            message = f"{name} is given {identity}"
            self.watch.expect(rules.FENCE_EPOCH_EXHAUSTION, 0 <= identity.epoch < MAX_EPOCH, message)
        if before is None:
            self.given[identity] = Given(self.watch.step, len(self.given), purpose, starts)

    # --- invariants -------------------------------------------------------------------------------------------

    @evidences(rules.FENCE_ZOMBIE_CANNOT_COMMIT, Layer.STATEFUL)
    def zombie(self, written: LoggedBatch) -> None:
        """What was written with an older identity is not committed after a producer was given a newer one."""
        mine, marker = self.given.get(written.identity), written.ended_by
        history = self.coordinators.of_producer(written.batch.producer_id)
        if mine is None or marker is None or history is None:
            return
        newer = [
            identity
            for identity, given in self.given.items()
            if given.starts
            and given.order > mine.order
            and given.step < marker.step
            and self.coordinators.of_producer(identity.producer_id) is history
        ]
        if newer:
            message = f"{written} is committed after {newer[0]} was given"
            self.watch.expect(rules.FENCE_ZOMBIE_CANNOT_COMMIT, not marker.commits, message)
        elif any(given.starts and given.order < mine.order for given in self.given.values()):
            self.watch.expect(rules.FENCE_ZOMBIE_CANNOT_COMMIT, True, "")

    @evidences(rules.TXN_ATOMIC, Layer.STATEFUL)
    @evidences(rules.OFFSETS_ATOMIC, Layer.STATEFUL)
    def atomic(self, owner: Owner) -> None:
        """Everything of one transaction has one outcome, its offsets too."""
        ended = self.outcomes[owner]
        if len({written.partition for written in ended}) < 2:
            return
        one = len({written.is_committed for written in ended}) == 1
        message = f"{owner} is torn: " + ", ".join(f"{each} COMMIT {each.is_committed}" for each in ended)
        self.watch.expect(rules.TXN_ATOMIC, one, message)
        if any(written.partition.topic == OFFSETS_TOPIC for written in ended):
            self.watch.expect(rules.OFFSETS_ATOMIC, one, message)

    @evidences(rules.TXN_CLIENT_VERDICT, Layer.STATEFUL)
    def verdict(self, owner: Owner) -> None:
        """After commit said OK nothing acknowledged is aborted; after abort said OK nothing is committed."""
        reported = self.transaction(owner)
        ended = [each for each in self.outcomes.get(owner, []) if each.ended_by is not None]  # a marker may be lost
        if not ended or not (reported.is_committed or reported.is_aborted):
            return
        wrong = [each for each in ended if each.is_committed != reported.is_committed and self._counts(reported, each)]
        message = f"{owner} got COMMIT {reported.is_committed} as its result: " + ", ".join(map(str, wrong))
        self.watch.expect(rules.TXN_CLIENT_VERDICT, not wrong, message)

    def _counts(self, reported: ClientTransaction, written: LoggedBatch) -> bool:
        """A batch without an acknowledgement may be missing from what was committed."""
        if reported.is_aborted or written.partition.topic == OFFSETS_TOPIC:
            return True
        values = [record.value for record in written.batch.records()]
        return any(sent.is_acknowledged and sent.batch.values[0] in values for sent in reported.batches)

    def at_rest(self, placed: Sequence[LoggedBatch]) -> None:
        """When nothing is under way: all that was to be committed is there, committed, once, offsets too."""
        committed: dict[bytes, int] = {}
        with_offsets = {w.owner for w in placed if w.is_committed and w.partition.topic == OFFSETS_TOPIC}
        for written in placed:
            if written.is_committed and written.partition.topic != OFFSETS_TOPIC:
                for record in written.batch.records():
                    committed[record.value or b""] = committed.get(record.value or b"", 0) + 1
        for instance in self.instances:
            for reported in instance.transactions:
                if reported.is_committed:
                    lacking = [value for value in reported.values() if committed.get(value) != 1]
                    message = (
                        f"transaction {reported.ordinal} of instance {instance.number} is committed without {lacking}"
                    )
                    self.watch.expect(rules.TXN_CLIENT_VERDICT, not lacking, message)
                    if reported.offsets:
                        there = Owner(instance.number, reported.ordinal) in with_offsets
                        message = (
                            f"transaction {reported.ordinal} of instance {instance.number} is committed without offsets"
                        )
                        self.watch.expect(rules.OFFSETS_ATOMIC, there, message)

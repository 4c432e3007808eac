"""Produce on the specification: admitted by the broker, verified by the coordinator, decided by the log."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from model_tests.conform.answers import AppendAnswer, ProduceAnswer
from model_tests.conform.decision_log import Decision, Ruled, SpecifiedDecision
from model_tests.conform.requests import AddPartitionsToTxn, RecordedBatch, RecordedProduce
from model_tests.conform.specified_coordinator import Coordinator
from model_tests.conform.specified_partition import LOG_START, SpecifiedPartition, data_request
from spec import rules
from spec.protocol import produce as producing
from spec.protocol import registering, verification
from spec.protocol.produce import PartitionProduce, ProduceReply
from spec.protocol.records import AppendRequest
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode


@dataclass(slots=True)
class SpecifiedProduce:
    """A broker's way from a Produce request to its answer.

    Attributes:
        pause: what happens once a request is verified, before its batches are appended.
        decided: the decisions on the last request.
    """

    profile: Profile
    partitions: Mapping[str, SpecifiedPartition]
    coordinator: Coordinator
    pause: Callable[[], None]
    decided: tuple[Decision, ...] = ()

    def produce(self, request: RecordedProduce) -> ProduceAnswer:
        """Admit each batch, verify what would open a transaction, ask the logs, and word the answers."""
        refusals = self._verify(request)
        self.pause()
        answers = {batch.partition: self._produce(request, batch, refusals) for batch in request.batches}
        return ProduceAnswer(answers, request.several)

    def _produce(self, request: RecordedProduce, batch: RecordedBatch, refusals: Mapping[str, int]) -> AppendAnswer:
        refusal = refusals.get(batch.partition, ErrorCode.NONE.value)
        requested = self._produce_request(request, batch, verified=refusal == ErrorCode.NONE)
        admission = producing.admit(requested, self.profile)
        if not producing.is_admitted(admission):
            self.decided += (SpecifiedDecision(batch.partition, data_request(batch, 0), admission),)
            return _worded(producing.refused(admission))
        if refusal != ErrorCode.NONE:
            answered = verification.reported(refusal, request.version, self.profile)
            self.decided += (Ruled(batch.partition, "not_verified", (rules.TXN_REGISTERED_BEFORE_DATA,)),)
            return AppendAnswer(ErrorCode(answered))
        partition, guarded = self.partitions[batch.partition], batch.partition in refusals
        decided = partition.append(batch.partition, batch, guarded=guarded)
        self.decided += (decided,)
        return _worded(producing.answered(requested, decided.reply, LOG_START))

    def _verify(self, request: RecordedProduce) -> Mapping[str, int]:
        """The coordinator's answer about each partition that has to ask it."""
        if request.transactional_id is None:
            return {}
        unverified = ((batch, self._produce_request(request, batch, verified=False)) for batch in request.batches)
        admitted = [batch for batch, asked in unverified if producing.is_admitted(producing.admit(asked, self.profile))]
        stale = [b for b in admitted if self._partition(b).refuses_unasked(self._batch(b), request.version)]
        refused = {batch.partition: ErrorCode.INVALID_PRODUCER_EPOCH.value for batch in stale}
        rest = [batch for batch in admitted if batch not in stale]
        asking = [b for b in rest if self._partition(b).must_ask(self._batch(b), request.version)]
        return (
            {**refused, **self._coordinator_answer(request.transactional_id, request.version, asking)}
            if asking
            else refused
        )

    def _partition(self, batch: RecordedBatch) -> SpecifiedPartition:
        return self.partitions[batch.partition]

    def _batch(self, batch: RecordedBatch) -> AppendRequest:
        return data_request(batch, self._partition(batch).log.end)

    def _coordinator_answer(
        self, transactional_id: str, version: int, asking: Sequence[RecordedBatch]
    ) -> Mapping[str, int]:
        names = tuple(batch.partition for batch in asking)
        first = asking[0]
        adds = version >= verification.ADDS_SINCE
        question = AddPartitionsToTxn(
            registering.BY_BROKERS_SINCE,
            transactional_id,
            first.producer_id,
            first.producer_epoch,
            names,
            verify_only=not adds,
        )
        return self.coordinator.register(question)

    def _produce_request(self, request: RecordedProduce, batch: RecordedBatch, *, verified: bool) -> PartitionProduce:
        ids, epochs = self._producers(request)
        return PartitionProduce(
            version=request.version,
            acks=request.acks,
            names_transaction=request.transactional_id is not None,
            any_transactional=any(other.transactional for other in request.batches),
            partition_exists=batch.partition in self.partitions,
            batch_count=batch.batch_count,
            ids_mixed=len(ids) > 1,
            epochs_mixed=len(epochs) > 1,
            verified=verified,
        )

    def _producers(self, request: RecordedProduce) -> tuple[set[int | str], set[int]]:
        """Ids and epochs of the transactional batches that are well formed, for partitions that exist."""
        counted = [
            batch
            for batch in request.batches
            if batch.transactional
            and batch.producer_id != ABSENT
            and batch.batch_count == 1
            and batch.partition in self.partitions
        ]
        return {batch.producer_id for batch in counted}, {batch.producer_epoch for batch in counted}


def _worded(reply: ProduceReply) -> AppendAnswer:
    return AppendAnswer(ErrorCode(reply.error), reply.base_offset, reply.append_time_reported, reply.log_start_offset)

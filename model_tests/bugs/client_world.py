"""The reference's client and the leaders of its partitions, for counterexamples of the systems of the client."""

from collections.abc import Callable, Mapping
from typing import Final

from model_tests.bugs.leader_world import named
from model_tests.bugs.world import Diverged, GhostViolation, there
from model_tests.monitor.story import Columns, Story
from reference.broker.ids import ProducerIdentity
from reference.client.partition_queue import ProducerBatch
from reference.client.producer import Attempt, AttemptReply, IdempotentProducer
from reference.errors import Refusal
from reference.log.partition import Partition
from reference.recording.recorder import Recorder
from spec import rules
from spec.versions import Profile
from spec.vocabulary import Epoch, ErrorCode, Origin, ProducerId, Timestamp

NOW: Final = Timestamp(0)  # time stands still: no bug of the client is about time
ORIGIN: Final = Origin.CLIENT


PRODUCER: Final = "producer"
PARTITIONS: Final = ("partition 0", "partition 1")


class ClientWorld:
    """One producer, two partitions, and everything that is on the wire between them."""

    cast = (PRODUCER, *PARTITIONS)

    def __init__(self, profile: Profile) -> None:
        """Nothing is sent."""
        self.story = Story(Recorder(0, profile))
        self.client = IdempotentProducer(partitions=2)
        self.client.identified(ProducerIdentity(ProducerId(0), Epoch(0)))
        self.leaders = [Partition(profile), Partition(profile)]
        self.sent: dict[tuple[int, int, int], Attempt] = {}
        self.logged: list[list[int]] = [[], []]
        self.gap = False

    @property
    def acts(self) -> Mapping[str, Callable[..., None]]:
        """What each action does."""
        return {
            "client_sends": self.client_sends,
            "leader_appends": self.leader_appends,
            "client_receives_answer": self.client_receives_answer,
            "leader_refuses": self.leader_refuses,
            "client_raises_epoch": self.client_raises_epoch,
        }

    def client_sends(self, partition: int) -> None:
        """The application hands over a record, and the client sends it."""
        self.client.send(partition, 1, NOW)
        self._drain(partition)

    def leader_appends(self, partition: int, ordinal: int, epoch: int) -> None:
        """A batch arrives as it was numbered under an epoch, sent again for that if need be."""
        attempt = self.sent.get((partition, ordinal, epoch)) or self._sent_again(partition, ordinal, epoch)
        if self._append(attempt):
            raise Diverged("the leader recognises the batch as a duplicate [seq.duplicate_window]")

    def client_receives_answer(self, partition: int) -> None:
        """The answer about the lowest batch in flight arrives."""
        attempt = self._attempt(partition, self._lowest(partition).ordinal)
        result = self.leaders[partition].append(attempt.records)
        self.story.say(PARTITIONS[partition], PRODUCER, f"NONE for {named(attempt.batch.ordinal)}")
        self.client.receive(attempt, AttemptReply(ErrorCode.NONE, result.first_offset))

    def leader_refuses(self, partition: int) -> None:
        """The lowest batch in flight gets a fatal error."""
        attempt = self._attempt(partition, self._lowest(partition).ordinal)
        refusal = f"INVALID_RECORD for {named(attempt.batch.ordinal)}"
        self.story.say(PARTITIONS[partition], PRODUCER, refusal, refuses=True)
        self.client.receive(attempt, AttemptReply(ErrorCode.INVALID_RECORD))
        self.gap = True

    def client_raises_epoch(self, _: int) -> None:
        """The client's next round."""
        self.client.tick(NOW)
        self.gap = False
        self.story.remark(PRODUCER, "raises its epoch")
        for partition, queue in zip(PARTITIONS, self.client.queues, strict=True):
            for batch in queue.in_flight:
                identity = there(batch.identity, f"{named(batch.ordinal)} has no number")
                number = f"{named(batch.ordinal)} is now sequence {batch.base_sequence}"
                self.story.remark(PRODUCER, f"{partition}: {number} of epoch {identity.epoch}")

    def broken(self) -> GhostViolation | None:
        """A batch twice in a log, two in another order than sent, or one that is due and refused."""
        for partition, logged in enumerate(self.logged):
            if len(set(logged)) < len(logged):
                return GhostViolation(
                    rules.SEQ_EXACTLY_ONCE, f"the log of partition {partition} holds a batch twice: {logged}"
                )
            if sorted(logged) != logged:
                return GhostViolation(
                    rules.SEQ_ORDER, f"the log of partition {partition} holds batches in the order {logged}"
                )
        return next(filter(None, map(self._stuck, range(len(self.leaders)))), None)

    def instead(self) -> str:
        """How the last batch went out."""
        last = list(self.sent.values())[-1]
        epoch, sequence = last.records.producer_epoch, last.records.base_sequence
        where = f"batch {last.batch.ordinal} for partition {last.partition}"
        return f"{where} is taken under epoch {epoch} with sequence {sequence}"

    def _stuck(self, partition: int) -> GhostViolation | None:
        """The lowest batch in flight is on the wire as it is numbered now, and would be refused."""
        waiting = self.client.queues[partition].in_flight
        attempt = next((a for a in self._on_wire(partition) if waiting and self._is_current(a, waiting[0])), None)
        if attempt is None or self.gap:  # what follows a gap is due only when it is numbered again
            return None
        try:
            self._would_answer(partition, attempt)
        except Refusal as refusal:
            text = f"the lowest batch in flight for partition {partition} is refused: {refusal}"
            return GhostViolation(refusal.rule or rules.SEQ_SUCCESSOR, text)
        return None

    @staticmethod
    def _is_current(attempt: Attempt, batch: ProducerBatch) -> bool:
        carried = ProducerIdentity(attempt.records.producer_id, attempt.records.producer_epoch)
        numbered = (batch.identity, batch.base_sequence)
        return attempt.batch is batch and numbered == (carried, attempt.records.base_sequence)

    def _would_answer(self, partition: int, attempt: Attempt) -> None:
        leader = self.leaders[partition]
        placed = leader.place((attempt.records,))[0]
        if leader.state.entry(placed.producer_id).find_duplicate(placed) is None:
            leader.state.prepare(placed.producer_id, ORIGIN).append(placed)

    def _append(self, attempt: Attempt) -> bool:
        name = named(attempt.batch.ordinal)
        self.story.records[name, 0] = name
        where: Columns = {"client": PRODUCER, "node": PARTITIONS[attempt.partition], "partition": attempt.partition}
        where |= {"writer": name, "first_record": 0, "message": attempt.number}
        duplicate = self.story.append(where, self.leaders[attempt.partition], attempt.records).duplicate
        if not duplicate:
            self.logged[attempt.partition].append(attempt.batch.ordinal)
        return duplicate

    def _sent_again(self, partition: int, ordinal: int, epoch: int) -> Attempt:
        """Break the connection to the leader, so that the client sends its lowest batch as it is numbered now."""
        for attempt in self._on_wire(partition):
            if attempt.batch.ordinal in self.logged[partition] and attempt.batch.ordinal != ordinal:
                self.client.receive(attempt, AttemptReply(ErrorCode.NONE))
            else:
                self.client.lose(attempt)
        again = self._drain(partition)
        found = (again.batch.ordinal, again.records.producer_epoch)
        if found != (ordinal, epoch):
            raise Diverged(
                f"the client sends batch {found[0]} under epoch {found[1]} and sequence {again.records.base_sequence}, "
                f"not batch {ordinal} under epoch {epoch}"
            )
        return again

    def _drain(self, partition: int) -> Attempt:
        if not self.client.may_drain(partition):
            raise Diverged(f"the client may send nothing to partition {partition}")
        attempt = self.client.drain(partition)
        self.sent[partition, attempt.batch.ordinal, attempt.records.producer_epoch] = attempt
        numbers = f"epoch {attempt.records.producer_epoch}, sequence {attempt.records.base_sequence}"
        self.story.remark(PRODUCER, f"sends {named(attempt.batch.ordinal)} to {PARTITIONS[partition]}: {numbers}")
        return attempt

    def _on_wire(self, partition: int) -> list[Attempt]:
        return [attempt for attempt in self.client.on_wire.values() if attempt.partition == partition]

    def _lowest(self, partition: int) -> ProducerBatch:
        return self.client.queues[partition].in_flight[0]

    def _attempt(self, partition: int, ordinal: int) -> Attempt:
        mine = (attempt for attempt in self._on_wire(partition) if attempt.batch.ordinal == ordinal)
        return there(next(mine, None), f"batch {ordinal} is not on the wire")

"""The observed world: the reference's cluster, and beside it all that an observer can see and remember."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from model_tests.machines.append_invariants import APPEND_INVARIANTS
from model_tests.machines.by_decision import judge_client_append, judge_copied_append
from model_tests.machines.log_invariants import LOG_INVARIANTS, StreamInLog
from model_tests.machines.memory import SEQUENCES, Memory, ReplicaMemory
from model_tests.machines.monitored import judge_steps
from model_tests.machines.observed_append import ObservedAppend
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.streams import FaultsSoFar, ProducerStream, Streams
from reference.broker.produce import PartitionAnswer
from reference.log.batch import RecordBatch
from reference.log.partition import Partition
from reference.log.producer_entry import UNKNOWN_PRODUCER, ProducerEntry
from reference.network import NetworkMessage
from reference.simulate.cluster import SentProduce, SentReply, SimulatedCluster
from reference.simulate.shape import Shape
from spec import rules
from spec.evidence import Layer, evidences
from spec.versions import Profile
from spec.vocabulary import ProducerId


@dataclass(frozen=True, slots=True)
class Numbered:
    """A batch that goes out under a producer id, epoch and sequence for the first time.

    Attributes:
        previous: the last sequence that this stream has used under the same producer id and epoch, -1 none.
    """

    by: str
    batch: RecordBatch
    previous: int

    def __str__(self) -> str:
        """What was sent, and what came before."""
        batch = self.batch
        sent = f"producer {batch.producer_id} epoch {batch.producer_epoch} sequence {batch.base_sequence}"
        return f"{self.by} numbered a batch {sent}; the last sequence under this epoch was {self.previous}"


@evidences(rules.SEQ_EPOCH_RESET, Layer.STATEFUL)
@evidences(rules.SEQ_SUCCESSOR, Layer.STATEFUL)
def client_numbers(numbered: Numbered, ledger: Ledger) -> None:
    """Under each epoch a stream begins at sequence 0, and continues without a gap."""
    sequence = numbered.batch.base_sequence
    if numbered.previous == -1:
        ledger.expect(rules.SEQ_EPOCH_RESET, sequence == 0, f"a new epoch begins at sequence 0: {numbered}")
    else:
        wanted = (numbered.previous + 1) % SEQUENCES
        ledger.expect(rules.SEQ_SUCCESSOR, sequence == wanted, f"the next sequence is {wanted}: {numbered}")


EXPIRATION_MS: Final = 24 * 60 * 60 * 1000
"""Kafka's default of `producer.id.expiration.ms`."""

LATEST: Final = 12
"""The number of events, and of what happens in them, in a message."""


@dataclass(frozen=True, slots=True)
class WorldSize:
    """Of what size and kind a world is.

    Attributes:
        ordered: connections deliver in the order of sending.
        before_wrap: producers have used all sequence numbers but so many; -1 if they are new.
    """

    profile: Profile
    nodes: int = 3
    partitions: int = 1
    producers: int = 2
    ordered: bool = True
    before_wrap: int = -1


class ObservedCluster(SimulatedCluster):
    """A cluster, and what is seen of it: whatever happens in it is held against the rules.

    Attributes:
        ledger: the account that the invariants are kept in.
        streams: the applications' batches.
        sent: every request that a producer ever sent.
        doing: the latest events.
    """

    def __init__(self, setting: WorldSize, ledger: Ledger) -> None:
        shape = Shape(setting.producers, setting.partitions, setting.nodes, expiration_ms=EXPIRATION_MS)
        super().__init__(setting.profile, shape, ordered=setting.ordered)
        self.setting = setting
        self.ledger = ledger
        judge_steps(self.recorder, ledger)
        self.streams = Streams()
        self.faults = FaultsSoFar(reordered=not setting.ordered)
        self.sent: list[SentProduce] = []
        self.doing: deque[str] = deque(maxlen=LATEST)
        self._memories = [
            [Memory(setting.profile, EXPIRATION_MS) for _ in range(setting.nodes)] for _ in range(setting.partitions)
        ]
        self._last_numbered: dict[tuple[ProducerStream, int, int], int] = {}
        self._seen: dict[int, tuple[object, ...]] = {}
        ledger.runs += 1

    def happens(self, event: str) -> None:
        """An event begins; time passes, so that no two batches have the same timestamp."""
        self.clock.advance(1)
        self.doing.append(event)
        self.ledger.steps += 1

    # --- producers --------------------------------------------------------------------------------------------

    def application_makes(self, producer: int, partition: int, count: int) -> None:
        """An application hands a batch to its producer."""
        self.doing.append(f"producer {producer} gets {count} records for partition {partition}")
        super().application_makes(producer, partition, count)
        self.streams.hands_over(ProducerStream(producer, partition), self.producers[producer].history[-1][1])

    def producer_sends(self, producer: int, partition: int) -> NetworkMessage[SentProduce]:
        """A producer sends its next batch; a new number of it is checked."""
        self.doing.append(f"producer {producer} sends what waits for partition {partition}")
        message = super().producer_sends(producer, partition)
        self.sent.append(message.payload)
        batch = message.payload.attempt.records
        self.number(ProducerStream(producer, partition), batch)
        self.streams.sends(batch, self.setting.profile)
        return message

    def producer_receives(self, message: NetworkMessage[SentReply], leave_copy: bool = False) -> None:
        """An answer reaches its producer."""
        request, reply = message.payload
        self.doing.append(f"producer {request.producer} gets {reply.error.name} at {reply.offset}")
        super().producer_receives(message, leave_copy)

    def number(self, stream: ProducerStream, batch: RecordBatch) -> None:
        """Hold the number of a batch against the ones before, unless it is a resend."""
        key = (stream, int(batch.producer_id), int(batch.producer_epoch))
        ghost = self.streams.of(batch)
        identity = (batch.producer_id, batch.producer_epoch, batch.base_sequence)
        if ghost is None or identity in self.streams.histories[stream].identities[ghost[1]]:
            return
        if not (self.faults.reordered or self.streams.histories[stream].overtaken):  # else see `circumstances`
            client_numbers(Numbered(self.doing[-1], batch, self._last_numbered.get(key, -1)), self.ledger)
        self._last_numbered[key] = (batch.base_sequence + batch.last_offset_delta) % SEQUENCES

    def has_numbered(self, stream: ProducerStream, batch: RecordBatch) -> None:
        """Take over that a stream has already used the sequences of a batch."""
        key = (stream, int(batch.producer_id), int(batch.producer_epoch))
        self._last_numbered[key] = (batch.base_sequence + batch.last_offset_delta) % SEQUENCES

    # --- appends ----------------------------------------------------------------------------------------------

    def broker_receives(self, message: NetworkMessage[SentProduce], leave_copy: bool = False) -> PartitionAnswer:
        """A request reaches its node."""
        request, deliver = message.payload, super().broker_receives
        records, copy = request.attempt.records, "a copy of " if message.copy else ""
        self.doing.append(
            f"broker {request.node} receives {copy}(producer {request.producer}, epoch {records.producer_epoch}, "
            f"sequence {records.base_sequence})"
        )
        place = request.attempt.partition, request.node
        return self.watch(*place, (records,), lambda: deliver(message, leave_copy))

    def stranger_asks(self, partition: int, batches: tuple[RecordBatch, ...]) -> PartitionAnswer:
        """A stranger asks the leader of a partition to append, over no network."""
        leader, ask = self.partitions[partition].leader_node, super().stranger_asks
        return self.watch(partition, leader, batches, lambda: ask(partition, batches))

    def watch(
        self, partition: int, node: int, batches: tuple[RecordBatch, ...], send: Callable[[], PartitionAnswer]
    ) -> PartitionAnswer:
        """Have a node asked to append, and hold what is seen of it against the rules of one append.

        Args:
            partition: by its number.
            node: that is asked.
            batches: of the request.
            send: puts the request to the node.
        """
        replica, batch = self.partitions[partition].replicas[node], batches[0]
        if not replica.leads:
            return send()
        memory = self._memories[partition][node]
        known = memory.known(replica.log, batch.producer_id)
        epochs = [b.producer_epoch for b in replica.log if b.producer_id == batch.producer_id]
        before, entry = sight(replica), replica.state.entry(batch.producer_id)
        answer = send()
        request = ObservedAppend(
            by=self.doing[-1],
            profile=self.setting.profile,
            batch=batch,
            copies=len(batches),
            known=known,
            highest_epoch=max(epochs, default=-1),
            forgetful=self.faults.expired,
            log_end=before[1],
            answer=answer,
            grown=replica.log.batches[before[0] :],
            unchanged=before == sight(replica),
        )
        for invariant in APPEND_INVARIANTS.values():
            invariant(request, self.ledger)
        after = replica.state.entry(batch.producer_id)
        judge_client_append(
            request.by, request.profile, batch, len(batches), entry, after, request.log_end, answer, self.ledger
        )
        self.note_overtaking(request)
        return answer

    def note_overtaking(self, request: ObservedAppend) -> None:
        """A stream has overtaken itself if the first batch that a leader sees of it is not at sequence 0."""
        ghost = self.streams.of(request.batch)
        if ghost is not None and request.known.epoch == -1 and request.batch.base_sequence:
            self.streams.histories[ghost[0]].overtaken = True

    def follower_fetches(self, partition: int, node: int) -> None:
        """A follower copies the next batch of its leader, which the decision judges."""
        replica = self.partitions[partition].replicas[node]
        count, entries = len(replica.log), dict(replica.state.producers)
        super().follower_fetches(partition, node)
        for batch in replica.log.batches[count:]:
            before = entries.get(batch.producer_id, UNKNOWN_PRODUCER)
            after = replica.state.entry(batch.producer_id)
            judge_copied_append(f"broker {node} copied", self.setting.profile, batch, before, after, self.ledger)

    # --- faults -----------------------------------------------------------------------------------------------

    def changes_leaders(self, change: Callable[[], None]) -> None:
        """Let something happen that may truncate followers, and note it on their memories."""
        ends = [[replica.log_end for replica in p.replicas] for p in self.partitions]
        change()
        for number, replicated in enumerate(self.partitions):
            for node, replica in enumerate(replicated.replicas):
                if replica.log_end < ends[number][node]:
                    self._memories[number][node].truncates(replica.log, self.clock.now)

    def leader_fails_over(self, partition: int, node: int) -> None:
        """A follower in sync becomes leader."""
        self.doing.append(f"broker {node} becomes leader of partition {partition}")
        fail_over = super().leader_fails_over
        self.changes_leaders(lambda: fail_over(partition, node))

    def broker_restarts(self, node: int) -> None:
        """A node goes down and comes back from disk."""
        self.doing.append(f"broker {node} restarts")
        restart = super().broker_restarts
        for number, replicated in enumerate(self.partitions):
            self._memories[number][node].restarts(replicated.replicas[node].log, self.clock.now)
        self.faults.restarted = True
        self.changes_leaders(lambda: restart(node))

    def producer_state_expires(self, node: int) -> None:
        """A node forgets the producers that were silent for too long."""
        self.doing.append(f"broker {node} forgets silent producers")
        super().producer_state_expires(node)
        self.faults.expired = True
        for number, replicated in enumerate(self.partitions):
            log = replicated.replicas[node].log.batches
            self._memories[number][node].forget_silent(log, self.clock.now)

    # --- the log ----------------------------------------------------------------------------------------------

    def after_event(self) -> None:
        """Hold every leader's log against the rules of the log, where something has changed."""
        for number, replicated in enumerate(self.partitions):
            reported = self.reported(number)
            seen = (
                replicated.leader_node,
                len(replicated.leader.log),
                replicated.leader.log_end,
                sum(reported.values()),
            )
            if self._seen.get(number) != seen:
                self._seen[number] = seen
                self.look_at_log(number, replicated.leader, reported)

    def reported(self, partition: int) -> dict[ProducerStream, int]:
        """How many batches of each stream of a partition were acknowledged."""
        return {
            stream: sum(batch.outcome is True for batch in history.batches)
            for stream, history in self.streams.histories.items()
            if stream.partition == partition
        }

    def look_at_log(self, partition: int, leader: Partition, reported: dict[ProducerStream, int]) -> None:
        """Hold one leader's log against the rules of the log."""
        for stream, placed in self.streams.in_log(partition, leader.log).items():
            history = self.streams.histories[stream]
            written = StreamInLog(
                stream,
                history,
                tuple(placed),
                reported[stream] - history.checked,
                self.faults,
                "; ".join(self.doing),
            )
            history.checked = reported[stream]
            for invariant in LOG_INVARIANTS.values():
                invariant(written, self.ledger)

    def known(self, partition: int, producer_id: ProducerId) -> ReplicaMemory:
        """What the leader of a partition should know of a producer."""
        replicated = self.partitions[partition]
        memory = self._memories[partition][replicated.leader_node]
        return memory.known(replicated.leader.log, producer_id)


def sight(replica: Partition) -> tuple[int, int, dict[ProducerId, ProducerEntry]]:
    """What a refusal must leave alone: batches in the log, its end, and what is known of producers."""
    return len(replica.log), replica.log_end, dict(replica.state.producers)

"""A producer and the leaders of its partitions, for counterexamples of the systems of the client and of its stream."""

from copy import deepcopy
from dataclasses import replace
from typing import Final

from model_tests.bugs.script import Diverged, GhostViolation, there
from model_tests.scenarios.producer_stage import ALONE, ProducerStage
from reference.broker.produce import PartitionAnswer
from reference.client.partition_queue import ProducerBatch
from reference.client.producer import Attempt, on_the_wire
from reference.errors import Refusal
from reference.network import NetworkMessage
from reference.recording.recorder import FATE, Fate
from reference.simulate.cluster import SentProduce
from spec import rules
from spec.versions import Profile
from spec.vocabulary import ABSENT, Api, ErrorCode


class ProducerScript(ProducerStage):
    """One producer, whose batches have a record each and are numbered by partition, and what arrives of them."""

    def client_sends(self, partition: int, *_: int) -> None:
        """The application hands over a batch, and the producer sends it.

        Raises:
            Diverged: it must wait.
        """
        (value,) = self._histories.next_values(0, 1)
        self.application_sends(0, partition, (value,))
        self.story.call(value, f"batch {self.producers[0].history[-1][1].ordinal}")
        sent = self.send_again(partition=partition)
        if not sent:
            raise Diverged(f"the client may send nothing to partition {partition}")
        for message in sent:
            self._annotate_request(Fate.SENT, message)

    def request(self, partition: int, batch: int, epoch: int) -> NetworkMessage[SentProduce] | None:
        """The request with a batch as it was numbered under an epoch, if it was ever sent; the newest of several."""
        wanted = (partition, batch, epoch)
        newest = sorted(self.requests.in_transit, key=lambda message: -message.number)
        return next((message for message in newest if _carried(message.payload) == wanted), None)

    def client_receives_acknowledgement(self, partition: int, batch: int) -> None:
        """The answer about a batch arrives.

        Raises:
            Diverged: none is under way.
        """
        about = (each for each in self.replies.in_transit if _carried(each.payload.request)[:2] == (partition, batch))
        self.producer_receives(there(next(about, None), f"no answer about batch {batch} is under way"))

    def arrive(self, message: NetworkMessage[SentProduce]) -> PartitionAnswer:
        """A request arrives, and may do so again."""
        return self.broker_receives(message, leave_copy=True)

    def append(self, message: NetworkMessage[SentProduce]) -> None:
        """A request arrives, and its batch is appended.

        Raises:
            Refusal: the leader refuses it.
            Diverged: the leader has it.
        """
        answer = self.arrive(message)
        if answer.refusal is not None:
            raise answer.refusal
        if answer.duplicate:
            raise Diverged("the leader recognises the batch as a duplicate [seq.duplicate_window]")

    def send_anew(self, partition: int, batch: int) -> NetworkMessage[SentProduce]:
        """Answers about others arrive; the producer waits no longer, and sends the lowest batch in flight again."""
        for reply in tuple(self.replies.in_transit):
            about = _carried(reply.payload.request)
            if about[0] == partition:
                (self.reply_is_lost if about[1] == batch else self.producer_receives)(reply)
        for message in tuple(self.requests.in_transit):
            attempt = message.payload.attempt
            if attempt.partition == partition and attempt.number in self.producers[0].on_wire:
                self.producer_stops_waiting(message)
        sent = self.send_again(partition=partition)
        return there(next(iter(sent), None), f"the client may send nothing to partition {partition}")

    # --- what the ghost sees ------------------------------------------------------------------------------------

    def logged(self, partition: int) -> list[int]:
        """The batches that a log was given, as the application counts them."""
        steps = (row for row in self.recorder.rows if row["api"] == Api.PRODUCE and FATE not in row)
        written = (row for row in steps if int(row["after_log_end"]) > int(row["before_log_end"]))
        return [int(row["batch"]) for row in written if row["partition"] == partition]

    def twice(self, partition: int) -> GhostViolation | None:
        """A log was given a batch twice."""
        logged = self.logged(partition)
        if len(set(logged)) == len(logged):
            return None
        return GhostViolation(rules.SEQ_EXACTLY_ONCE, f"the log of partition {partition} holds a batch twice: {logged}")

    def in_flight(self, partition: int) -> list[ProducerBatch]:
        """The batches in flight, the lowest first."""
        return self.producers[0].queues[partition].in_flight

    def foreseen(self, partition: int, batch: ProducerBatch) -> PartitionAnswer:
        """What the leader would answer to a batch, as it is numbered now."""
        attempt = Attempt(partition, ABSENT, batch, on_the_wire(batch, transactional=False))
        return self._handle(SentProduce(0, 0, attempt), deepcopy(self.partitions[partition].leader), 1)

    def refusal_of(self, partition: int, batch: ProducerBatch) -> Refusal | None:
        """The batch does arrive, sent again for that if need be, and its answer too; why it is refused."""
        epoch = on_the_wire(batch, transactional=False).producer_epoch
        request = self.request(partition, batch.ordinal, epoch)
        if request is None or request.copy:  # it was never sent under its number, or has arrived
            request = self.send_anew(partition, batch.ordinal)
        answer = self.arrive(request)
        self.answer_all()
        return answer.refusal


# --- a client that raises its epoch -----------------------------------------------------------------------------------


class ClientScript(ProducerScript):
    """Two partitions, and a broker that may refuse a batch whatever its number is."""

    def __init__(self, profile: Profile) -> None:
        """Nothing is sent."""
        super().__init__(profile, replace(ALONE, partitions=2))

    def leader_appends(self, partition: int, batch: int, epoch: int) -> None:
        """A batch arrives as it was numbered under an epoch, sent again for that if need be."""
        request = self.request(partition, batch, epoch) or self.send_anew(partition, batch)
        if _carried(request.payload) != (partition, batch, epoch):
            raise Diverged(f"the client sends {_numbered(request.payload)}, not batch {batch} under epoch {epoch}")
        self.append(request)

    def client_receives_answer(self, partition: int) -> None:
        """The answer about the lowest batch in flight arrives."""
        self.client_receives_acknowledgement(partition, self._lowest(partition))

    def leader_refuses(self, partition: int) -> None:
        """The lowest batch in flight is too large."""
        lowest, epoch = self._lowest(partition), self.identity_of(0).epoch
        request = there(self.request(partition, lowest, epoch), f"batch {lowest} is not under way")
        self.broker_refuses(request, ErrorCode.MESSAGE_TOO_LARGE)

    def client_raises_epoch(self, partition: int) -> None:
        """The client receives the refusal."""
        self.client_receives_answer(partition)
        self.story.remark(self.name_of(0), f"goes on under epoch {self.identity_of(0).epoch}")

    def broken(self) -> GhostViolation | None:
        """A batch twice in a log, two in another order than sent, or one that is due and refused."""
        return next(filter(None, map(self._broken_at, range(self.shape.partitions))), None)

    def instead(self) -> str:
        """How the last batch went out."""
        last = max(self.requests.in_transit, key=lambda message: message.number).payload
        return f"partition {last.attempt.partition} takes {_numbered(last)}"

    def _lowest(self, partition: int) -> int:
        """The lowest batch in flight."""
        return there(next(iter(self.in_flight(partition)), None), "nothing is in flight").ordinal

    def _broken_at(self, partition: int) -> GhostViolation | None:
        return self.twice(partition) or self._disordered(partition) or self._stuck(partition)

    def _disordered(self, partition: int) -> GhostViolation | None:
        logged = self.logged(partition)
        if sorted(logged) == logged:
            return None
        return GhostViolation(rules.SEQ_ORDER, f"the log of partition {partition} holds batches in the order {logged}")

    def _stuck(self, partition: int) -> GhostViolation | None:
        for lowest in self.in_flight(partition)[:1]:
            if self.foreseen(partition, lowest).refusal is not None:
                refusal = there(self.refusal_of(partition, lowest), "the leader takes what it would have refused")
                text = f"the lowest batch in flight for partition {partition} is refused: {refusal}"
                return GhostViolation(refusal.rule or rules.SEQ_SUCCESSOR, text)
        return None


# --- a stream of batches to one leader --------------------------------------------------------------------------------


SOON_MS: Final = 1000
"""Much less than it takes a producer's state to expire."""

FOLLOWER: Final = 1
"""The node that copies; node 0 leads."""


class StreamScript(ProducerScript):
    """One partition, whose leader keeps its place, and a follower. Requests have the numbers of their batches."""

    def __init__(self, profile: Profile) -> None:
        """Nothing is sent."""
        super().__init__(profile, replace(ALONE, nodes=2))

    def leader_appends(self, partition: int, request: int, _: int) -> None:
        """A request arrives."""
        self.append(self._sent(partition, request))

    def leader_answers(self, partition: int, request: int) -> None:
        """A request arrives, and nothing is appended."""
        answer = self.arrive(self._sent(partition, request))
        if answer.refusal is None and not answer.duplicate:
            raise Diverged("the leader appends the batch")

    def followers_copy(self, partition: int, count: int) -> None:
        """The follower has so many batches."""
        for _ in range(self.partitions[partition].replicas[FOLLOWER].log_end, count):
            self.follower_fetches(partition, FOLLOWER)

    def client_receives_duplicate_answer(self, partition: int, batch: int) -> None:
        """The request arrives again before its answer does."""
        self.leader_answers(partition, batch)
        self.client_receives_acknowledgement(partition, batch)

    def leader_forgets(self, partition: int) -> None:
        """The log's records are deleted, and state expires as far as it does so soon."""
        self.leader_deletes_records(partition)
        self.clock.advance(SOON_MS)
        self.producer_state_expires(self.partitions[partition].leader_node)
        if self.identity_of(0).producer_id in self.partitions[partition].leader.state.producers:
            raise Diverged("the leader still knows the producer, whose state does not go with its records")

    def broken(self) -> GhostViolation | None:
        """A batch is twice in the log, a resend in flight is not recognised, or the next batch in order is refused."""
        return self.twice(0) or next(filter(None, map(self._misjudged, self.in_flight(0))), None)

    def _misjudged(self, batch: ProducerBatch) -> GhostViolation | None:
        logged, number, answer = self.logged(0), batch.ordinal, self.foreseen(0, batch)
        if number in logged and not answer.duplicate:
            text = f"a resend of batch {number} is not recognised: {self.refusal_of(0, batch)}"
            return GhostViolation(rules.SEQ_WINDOW_SUFFICES, text)
        if number == len(logged) and answer.refusal is not None:
            text = f"batch {number}, the next in order, is refused: {self.refusal_of(0, batch)}"
            return GhostViolation(rules.SEQ_SUCCESSOR, text)
        return None

    def instead(self) -> str:
        """The result of a resend."""
        return f"a resend of any of the batches {self.logged(0)} is recognised as a duplicate [seq.duplicate_window]"

    def _sent(self, partition: int, request: int) -> NetworkMessage[SentProduce]:
        epoch = self.identity_of(0).epoch
        return there(self.request(partition, request, epoch), f"batch {request} was not sent")


def _carried(request: SentProduce) -> tuple[int, int, int]:
    """Partition, batch, and the epoch under which it is numbered."""
    attempt = request.attempt
    return attempt.partition, attempt.batch.ordinal, attempt.records.producer_epoch


def _numbered(request: SentProduce) -> str:
    """A batch, and its number."""
    records = request.attempt.records
    epoch, sequence = records.producer_epoch, records.base_sequence
    return f"batch {request.attempt.batch.ordinal} under epoch {epoch} with sequence {sequence}"

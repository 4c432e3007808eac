"""One leader of the reference and one producer's batches, for counterexamples about a leader's producer state."""

from collections.abc import Callable, Mapping
from contextlib import suppress

from model_tests.bugs.world import Diverged, GhostViolation
from model_tests.monitor.story import Columns, Story
from reference.errors import Refusal
from reference.log.batch import RecordBatch, blank_batch
from reference.log.partition import AppendResult, Partition
from reference.recording.recorder import Recorder
from spec import rules
from spec.versions import Profile
from spec.vocabulary import Origin, Timestamp

PRODUCER = "producer"
LEADER = "leader"
FOLLOWERS = "followers"

SOON_MS = 1000
"""Much less than it takes a producer's state to expire."""


class StreamWorld:
    """Requests by number, each with one batch of one record; the client has no part in these counterexamples."""

    cast = (PRODUCER, LEADER, FOLLOWERS)

    def __init__(self, profile: Profile) -> None:
        """Nothing is sent."""
        self.story = Story(Recorder(0, profile))
        self.leader = Partition(profile)
        self.requests: list[RecordBatch] = []
        self.logged: list[int] = []
        self.acknowledged: set[int] = set()

    @property
    def acts(self) -> Mapping[str, Callable[..., None]]:
        """What each action does."""
        return {
            "client_sends": self.client_sends,
            "leader_appends": self.leader_appends,
            "leader_answers": self.leader_answers,
            "followers_copy": self.followers_copy,
            "client_receives_acknowledgement": self.client_receives_answer,
            "client_receives_duplicate_answer": self.client_receives_answer,
            "leader_forgets": self.leader_forgets,
        }

    def client_sends(self, _: int, delta: int) -> None:
        """The next batch gets the next sequence."""
        number = len(self.requests)
        self.requests.append(blank_batch(delta + 1, producer_id=0, epoch=0, base_sequence=number))
        self.story.records[named(number), 0] = named(number)
        self.story.remark(PRODUCER, f"sends {named(number)}: sequence {number}")

    def leader_appends(self, _: int, request: int, __: int) -> None:
        """A request arrives."""
        if self._append(request).duplicate:
            raise Diverged("the leader recognises the batch as a duplicate [seq.duplicate_window]")
        self.logged.append(request)

    def leader_answers(self, _: int, request: int) -> None:
        """A request arrives, and nothing is appended."""
        length = self.leader.log_end
        with suppress(Refusal):
            self._append(request)
        if self.leader.log_end > length:
            raise Diverged("the leader appends the batch")

    def _append(self, request: int) -> AppendResult:
        where: Columns = {"client": PRODUCER, "node": LEADER, "message": request}
        where |= {"writer": named(request), "first_record": 0}
        return self.story.append(where, self.leader, self.requests[request])

    def followers_copy(self, _: int, count: int, *__: int) -> None:
        """Followers have more of the log; no leader fails in these counterexamples."""
        self.story.say(LEADER, FOLLOWERS, f"the log up to position {count}")

    def client_receives_answer(self, _: int, batch: int) -> None:
        """A batch is acknowledged."""
        self.story.say(LEADER, PRODUCER, f"NONE for {named(batch)}")
        self.acknowledged.add(batch)

    def leader_forgets(self, _: int) -> None:
        """The log's records are deleted, and state expires as far as it does so soon."""
        if not self.leader.state.expire(Timestamp(SOON_MS)):
            raise Diverged("the leader still knows the producer, whose state does not go with its records")
        self.story.remark(LEADER, "forgets the producer")

    def broken(self) -> GhostViolation | None:
        """A batch twice in the log, a resend in flight that is not recognised, or the next in order refused."""
        if len(set(self.logged)) < len(self.logged):
            return GhostViolation(rules.SEQ_EXACTLY_ONCE, f"the log holds a batch twice: {self.logged}")
        in_flight = [number for number, _ in enumerate(self.requests) if number not in self.acknowledged]
        return next(filter(None, map(self._misjudged, in_flight)), None)

    def instead(self) -> str:
        """The result of a resend."""
        return f"a resend of any of the batches {self.logged} is recognised as a duplicate [seq.duplicate_window]"

    def _misjudged(self, request: int) -> GhostViolation | None:
        """A request that is in the log is not recognised, or one that is due is refused."""
        logged, due = request in self.logged, request == len(self.logged)
        known = self.leader.state.entry(self.requests[request].producer_id)
        if logged:
            if known.find_duplicate(self.requests[request]) is None:
                return GhostViolation(rules.SEQ_WINDOW_SUFFICES, f"a resend of batch {request} is not recognised")
            return None
        return self._refused(request) if due else None

    def _refused(self, request: int) -> GhostViolation | None:
        try:
            placed = self.leader.place((self.requests[request],))[0]
            self.leader.state.prepare(placed.producer_id, Origin.CLIENT).append(placed)
        except Refusal as refusal:
            return GhostViolation(rules.SEQ_SUCCESSOR, f"batch {request}, the next in order, is refused: {refusal}")
        return None


def named(number: int) -> str:
    """A batch as the application counts it."""
    return f"batch {number}"

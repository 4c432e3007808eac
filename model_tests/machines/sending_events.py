"""A producer of records under observation, its events, and runs of them from a seeded tape."""

from collections import deque
from dataclasses import dataclass
from typing import Final

from model_tests.machines.pipeline_logs import Outcomes
from model_tests.machines.playing import NUMBERS, play, weighed, with_faults
from model_tests.machines.rule_counts import Ledger
from reference.client.accumulator import SentRecord
from reference.client.producer_settings import ProducerSettings
from reference.event import Event
from reference.tape import Tape
from reference.world.sending import SendingShape, SendingWorld
from spec import rules
from spec.evidence import Layer, evidences
from spec.rules import Rule
from spec.versions import KAFKA_2_4, NEWEST, Profile

LATEST: Final = 12
"""The number of events in a message."""

DELIVERY_MS: Final = 2_000
REQUEST_MS: Final = 500
"""A request may time out four times before its batch does, so that both happen within a run."""

SENDING_RULES: Final = (rules.SEQ_EXACTLY_ONCE, rules.SEQ_ORDER)
"""The rules that a producer of records has invariants for."""


@dataclass(frozen=True, slots=True)
class SendingSetting:
    """One producer and its brokers."""

    profile: Profile
    shape: SendingShape


def drawn_sending(choose: Tape) -> SendingSetting:
    """A producer of any kind: batches of a few records, short times, memory for few batches."""
    idempotent = choose.below(5) > 0
    batch_bytes = choose.pick((300, 200, 120))
    settings = ProducerSettings(
        batch_bytes=batch_bytes,
        linger_ms=choose.pick((0, 10)),
        buffer_bytes=batch_bytes * choose.pick((100, 6, 3)),
        max_block_ms=1_000,
        max_request_bytes=choose.pick((1_000, 350)),
        max_in_flight=choose.pick((5, 3, 1)) if idempotent else 1,
        request_timeout_ms=REQUEST_MS,
        retry_backoff_ms=choose.pick((20, 0)),
        retry_backoff_max_ms=100,
    )
    shape = SendingShape(
        partitions=1 + choose.below(2),
        nodes=1 + choose.below(2),
        idempotent=idempotent,
        settings=settings,
        delivery_timeout_ms=choose.pick((10**9, DELIVERY_MS)),
        most_bytes=choose.pick((1_000, 1_000, 150)),
    )
    return SendingSetting(choose.pick((NEWEST, NEWEST, KAFKA_2_4)), shape)


class SendingRun(SendingWorld):
    """A producer whose records are numbered, and the results of its records.

    Attributes:
        ledger: the account of the rules.
        handed: every record, by its value.
    """

    def __init__(self, setting: SendingSetting, ledger: Ledger) -> None:
        """Every partition has got a record, so that its leader knows the producer."""
        super().__init__(setting.profile, setting.shape)
        self.ledger = ledger
        self.handed: dict[bytes, SentRecord] = {}
        self._logs = [Outcomes() for _ in self.partitions]
        self._doing: deque[str] = deque(maxlen=LATEST)
        self._settled: set[bytes] = set()
        for _ in self.partitions:
            self._hands_over(None)
        self.run_until_idle()
        ledger.runs += 1

    def happens(self, event: str) -> None:
        """An event begins; a little time passes."""
        self.clock.advance(1)
        self._doing.append(event)
        self.ledger.steps += 1

    def after_event(self) -> None:
        """Nothing more: the onlooker looks when requests arrive and followers fetch."""

    # --- the producer -----------------------------------------------------------------------------------------

    def application_hands_over(self, choose: Tape) -> None:
        """Some records, with keys or without."""
        records = 1 + choose.below(6)
        self.happens(f"{records} records are handed over")
        for _ in range(records):
            self._hands_over(choose.pick((None, b"to", b"be")))

    def _hands_over(self, key: bytes | None) -> None:
        if self.producer.accumulator.blocked:
            return  # the application's one thread waits for memory
        value = f"{len(self.handed):04}".encode()
        self.handed[value] = self.application_sends(key, value)

    def producer_works(self, choose: Tape) -> None:
        """The sender runs, in half of the cases after all that lingers or backs off may go."""
        self.happens("the sender runs")
        self.clock.advance(100 * choose.below(2))
        self.producer_runs()

    def application_flushes(self, choose: Tape) -> None:
        """Nothing lingers any more."""
        self.happens("a flush")
        self.producer.flush()
        self.producer_runs()

    def answers_arrive(self, choose: Tape) -> None:
        """Answers reach the producer, all of them or one."""
        self.happens("answers arrive")
        for message in self.replies.deliverable()[: 1 + choose.below(4)]:
            self.producer_receives(message)

    def metadata_arrives(self, choose: Tape) -> None:
        """The producer learns who leads."""
        self.happens("the producer learns who leads")
        self.producer_learns_leaders()

    # --- brokers and network ----------------------------------------------------------------------------------

    def requests_arrive(self, choose: Tape) -> None:
        """Requests reach their nodes, in their order."""
        self.happens("requests arrive")
        for _ in range(1 + choose.below(4)):
            for message in self.requests.deliverable()[:1]:
                self.broker_receives(message)
        self.looks()

    def followers_catch_up(self, choose: Tape) -> None:
        """Followers copy everything, or one batch."""
        self.happens("followers fetch")
        batches = 1 if choose.below(3) == 1 else 20
        for place, partition in enumerate(self.partitions):
            for _ in range(batches):
                for node in partition.behind():
                    self.follower_fetches(place, node)
        self.looks()

    def connection_fails(self, choose: Tape) -> None:
        """A connection breaks: some of what was sent still arrives."""
        node = choose.below(self.shape.nodes)
        arriving = choose.below(1 + len(self.requests.of_channel(node)))
        self.happens(f"the connection to node {node} breaks, {arriving} requests arrive")
        self.connection_breaks(node, arriving)

    def partition_changes_leader(self, choose: Tape) -> None:
        """A follower in sync takes over."""
        place = choose.below(len(self.partitions))
        candidates = self.partitions[place].candidates()
        if candidates:
            self.happens(f"partition {place} has another leader")
            self.leader_fails_over(place, choose.pick(candidates))
            self.looks()

    def time_passes(self, choose: Tape) -> None:
        """Requests time out, in some runs deliveries too."""
        self.happens("time passes")
        self.clock.advance((REQUEST_MS, DELIVERY_MS)[choose.below(2)])
        self.producer_runs()

    # --- what must hold ---------------------------------------------------------------------------------------

    def looks(self) -> None:
        """Read the leaders' logs, and compare them with the records sent and the results."""
        for log, partition in zip(self._logs, self.partitions, strict=True):
            log.looks(partition.leader.log.batches)
            values = [value for _, value in log.order]
            self.is_in_order(values)
            self.is_there_once(values)

    @evidences(rules.SEQ_ORDER, Layer.STATEFUL)
    def is_in_order(self, values: list[bytes]) -> None:
        """The records of a partition are first met in the order in which they were handed over."""
        first = list(dict.fromkeys(values))
        self._expect(rules.SEQ_ORDER, first == sorted(first), f"the log has {first}")

    @evidences(rules.SEQ_EXACTLY_ONCE, Layer.STATEFUL)
    def is_there_once(self, values: list[bytes]) -> None:
        """With idempotence no record is there twice."""
        if self.shape.idempotent:
            twice = [value for value in dict.fromkeys(values) if values.count(value) > 1]
            self._expect(rules.SEQ_EXACTLY_ONCE, not twice, f"{twice} are there twice")

    @evidences(rules.SEQ_EXACTLY_ONCE, Layer.STATEFUL)
    def is_there(self) -> None:
        """In the end every acknowledged record is at its acknowledged offset; none is left undecided."""
        self.looks()
        for value, record in self.handed.items():
            places = [offset for offset, found in self._logs[record.partition].order if found == value]
            reported = record.offset in (-1, *places)
            message = f"{value!r}: outcome {record.outcome} {record.failure}, offset {record.offset}, found at {places}"
            fails = record.outcome is False
            self._expect(
                rules.SEQ_EXACTLY_ONCE, fails or (record.outcome is True and bool(places) and reported), message
            )

    def _expect(self, rule: Rule, holds: bool, message: str) -> None:
        where = f"{self.profile.name}, {self.shape}; after {'; '.join(self._doing)}"
        self.ledger.expect(rule, holds, "" if holds else f"{message} ({where})")

    # --- the end ----------------------------------------------------------------------------------------------

    def run_until_idle(self) -> None:
        """Nothing goes wrong any more: everything is sent and answered."""
        self.producer.flush()
        for _ in range(200):
            if not self.producer.accumulator.held and not self.producer.accumulator.blocked:
                return
            self.clock.advance(101)
            self.producer_learns_leaders()
            self.producer_runs()
            for message in tuple(self.requests.in_transit):
                self.broker_receives(message)
            self.followers_catch_up(Tape.of_number(0))
            for answer in tuple(self.replies.in_transit):
                self.producer_receives(answer)

    def ends(self) -> None:
        """It comes to rest, and every record has come to its end."""
        self.run_until_idle()
        self.is_there()


# --- The events of a producer of records, and runs of them from a seeded tape ---------------------------------


STEPS: Final = 60  # events of a run, a bound on its time: other seeds make other runs

LONGEST_PAST: Final = 40
"""Events before a Hypothesis run, at most, drawn by its seed: a long history without examples to shrink."""


SENDING_ACTIONS: Final = (
    Event(SendingRun.application_hands_over, 12),
    Event(SendingRun.producer_works, 14),
    Event(SendingRun.requests_arrive, 12),
    Event(SendingRun.followers_catch_up, 8),
    Event(SendingRun.answers_arrive, 10),
    Event(SendingRun.application_flushes, 2),
    Event(SendingRun.metadata_arrives, 4),
    Event(SendingRun.connection_fails, 5, fault="loss"),
    Event(SendingRun.partition_changes_leader, 3, fault="failover"),
    Event(SendingRun.time_passes, 2, fault="late"),
)


def take_steps(world: SendingRun, tape: Tape, steps: int) -> bool:
    """So many events; whether no invariant has seen a rule broken."""
    return play(world, tape, weighed(with_faults(SENDING_ACTIONS, tape, 600), tape), steps)


def has_a_past(world: SendingRun, seed: int) -> None:
    """Some events, drawn from a seed: none of 0."""
    take_steps(world, Tape.seeded(seed), seed % LONGEST_PAST)


def run_sending(seed: int, ledger: Ledger) -> SendingRun:
    """One run of a seed, until an invariant sees a rule broken."""
    tape = Tape.seeded(seed)
    world = SendingRun(drawn_sending(Tape.of_number(tape.below(NUMBERS))), ledger)
    if take_steps(world, tape, STEPS):
        world.ends()
    return world

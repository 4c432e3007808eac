"""Runs of the system as rows: each action has its columns, and what the judges of traces read of a release holds."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from model_tests.diagrams.events import Ending
from model_tests.judging.coordinator_verdicts import is_coordinators
from model_tests.kip.recording import COORDINATOR, ELSEWHERE, RECORDED, captions, recorded
from model_tests.kip.searching import SearchedSystem, searched_system
from model_tests.monitor.drawing import sequence_of
from model_tests.traces.schema import BY_NAME, Row, complete, coordinator_step_of, read_ndjson, step_of, write_ndjson
from reference.recording.recorder import FATE, Fate
from spec.algebra import Term
from spec.engines.cells import StateLayout
from spec.engines.explore import InstanceSteps, walked
from spec.engines.verdict import Happening, Trace
from spec.judging import judge_coordinator
from spec.judging.judge import judge
from spec.protocol import ending, ids, registering
from spec.protocol.coordinator import BUMPING
from spec.protocol.coordinator_steps import DECISIONS
from spec.systems.language import State, System, update
from spec.systems.transactions.broken import quiet
from spec.systems.transactions.coordinators import LATER
from spec.systems.transactions.instances import INSTANCES, ReleaseInstance
from spec.systems.transactions.variant import NEWEST_RELEASE, Variant, VariantView, followed
from spec.systems.transactions.world import IDLE, TIMEOUT, Bounds, TransactionKnobs
from spec.versions import KAFKA_3_9, NEWEST, PROFILES, Profile
from spec.vocabulary import ABSENT, Api, ErrorCode, TransactionState

NONE: Final = ErrorCode.NONE.value
TIMED_OUT: Final = "TransactionTimeout"

ALL_FAIL: Final = quiet(
    NEWEST,
    appends_fail=True,
    times_out=True,
    leaders_fail=True,
    clients_bump=True,
    state_expires=True,
    completion_is_of_operation=False,
    bounds=Bounds(instances=2, coordinators=2),
)
"""An instance with every action of the newest release that has rows."""

VERSION_0: Final = quiet(KAFKA_3_9, times_out=True)


@cache
def system_of(knobs: TransactionKnobs) -> SearchedSystem:
    return searched_system(NEWEST_RELEASE, knobs)


def a_walk(knobs: TransactionKnobs, seed: int, length: int) -> Trace:
    """A random run; of what may happen it takes what has happened least."""
    searched, choices = system_of(knobs), random.Random(seed)
    layout = StateLayout(searched.system, searched.finite)
    steps, cells = InstanceSteps(searched.system, searched.finite, layout), layout.initial(searched.system)
    happened, trace = Counter[str](), list[Happening]()
    while len(trace) < length and (possible := list(steps.possible(cells))):
        least = min(happened[happening.action] for happening, _ in possible)
        happening, cells = choices.choice([each for each in possible if happened[each[0].action] == least])
        happened[happening.action] += 1
        trace.append(happening)
    return tuple(trace)


def rows_of(searched: SearchedSystem, trace: Trace) -> Sequence[Row]:
    states = list(walked(searched.system, searched.finite, trace))
    return recorded(searched.name, searched.view, trace, states, lambda step: f"action {step}")


def a_run(text: str) -> Trace:
    """A trace from its actions, each with its arguments."""
    named = (action.split() for action in text.split(";"))
    return tuple(Happening(name, tuple(map(int, at))) for name, *at in named)


# --- the actions ------------------------------------------------------------------------------------------------------


BY_CHANGES: Final = {
    "client_commits_offset",
    "group_receives_commit",
    "group_appends_commit",
    "group_rebalances",
    "reader_fetches",
    "deposed_coordinator_answers",
    "other_id_begins_to_use",
    "other_id_appends",
    "other_id_offset_is_committed",
    "other_id_draws_producer_id",
    "reader_passes_other_id",
}
"""Actions of releases of which it is said what they change."""


def test_every_action_has_rows_or_is_said_by_what_it_changes() -> None:
    """A new action of the system is neither until somebody decides."""
    everything = replace(ALL_FAIL, readers=True, groups=True, other_ids=True, deposed_answers=True)
    everything = replace(everything, bounds=replace(everything.bounds, producer_ids=2))
    before = replace(everything, profile=VERSION_0.profile)

    actions = {action.name for knobs in (everything, before) for action in system_of(knobs).system.actions}

    assert actions == RECORDED.keys() | BY_CHANGES
    assert not RECORDED.keys() & BY_CHANGES


JOINED: Final = (
    "coordinator_initializes 0 0; client_sends_batch 0 0 0 0; leader_receives 0 0 0; coordinator_verifies 0 0 0 0"
)
APPENDED: Final = f"{JOINED}; leader_appends 0 0 0"
ENDED: Final = f"{APPENDED}; client_ends 0 1; coordinator_ends 0 0"
ADDED: Final = "coordinator_initializes 0 0; client_adds_partition 0 0 0; coordinator_adds 0 0 0"

ONGOING, EMPTY = TransactionState.ONGOING.value, TransactionState.EMPTY.value
FENCE: Final = TransactionState.PREPARE_EPOCH_FENCE.value
PREPARED, COMPLETED = TransactionState.PREPARE_COMMIT.value, TransactionState.COMPLETE_COMMIT.value
ABORTED: Final = TransactionState.PREPARE_ABORT.value
FAILED: Final = ErrorCode.COORDINATOR_NOT_AVAILABLE.value
CONCURRENT: Final = ErrorCode.CONCURRENT_TRANSACTIONS.value

CLIENT: Final = {"client": "client 0", "transaction": 0}
IDENTITY: Final = {"producer_id": 0, "producer_epoch": 0}
EXPECTED: Final = {"producer_id": ABSENT, "producer_epoch": ABSENT, "expected_producer_id": 0, "expected_epoch": 0}
AT_COORDINATOR: Final = {"node": "coordinator", "transactional_id": "payments"}
AT_LEADER: Final = {"node": "partition 0", "topic": "orders", "partition": 0}
OF_LEADER: Final = {"api": "AddPartitionsToTxn", "client": "partition 0", "node": "coordinator", "partition": 0}
BY_ITSELF: Final = {"client": "coordinator", "node": "coordinator", "message": ABSENT, "error": NONE}
BATCH: Final = {"api": "Produce", "origin": 0, "base_sequence": 0, "transactional": True, "control": False}
END: Final = {"api": "EndTxn", **CLIENT, **AT_COORDINATOR, **IDENTITY}
MARKER: Final = {"api": "WriteTxnMarkers", "client": "coordinator", "origin": 1, "control": True, "control_type": 1}
SENT, ARRIVED, GIVEN_UP, ANSWERED = ({FATE: each} for each in (Fate.SENT, Fate.ARRIVED, Fate.GIVEN_UP, Fate.ANSWERED))
REMARK: Final = {FATE: Fate.REMARK}


def state(moment: str, number: int, epoch: int, partitions: int, pending: int = ABSENT) -> dict[str, int]:
    """Columns of what the coordinator knows."""
    columns = {"state": number, "epoch": epoch, "partitions": partitions, "pending": pending}
    return {f"{moment}_txn_{name}": value for name, value in columns.items()}


STEPS: Final[Mapping[str, tuple[TransactionKnobs, str, tuple[Row, ...]]]] = {
    "initializes": (
        ALL_FAIL,
        "coordinator_initializes 0 0",
        (
            {"api": "InitProducerId", "client": "client 0", **AT_COORDINATOR, "error": NONE, "reply_epoch": 0}
            | {"reply_producer_id": 0, **state("before", EMPTY, -1, 0), **state("after", EMPTY, 0, 0)},
            ANSWERED | {"error": NONE, "reply_epoch": 0},
        ),
    ),
    "initializes, the record is lost": (
        ALL_FAIL,
        "coordinator_initializes 0 1",
        (
            {"error": FAILED, "reply_epoch": ABSENT, **state("after", EMPTY, -1, 0)},
            REMARK | {"api": "the append to its log fails", "node": "coordinator"},
            ANSWERED | {"error": FAILED},
        ),
    ),
    "asks for a bump": (
        ALL_FAIL,
        "coordinator_initializes 0 0; client_asks_for_bump 0 0",
        (SENT | {"api": "InitProducerId", **CLIENT, **AT_COORDINATOR, **EXPECTED},),
    ),
    "bumps": (
        ALL_FAIL,
        "coordinator_initializes 0 0; client_asks_for_bump 0 0; coordinator_bumps 0 0",
        (
            {"api": "InitProducerId", **CLIENT, **EXPECTED, "reply_epoch": 1, **state("after", EMPTY, 1, 0)},
            ANSWERED | {"reply_epoch": 1},
        ),
    ),
    "sends a batch": (
        ALL_FAIL,
        "coordinator_initializes 0 0; client_sends_batch 0 0 0 0",
        (SENT | BATCH | CLIENT | IDENTITY | AT_LEADER,),
    ),
    "receives": (
        ALL_FAIL,
        "coordinator_initializes 0 0; client_sends_batch 0 0 0 0; leader_receives 0 0 0",
        (ARRIVED | BATCH | CLIENT, SENT | OF_LEADER | IDENTITY),
    ),
    "verifies": (
        ALL_FAIL,
        JOINED,
        (
            {**OF_LEADER, **IDENTITY, "transaction": 0, "error": NONE, **state("before", EMPTY, 0, 0)}
            | {**state("after", ONGOING, 0, 1), "before_partition_registered": False}
            | {"after_partition_registered": True},
            ANSWERED | OF_LEADER,
        ),
    ),
    "appends": (
        ALL_FAIL,
        APPENDED,
        (
            {**BATCH, **CLIENT, **AT_LEADER, "error": NONE, "appended": True, "duplicate": False, "before_epoch": -1}
            | {"after_epoch": 0, "after_txn_first_offset": 0, "after_cached_0_last_sequence": 0}
            | {"verification_pending": True, "verification_guarded": True},
            ANSWERED | BATCH | {"error": NONE},
        ),
    ),
    "appends a copy": (
        ALL_FAIL,
        f"{APPENDED}; leader_receives 0 0 0; leader_appends 0 0 0",
        ({"duplicate": True, "appended": False, "before_epoch": 0, "after_epoch": 0}, ANSWERED | {"duplicate": True}),
    ),
    "ends": (ALL_FAIL, f"{APPENDED}; client_ends 0 1", (SENT | END | {"committed": True},)),
    "ends what is not answered": (
        ALL_FAIL,
        f"{JOINED}; client_ends 0 0",
        (SENT | END | {"committed": False}, GIVEN_UP | BATCH | CLIENT),
    ),
    "is ended": (
        ALL_FAIL,
        ENDED,
        (
            {**END, "committed": True, "error": NONE, "reply_producer_id": 0, "reply_epoch": 1}
            | {**state("before", ONGOING, 0, 1), **state("after", PREPARED, 1, 1, COMPLETED)},
            ANSWERED | {"reply_epoch": 1},
        ),
    ),
    "is not ended, the record is taken for lost": (
        ALL_FAIL,
        f"{APPENDED}; client_ends 0 1; coordinator_ends 0 2",
        (
            END | {"error": FAILED, "reply_epoch": ABSENT},
            REMARK | {"api": "the append to its log is taken for failed"},
            ANSWERED | {"error": FAILED},
        ),
    ),
    "writes a marker": (
        ALL_FAIL,
        f"{ENDED}; leader_writes_marker 0 0 0",
        (
            {**MARKER, **AT_LEADER, "producer_epoch": 1, "coordinator_epoch": 0, "marker_version": 2, "transaction": 0}
            | {"before_txn_first_offset": 0, "after_txn_first_offset": ABSENT, "after_epoch": 1, "appended": True},
            REMARK | {"api": "the marker decides transaction 0", "node": "partition 0"},
            ANSWERED | MARKER,
        ),
    ),
    "writes a marker again": (
        ALL_FAIL,
        f"{ENDED}; leader_writes_marker 0 0 0; leader_writes_marker 0 0 0",
        (MARKER | {"before_epoch": 1, "after_epoch": 1}, ANSWERED | MARKER),
    ),
    "completes": (
        ALL_FAIL,
        f"{ENDED}; leader_writes_marker 0 0 0; coordinator_completes",
        (
            {"api": "MarkersSent", **BY_ITSELF, **AT_COORDINATOR, "transaction": 0}
            | {**state("before", PREPARED, 1, 1, COMPLETED), **state("after", COMPLETED, 1, 0)},
        ),
    ),
    "times out": (
        ALL_FAIL,
        f"{JOINED}; transaction_times_out",
        ({"api": TIMED_OUT, **BY_ITSELF, "transaction": 0, **state("after", ONGOING, 0, 1, FENCE)},),
    ),
    "aborts": (
        ALL_FAIL,
        f"{JOINED}; transaction_times_out; coordinator_aborts 0",
        (
            {"api": "EndTxn", **BY_ITSELF, "committed": False, "transaction": 0}
            | state("after", ABORTED, 1, 1, TransactionState.COMPLETE_ABORT.value),
        ),
    ),
    "fences": (
        ALL_FAIL,
        f"{JOINED}; coordinator_fences 1",
        (
            {
                "api": "InitProducerId",
                "client": "client 1",
                "error": CONCURRENT,
                **state("after", ONGOING, 0, 1, FENCE),
            },
            REMARK | {"api": "fences, and aborts transaction 0", "node": "coordinator"},
            ANSWERED | {"client": "client 1", "error": CONCURRENT},
        ),
    ),
    "a late bump fences": (
        ALL_FAIL,
        "coordinator_initializes 0 0; client_asks_for_bump 0 0; coordinator_bumps 0 0; client_sends_batch 0 1 0 0;"
        "leader_receives 1 0 0; coordinator_verifies 1 0 0 0; bump_meets_open_transaction 0",
        (
            {
                "api": "InitProducerId",
                **CLIENT,
                **EXPECTED,
                "error": CONCURRENT,
                **state("after", ONGOING, 1, 1, FENCE),
            },
            REMARK | {"api": "fences, and aborts transaction 1"},
            ANSWERED | {"error": CONCURRENT},
        ),
    ),
    "the coordinator fails over": (
        ALL_FAIL,
        f"{JOINED}; transaction_times_out; coordinator_fails_over",
        (
            {"api": "CoordinatorLoad", **BY_ITSELF, "coordinator_epoch": 1}
            | {**state("before", ONGOING, 0, 1, FENCE), **state("after", ONGOING, 0, 1)},
        ),
    ),
    "a late completion": (
        ALL_FAIL,
        f"{ENDED}; leader_writes_marker 0 0 0; coordinator_fails_over; late_completion_arrives 0 0",
        (REMARK | {"node": "coordinator"},),
    ),
    "a leader fails over": (
        ALL_FAIL,
        f"{JOINED}; leader_fails_over 0",
        ({"api": "LeaderFailover", **AT_LEADER}, REMARK | {"api": "what was being verified is forgotten"}),
    ),
    "a leader forgets": (
        ALL_FAIL,
        f"{ENDED}; leader_writes_marker 0 0 0; leader_forgets 0 0",
        ({"api": "ProducerStateExpiry", **AT_LEADER, "producer_id": 0, "before_epoch": 1, "after_epoch": ABSENT},),
    ),
    "adds a partition": (
        VERSION_0,
        "coordinator_initializes 0 0; client_adds_partition 0 0 0",
        (SENT | CLIENT | AT_COORDINATOR | {"api": "AddPartitionsToTxn", "topic": "orders", "partition": 0},),
    ),
    "a partition is added": (
        VERSION_0,
        ADDED,
        (
            {"api": "AddPartitionsToTxn", **CLIENT, **AT_COORDINATOR, **IDENTITY, "error": NONE}
            | {**state("before", EMPTY, 0, 0), **state("after", ONGOING, 0, 1), "after_partition_registered": True},
            ANSWERED | {"api": "AddPartitionsToTxn", "error": NONE},
        ),
    ),
    "only verifies": (
        VERSION_0,
        f"{ADDED}; client_sends_batch 0 0 0 0; leader_receives 0 0 0; coordinator_verifies 0 0 0 0",
        (
            {**OF_LEADER, "api": "VerifyPartitions", "error": NONE, **state("after", ONGOING, 0, 1)},
            ANSWERED | {"api": "VerifyPartitions"},
        ),
    ),
    "verifies while a fence is under way": (
        VERSION_0,
        f"{ADDED}; client_sends_batch 0 0 0 0; leader_receives 0 0 0; transaction_times_out;"
        "coordinator_verifies 0 0 0 0",
        (
            {
                "api": "VerifyPartitions",
                **state("before", ONGOING, 0, 1, FENCE),
                **state("after", ONGOING, 0, 1, FENCE),
            },
            ANSWERED | {"api": "VerifyPartitions"},
        ),
    ),
}
"""For each kind of step an instance, a run that ends with it, and columns of its rows."""


@pytest.mark.parametrize("kind", STEPS)
def test_a_step_has_its_rows_with_their_columns(kind: str) -> None:
    """A row for what a node handles, with the state around it; annotations for the rest."""
    knobs, text, expected = STEPS[kind]
    trace = a_run(text)

    rows = [row for row in rows_of(system_of(knobs), trace) if row["step"] == len(trace) - 1]

    assert [each.get(FATE) for each in expected] == [row.get(FATE) for row in rows]
    for each, row in zip(expected, rows, strict=True):
        assert each == {name: row.get(name) for name in each}


def test_the_steps_are_of_every_action() -> None:
    """None is left out of the table."""
    assert RECORDED.keys() == {a_run(text)[-1].action for _, text, _ in STEPS.values()}


def test_copies_of_a_sending_have_its_number_and_another_question_has_another() -> None:
    """A batch that arrives twice is the same; the leader after a failover asks anew."""
    rows = rows_of(
        system_of(ALL_FAIL),
        a_run(f"{JOINED}; leader_fails_over 0; leader_receives 0 0 0; coordinator_verifies 0 0 0 0"),
    )

    batches = [row["message"] for row in rows if row["api"] == Api.PRODUCE]
    questions = [row["message"] for row in rows if row["api"] == Api.ADD_PARTITIONS_TO_TXN]
    assert len(set(batches)) == 1 < len(batches)
    assert [questions[0]] * 3 + [questions[-1]] * 3 == questions
    assert questions[0] != questions[-1]


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda each: each.name)
def test_a_run_is_a_trace_of_which_each_action_is_drawn(instance: ReleaseInstance, tmp_path: Path) -> None:
    """Every column is one of the schema, with a value of its type; the name is no release's; each step has events."""
    trace, file = a_walk(instance.knobs, seed=1, length=40), tmp_path / "run.ndjson"

    rows = rows_of(system_of(instance.knobs), trace)

    assert all(row.keys() - {FATE} == BY_NAME.keys() for row in rows)
    assert len(rows) == write_ndjson(rows, file)
    assert [complete(row) for row in rows] == list(read_ndjson(file))
    assert not {row["profile"] for row in rows} & PROFILES.keys()
    diagram = sequence_of(rows, "a walk", Ending("", "nothing is broken"), captions(system_of(instance.knobs).view))
    assert len(trace) == len(diagram.steps)
    assert all(diagram.steps)


def test_every_participant_of_an_instance_is_drawn() -> None:
    """However many there are; those without an event have no column."""
    three = system_of(quiet(NEWEST, bounds=Bounds(transactions=1, instances=3, partitions=3)))
    rows = rows_of(three, a_run("; ".join(f"coordinator_initializes {instance} 0" for instance in range(3))))

    diagram = sequence_of(rows, "three", Ending("", "nothing is broken"), captions(three.view))

    assert ("client 0", "client 1", "client 2", "coordinator") == diagram.participants


# --- variants ---------------------------------------------------------------------------------------------------------


def refuses(action: str) -> Variant:
    """A variant in which nothing comes of a batch at one action, whatever is decided."""

    def refused(before: State, _: State, *at: Term) -> State:
        return before.but(phase=update(before.phase, *at[:3], to=IDLE))

    def system(of: System, _: VariantView) -> System:
        return followed(of, action, refused)

    return Variant("refusing", "", system=system)


@pytest.mark.parametrize(
    ("action", "run", "who", "api"),
    [
        ("coordinator_verifies", JOINED, ("coordinator", "partition 0"), "AddPartitionsToTxn"),
        ("leader_appends", APPENDED, ("partition 0", "client 0"), "Produce"),
    ],
)
def test_what_only_a_variant_refuses_is_refused_without_an_error(
    action: str, run: str, who: tuple[str, str], api: str
) -> None:
    """The decision has no error for it."""
    rows = rows_of(searched_system(refuses(action), ALL_FAIL), a_run(run))

    *_, step, refusal = rows
    assert (ABSENT, Fate.REFUSED, *who, api) == (
        step["error"],
        *(refusal[name] for name in (FATE, "node", "client", "api")),
    )
    assert not step["appended"]


def test_an_action_without_rows_is_a_remark_about_what_it_changes() -> None:
    """It stands at no participant of a release."""
    rows = rows_of(
        system_of(quiet(NEWEST, groups=True)), a_run("coordinator_initializes 0 0; client_commits_offset 0 0 0")
    )

    assert (Fate.REMARK, ELSEWHERE, "action 1") == tuple(rows[-1][name] for name in (FATE, "node", "api"))


# --- what judges read -------------------------------------------------------------------------------------------------


def version(row: Row) -> int:
    """A version of the request; the system has none."""
    of_end = ending.BUMPS_SINCE if row["transaction_version"] >= BUMPING else ending.BUMPS_SINCE - 1
    of_client = row["api"] == Api.ADD_PARTITIONS_TO_TXN and row["transaction_version"] < BUMPING
    adds = registering.BY_BROKERS_SINCE - 1 if of_client else registering.BY_BROKERS_SINCE
    return {Api.END_TXN: of_end, Api.INIT_PRODUCER_ID: ids.FENCED_SINCE}.get(row["api"], adds)


def with_times(row: Row, profile: Profile) -> Row:
    """The step of a coordinator with the times that the system leaves out: those afterwards are the judge's."""
    now = LATER if row["api"] == TIMED_OUT else 0
    timeouts = dict.fromkeys(("timeout_ms", "before_txn_timeout_ms", "after_txn_timeout_ms"), TIMEOUT)
    began = dict.fromkeys(("before_txn_started_ms", "before_txn_updated_ms", "after_txn_updated_ms"), 0)
    timed = {**row, **timeouts, **began, "time_ms": now, "api_version": version(row)}
    expected = DECISIONS[row["api"]](coordinator_step_of(timed.__getitem__), profile).entry
    return {**timed, "after_txn_started_ms": expected.start_time, "after_txn_updated_ms": expected.update_time}


def with_offsets(row: Row) -> Row:
    """The append with the offsets that the system leaves out: every batch is at offset 0."""
    offset = 0 if row["error"] == NONE else ABSENT
    return {**row, "before_log_end": 0, "first_offset": offset, "last_offset": offset}


def steps_of(rows: Sequence[Row]) -> Iterator[Row]:
    """The steps as a trace has them.

    A fence and the abort that it leads to are one. Partitions leave a transaction one by one: only the last is left.
    """
    fence: Row = {}
    for row in (row for row in rows if FATE not in row):
        if row["api"] == Api.END_TXN and row["client"] == COORDINATOR:
            after = {name: value for name, value in row.items() if name.startswith("after_")}
            yield {**fence, **after, "error": NONE if fence["api"] == TIMED_OUT else row["error"] or fence["error"]}
        elif row["after_txn_pending"] == FENCE != row["before_txn_pending"]:
            fence = row
        elif row["api"] == "MarkersSent":
            yield {**row, "before_txn_partitions": 1}
        elif row["origin"] >= 0 or is_coordinators(row):
            yield row


def broken(row: Row, profile: Profile) -> list[str]:
    """The rules that a step breaks."""
    if row["origin"] >= 0:
        _, checks = judge(step_of(with_offsets(row).__getitem__), profile)
    else:
        step = coordinator_step_of(with_times(row, profile).__getitem__)
        _, checks = judge_coordinator.judge(row["api"], step, profile)
    return [check.rule.id for check in checks if check.at_stake and not check.holds]


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda each: each.name)
def test_the_rows_of_a_release_break_no_rule(instance: ReleaseInstance) -> None:
    """The judges of traces agree with every step, under the release in the instance's bounds."""
    walks = [rows_of(system_of(instance.knobs), a_walk(instance.knobs, seed, length=40)) for seed in range(3)]

    steps = [step for rows in walks for step in steps_of(rows)]

    assert len(steps) >= 20
    assert {
        (step["api"], step["step"]): found for step in steps if (found := broken(step, instance.knobs.profile))
    } == {}


JUDGED: Final = DECISIONS.keys() - {"AddOffsetsToTxn", "MarkerAnswered", "TransactionalIdExpiry"}
"""Steps of coordinators that the system has."""


def test_every_kind_of_step_is_judged() -> None:
    """What breaks no rule is not nothing."""
    runs = [(knobs, a_run(text)) for knobs, text, _ in STEPS.values()]

    judged = [
        (step["api"], broken(step, knobs.profile))
        for knobs, trace in runs
        for step in steps_of(rows_of(system_of(knobs), trace))
    ]

    assert {Api.PRODUCE, Api.WRITE_TXN_MARKERS, *JUDGED} == {api for api, _ in judged}
    assert not [found for _, found in judged if found]

"""The rows of producers and readers in every workload: the contents of the log, from rows of clients alone."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

import pytest

from reference.event import STATE_RETAINED, FaultRates
from reference.recording.recorder import Row, Value
from reference.simulate.shape import Shape
from reference.simulate.simulation import simulate
from spec.versions import NEWEST, PROFILES
from spec.vocabulary import ErrorCode

pytestmark = pytest.mark.xdist_group("reader history")  # one worker makes the traces

SEEDS = range(10)
RELEASES = (NEWEST, PROFILES["2.5"], PROFILES["3.9.0"])
WITH_PRODUCERS = ("producers", "replicas")
COMMIT = 1
FENCED = ErrorCode.FENCED_LEADER_EPOCH

NO_WRITER = ("", -1)
"""Who has made what strangers send, and markers."""

Place = tuple[Value, Value]
"""Reader and partition, or writer and first record."""


@cache
def traces(workload: str, steps: int = 600, faults: FaultRates = STATE_RETAINED) -> Sequence[Sequence[Row]]:
    """Runs of some seeds, made once for all tests that only read them."""
    return tuple(simulate(seed, RELEASES[seed % 3], steps, faults, workload) for seed in SEEDS)


def is_clean(rows: Iterable[Row]) -> bool:
    """No election was unclean, and no position was out of range."""
    return not any(row["elected_uncleanly"] or (row["api"] == "ConsumerFetch" and row["error"] == 1) for row in rows)


def read(rows: Iterable[Row]) -> dict[Place, list[Row]]:
    """The batches that each reader has taken of each partition, in that order."""
    found: defaultdict[Place, list[Row]] = defaultdict(list)
    for row in rows:
        if row["api"] == "ClientFetched":
            found[row["client"], row["partition"]].append(row)
    return found


def lost_or_doubled(rows: Sequence[Row]) -> list[Row]:
    """Acknowledged batches that the first reader has passed, and has not taken, or has taken elsewhere too."""
    taken: defaultdict[Place, list[Value]] = defaultdict(list)
    reached: dict[Value, int] = defaultdict(lambda: -1)
    for row in rows:
        if row["api"] == "ClientFetched" and row["client"] == "reader-0":
            taken[row["writer"], row["first_record"]].append(row["first_offset"])
            reached[row["partition"]] = int(row["last_offset"])
    return [
        row
        for row in rows
        if row["api"] == "ClientAcknowledged"
        and 0 <= int(row["first_offset"]) <= reached[row["partition"]]
        and taken[row["writer"], row["first_record"]] != [row["first_offset"]]
    ]


@pytest.mark.parametrize("workload", WITH_PRODUCERS)
def test_an_application_is_reported_once_of_what_it_has_handed_over_once(workload: str) -> None:
    """A batch is known by its writer and its first record, in the rows of its client as in those of brokers."""
    answers = 0
    for rows in traces(workload):
        steps: dict[Place, list[Value]] = defaultdict(list)
        for row in rows:
            if row["api"] in ("ClientSend", "ClientAcknowledged", "ClientSendFailed"):
                steps[row["writer"], row["first_record"]].append(row["api"])
        assert {"ClientSend"} == {each[0] for each in steps.values()}
        assert {1, 2} >= {len(each) for each in steps.values()}
        assert all(each[1:] != ["ClientSend"] for each in steps.values())
        answers += sum(len(each) == 2 for each in steps.values())
        seen = {(row["writer"], row["first_record"]) for row in rows if row["api"] in ("Produce", "ClientFetched")}
        assert seen - {NO_WRITER} <= steps.keys()

    assert answers > 200


@pytest.mark.parametrize("workload", [*WITH_PRODUCERS, "raw"])
def test_a_reader_continues_where_it_has_stopped(workload: str) -> None:
    """Of each partition it takes one batch after the other, from its position on, without a gap or a repetition."""
    taken = 0
    for rows in filter(is_clean, traces(workload)):
        for batches in read(rows).values():
            ends = [int(row["last_offset"]) + 1 for row in batches]
            starts = [int(row["first_offset"]) for row in batches]
            taken += len(batches)
            assert starts == [starts[0], *ends[:-1]]

    assert taken > 60


@pytest.mark.parametrize("workload", WITH_PRODUCERS)
def test_what_is_acknowledged_is_read_where_it_was_said_to_be(workload: str) -> None:
    """By its own rows alone, a reader that has come so far has taken each batch once, at the offset of its answer."""
    acknowledged = 0
    for rows in filter(is_clean, traces(workload, faults=FaultRates(restart=0, expiry=0, late=0, power=0, deletion=0))):
        assert [] == [row for row in lost_or_doubled(rows) if row["acks"] == -1 and int(row["producer_id"]) >= 0]
        acknowledged += sum(row["api"] == "ClientAcknowledged" for row in rows)

    assert acknowledged > 200


@pytest.mark.parametrize("idempotent", [True, False])
def test_a_batch_that_is_appended_twice_is_seen_by_a_reader(idempotent: bool) -> None:
    """The rows of clients show what producers without idempotence do, and nothing of those that have it."""
    shape, faults = Shape(idempotent=idempotent), replace(STATE_RETAINED, loss=80)

    found = [row for seed in SEEDS for row in lost_or_doubled(simulate(seed, NEWEST, 600, faults, shape=shape))]

    assert (not idempotent) == bool(found)


def test_readers_of_anything_report_what_is_committed() -> None:
    """What a marker ends, as one reader sees it, decides what the other one is given."""
    compared, withheld = 0, 0
    for rows in filter(is_clean, traces("raw")):
        everything, committed = (read(rows)[f"reader-{number}", 0] for number in (0, 1))
        expected = decided(everything)
        for row in committed:
            if row["first_offset"] in expected:
                assert expected[row["first_offset"]] == row["delivered"]
                compared += 1
                withheld += not row["delivered"] and not row["control"]

    assert compared > 100
    assert withheld > 10


def decided(batches: Iterable[Row]) -> dict[Value, bool]:
    """Whether each batch is of no transaction, or of one that a marker has committed, as far as that is known."""
    visible: dict[Value, bool] = {}
    open_at: defaultdict[Value, list[Value]] = defaultdict(list)
    for row in batches:
        if row["control"]:
            visible |= dict.fromkeys(open_at.pop(row["producer_id"], ()), row["control_type"] == COMMIT)
            visible[row["first_offset"]] = False
        elif row["transactional"]:
            open_at[row["producer_id"]].append(row["first_offset"])
        else:
            visible[row["first_offset"]] = True
    return visible


def test_a_reader_is_refused_by_a_broker_that_does_not_lead() -> None:
    """It names the leader epoch that it knows; what refuses it is a broker that has not heard, or has heard more."""
    fetches = [row for rows in traces("replicas", 1000, FaultRates()) for row in rows if row["api"] == "ConsumerFetch"]
    refused = [row for row in fetches if row["error"] not in (0, 1)]

    assert FENCED in {row["error"] for row in refused}
    assert {FENCED, ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER} >= {
        row["error"] for row in refused
    }
    assert all(row["batch_count"] == 0 for row in refused)
    for row in refused:
        assert (int(row["asked_leader_epoch"]) < int(row["leader_epoch"])) == (row["error"] == FENCED)

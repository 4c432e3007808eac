"""Who gets which partitions, and how members say so in bytes."""

import pytest

from reference.broker.transaction_bytes import MalformedState
from reference.broker.transaction_metadata import TopicPartition
from reference.client.assignment import (
    ASSIGNORS,
    Assignment,
    Assignor,
    Subscriber,
    Subscription,
    by_range,
    by_round_robin,
    decode_assignment,
    decode_subscription,
)

A, B, C = (Subscriber(name, ("t", "u")) for name in "abc")
ONLY_T = Subscriber("a", ("t",))
STATIC = Subscriber("z", ("t", "u"), "i-1")

Wanted = dict[str, list[str]]

RANGE: list[tuple[list[Subscriber], dict[str, int], Wanted]] = [
    ([A], {"t": 3, "u": 1}, {"a": ["t0", "t1", "t2", "u0"]}),
    ([A, B], {"t": 3, "u": 3}, {"a": ["t0", "t1", "u0", "u1"], "b": ["t2", "u2"]}),
    ([B, A], {"t": 4}, {"a": ["t0", "t1"], "b": ["t2", "t3"]}),
    ([A, B, C], {"t": 2}, {"a": ["t0"], "b": ["t1"], "c": []}),
    ([ONLY_T, B], {"t": 2, "u": 2}, {"a": ["t0"], "b": ["t1", "u0", "u1"]}),
    ([A, STATIC], {"t": 3}, {"a": ["t2"], "z": ["t0", "t1"]}),
    ([A, B], {}, {"a": [], "b": []}),
]

ROUND_ROBIN: list[tuple[list[Subscriber], dict[str, int], Wanted]] = [
    ([A], {"t": 3}, {"a": ["t0", "t1", "t2"]}),
    ([A, B], {"t": 3, "u": 3}, {"a": ["t0", "t2", "u1"], "b": ["t1", "u0", "u2"]}),
    ([A, B, C], {"t": 2}, {"a": ["t0"], "b": ["t1"], "c": []}),
    ([ONLY_T, B], {"t": 1, "u": 3}, {"a": ["t0"], "b": ["u0", "u1", "u2"]}),
    ([A, STATIC], {"t": 3}, {"a": ["t1"], "z": ["t0", "t2"]}),
]


def reported(assigned: dict[str, list[TopicPartition]]) -> Wanted:
    return {member: [f"{topic}{number}" for topic, number in partitions] for member, partitions in assigned.items()}


@pytest.mark.parametrize(("members", "counts", "expected"), RANGE)
def test_by_range(members: list[Subscriber], counts: dict[str, int], expected: Wanted) -> None:
    """Each topic is cut into runs, and the first members have one more of every topic."""
    assert expected == reported(by_range(members, counts))


@pytest.mark.parametrize(("members", "counts", "expected"), ROUND_ROBIN)
def test_by_round_robin(members: list[Subscriber], counts: dict[str, int], expected: Wanted) -> None:
    """Partitions of all topics are dealt out in turn, past members that do not want the topic."""
    assert expected == reported(by_round_robin(members, counts))


@pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=ASSIGNORS)
@pytest.mark.parametrize("count", range(1, 6))
def test_each_partition_has_one_member(assignor: Assignor, count: int) -> None:
    """No partition is left out or given twice, and no more members are active than there are partitions."""
    members = [Subscriber(f"m{number}", ("t",)) for number in range(count)]

    assigned = assignor(members, {"t": 3})

    assert [TopicPartition("t", n) for n in range(3)] == sorted(p for ps in assigned.values() for p in ps)
    assert min(count, 3) == sum(bool(partitions) for partitions in assigned.values())


def test_a_subscription_in_bytes() -> None:
    """Version, topics, and user data that are not there."""
    data = Subscription(("t",)).encode()

    assert bytes.fromhex("0000 00000001 0001 74 ffffffff") == data
    assert Subscription(("t",)) == decode_subscription(data)


def test_an_assignment_in_bytes() -> None:
    """Version, the partitions of each topic, and user data."""
    partitions = (TopicPartition("t", 0), TopicPartition("t", 2), TopicPartition("u", 1))

    data = Assignment(partitions, b"!").encode()

    assert "0000 00000002 000174 00000002 00000000 00000002 000175 00000001 00000001 00000001 21".replace(" ", "") == (
        data.hex()
    )
    assert Assignment(partitions, b"!") == decode_assignment(data)


def test_later_versions_add_fields_behind() -> None:
    """What follows the user data, as owned partitions since version 1, is left alone."""
    newer = bytes.fromhex("0001 00000001 0001 74 ffffffff 00000000")

    assert Subscription(("t",)) == decode_subscription(newer)


def test_nothing_is_assigned_by_no_bytes() -> None:
    """A member that the leader has not named gets nothing."""
    assert Assignment(()) == decode_assignment(b"")


@pytest.mark.parametrize("damaged", ["0000", "ffff 00000000 ffffffff", "0000 00000000 fffffffe", "0000 7fffffff"])
def test_damaged_bytes(damaged: str) -> None:
    """Bytes that end early, of a negative version or length, are refused."""
    with pytest.raises(MalformedState):
        decode_subscription(bytes.fromhex(damaged))

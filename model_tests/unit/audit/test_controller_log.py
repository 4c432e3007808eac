from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_tests.audit.controller_log_fold import controller_history
from model_tests.audit.controller_log_history import ControllerHistory, LeaderEpochEntry, PartitionLeaders
from model_tests.audit.log import read_log
from model_tests.audit.recorded import CLUSTER, leader_changes
from model_tests.logs.controller_log import ControllerLog, UnreadRecords, read_controller
from model_tests.logs.controller_log_values import (
    BrokerChange,
    ClearedEligible,
    NotRead,
    read_change,
)
from model_tests.logs.coordinator_log import raw_records
from model_tests.logs.kafka_log_fields import MalformedBytes, UnknownSchema
from model_tests.logs.kafka_log_folders import list_logs
from spec.vocabulary import ABSENT


def test_the_recorded_history_is_what_another_reader_saw(recordings: Path) -> None:
    """All 1507 changes of partitions: what changed, who leads in which epoch, who is in sync."""
    (log,) = list_logs([str(recordings / CLUSTER / "n100")]).logs
    batches, _ = read_log(log)

    history, changes = controller_history(read_controller(log, batches), 0, 0, 0)

    seen = [
        {
            "off": one.offset,
            "topic": one.topic,
            "part": one.partition,
            "kind": "+".join(one.kinds),
            "leader": one.leader,
            "epoch": one.leader_epoch,
            "isr": list(one.in_sync),
        }
        for one in changes
    ]
    coordinators = [one for one in history.partitions if one.topic == "__transaction_state"]
    assert seen == list(leader_changes())
    assert sum(one.elections for one in coordinators) == 56
    assert history.judged == len(changes) - len(history.partitions)


def history_with(kind: str) -> ControllerHistory:
    """The history of a log with records of a kind that are not read."""
    unread = UnreadRecords(kind, 5, 4, 2, 15, 17)
    return controller_history(ControllerLog(whole=True, unread=[unread]), 20, 1, 0)[0]


def test_who_leads_is_unknown_only_after_records_that_may_say_it() -> None:
    """Records of brokers do not, records of an unknown kind may."""
    assert history_with("RegisterBroker").knows_leaders
    assert not history_with("PartitionChange").knows_leaders
    assert not history_with("kind 30").knows_leaders


def test_a_partition_had_a_leader_in_some_of_its_epochs() -> None:
    """Whether it had one after the last of them is not known."""
    led = tuple(LeaderEpochEntry(epoch, leader, 0, 0) for epoch, leader in enumerate((1, 2, ABSENT)))

    partition = PartitionLeaders("a", 0, led, (1, 2), (2,))

    assert [partition.led(epoch) for epoch in range(4)] == [True, True, False, None]


@pytest.fixture(scope="module")
def values(recordings: Path) -> list[bytes]:
    """A record of every kind and version that the cluster wrote."""
    (log,) = list_logs([str(recordings / CLUSTER / "n100")]).logs
    batches, _ = read_log(log)
    kinds: dict[bytes, bytes] = {}
    for raw in raw_records(log, batches, [], []):
        kinds.setdefault((raw.value or b"")[:3], raw.value or b"")
    return list(kinds.values())


@given(st.data())
def test_damaged_records_are_never_more_than_malformed_or_unknown(values: list[bytes], data: st.DataObject) -> None:
    """Whatever is cut off or overwritten: one of the two errors, or a record."""
    content = bytearray(data.draw(st.sampled_from(values)))
    cut = data.draw(st.integers(0, len(content)))
    if cut:
        content[data.draw(st.integers(0, cut - 1))] = data.draw(st.integers(0, 255))

    with suppress(MalformedBytes, UnknownSchema):
        read_change(bytes(content[:cut]))


ID = bytes(range(16))


def _registered(version: int) -> bytes:
    """Broker 7, not fenced, without endpoints, features or rack; shuts down where the version can say so."""
    migrating = b"\0" if version >= 2 else b""
    leaving = b"\1" if version >= 1 else b""
    tags = {3: b"\1\0\x11\2" + ID, 4: b"\2\0\x11\2" + ID + b"\1\x11\2" + ID}.get(version, b"\0")
    body = (7).to_bytes(4, "big") + migrating + ID + (9).to_bytes(8, "big") + b"\1\1\0\0" + leaving + tags
    return bytes((1, 0, version)) + body


def _change_of(version: int) -> bytes:
    """Broker 7 is fenced, and shuts down where the version can say so."""
    tags = [b"\0\1\1", b"\1\1\1", b"\2\x11\2" + ID, b"\3\1\1"][: version + 1]
    body = (7).to_bytes(4, "big") + (9).to_bytes(8, "big") + bytes((len(tags),)) + b"".join(tags)
    return bytes((1, 17, version)) + body


@pytest.mark.parametrize("version", range(5))
def test_every_version_of_a_registration_is_read(version: int) -> None:
    """Version 3 adds log directories, version 4 those that are cordoned; both are tagged fields."""
    assert read_change(_registered(version)) == (
        "RegisterBroker",
        BrokerChange(7, fenced=False, shutting_down=version >= 1),
    )


@pytest.mark.parametrize("version", range(4))
def test_every_version_of_a_change_of_a_registration_is_read(version: int) -> None:
    """Version 1 adds the controlled shutdown, version 2 log directories, version 3 those that are cordoned."""
    assert read_change(_change_of(version)) == (
        "BrokerRegistrationChange",
        BrokerChange(7, fenced=True, shutting_down=True if version >= 1 else None),
    )


@pytest.mark.parametrize(
    ("content", "kind", "version", "newest"),
    [
        (_registered(5), "RegisterBroker", 5, 4),
        (_change_of(3)[:2] + b"\4" + _change_of(3)[3:], "BrokerRegistrationChange", 4, 3),
        (b"\1\x1e\2", "kind 30", 2, ABSENT),
        (b"\2\0\0", "a record in a frame", 2, 1),
    ],
    ids=["registration", "change", "kind", "frame"],
)
def test_an_unknown_version_is_reported_with_its_record_kind(
    content: bytes, kind: str, version: int, newest: int
) -> None:
    """The kind and the version, and the newest version that is known of the kind."""
    with pytest.raises(NotRead) as raised:
        read_change(content)

    assert (raised.value.kind, raised.value.version, raised.value.newest) == (kind, version, newest)


def test_cleared_eligible_replicas_and_unregistered_controllers_are_kinds_of_their_own() -> None:
    """The one changes who may be elected, of a topic or of all; the other has nothing to do with leaders."""
    assert read_change(b"\1\x1c\0\2a\0") == ("ClearElr", ClearedEligible("a"))
    assert read_change(b"\1\x1c\0\1\0") == ("ClearElr", ClearedEligible(""))
    assert read_change(b"\1\x1d\0") == ("UnregisterController", None)

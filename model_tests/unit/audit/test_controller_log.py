from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_tests.audit.changes import batches_in
from model_tests.audit.controller_log_fold import controller_history
from model_tests.audit.controller_log_history import ControllerHistory
from model_tests.audit.log import read_log
from model_tests.audit.recorded import CLUSTER, leader_changes
from model_tests.histories.severity import Severity
from model_tests.logs.controller_log import ControllerLog, ControllerRecord, UnreadRecords, read_controller
from model_tests.logs.controller_log_values import (
    NO_LEADER_CHANGE,
    Bracket,
    BrokerChange,
    Change,
    ClearedEligible,
    NewTopic,
    NotRead,
    PartitionChange,
    RemovedTopic,
    read_change,
)
from model_tests.logs.coordinator_log import raw_records
from model_tests.logs.kafka_log_fields import MalformedBytes, UnknownSchema
from model_tests.logs.kafka_log_folders import list_logs
from spec.versions import KAFKA_3_9, NEWEST, Profile
from spec.vocabulary import ABSENT

TOPIC = UUID(int=7)
BROKERS = [BrokerChange(broker, fenced=False, shutting_down=False) for broker in (1, 2, 3)]
CREATED = PartitionChange(
    TOPIC,
    0,
    leader=1,
    in_sync=(1, 2, 3),
    replicas=(1, 2, 3),
    recovering=False,
    eligible=(),
    last_known=(),
    leader_epoch=0,
)


def reported(
    *batches: Change | list[Change], profile: Profile = NEWEST, unread: Sequence[UnreadRecords] = ()
) -> tuple[ControllerHistory, list[tuple[Any, ...]]]:
    """The history of a topic of one partition after these batches, and what is found in it."""
    start: list[Change | list[Change]] = [[*BROKERS, NewTopic(TOPIC, "a"), CREATED]]
    rows = [batch if isinstance(batch, list) else [batch] for batch in (*start, *batches)]
    records = [
        ControllerRecord(row, 10 * row + place, 1000 * row, change)
        for row, batch in enumerate(rows)
        for place, change in enumerate(batch)
    ]
    history, _ = controller_history(
        ControllerLog(records, whole=True, unread=list(unread)), 10 * len(rows), 1, 0, profile
    )
    return history, [(one.rule.id, one.severity, one.offset) for one in history.findings]


def changed(leader: int | None = None, in_sync: tuple[int, ...] | None = None, **more: Any) -> PartitionChange:
    return PartitionChange(TOPIC, 0, leader=NO_LEADER_CHANGE if leader is None else leader, in_sync=in_sync, **more)


def fenced(broker: int) -> BrokerChange:
    return BrokerChange(broker, fenced=True)


def back(broker: int) -> BrokerChange:
    return BrokerChange(broker, fenced=False)


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


def test_clean_elections_and_changes_of_the_set_are_no_findings() -> None:
    """A leader dies, one in sync follows, the dead one returns and leads again by preference."""
    history, found = reported(
        [changed(leader=2, in_sync=(2, 3)), fenced(1)],
        back(1),
        changed(in_sync=(2, 3, 1)),
        changed(leader=1),
        changed(leader=ABSENT),
    )

    (partition,) = history.partitions
    assert found == []
    assert [(one.epoch, one.leader) for one in partition.leaderships] == [(0, 1), (1, 2), (2, 1), (3, ABSENT)]
    assert (partition.shrinks, partition.expansions, partition.in_sync) == (1, 1, (2, 3, 1))
    assert [partition.led(epoch) for epoch in range(5)] == [True, True, True, False, None]


@pytest.mark.parametrize(
    ("batches", "severity", "word"),
    [
        ((changed(in_sync=(1, 3)), changed(leader=2)), Severity.VIOLATION, "does not say that it must recover"),
        ((changed(in_sync=(1, 3)), changed(leader=2, in_sync=(2,), recovering=True)), Severity.VIOLATION, "one is"),
        (([changed(leader=3, in_sync=(3,))], [fenced(3)], changed(leader=1, in_sync=(1,), recovering=True)),
         Severity.KNOWN, "broker 1 leads a-0 from leader epoch 2 on, since no replica in sync (3) is alive"),
        ((fenced(2), changed(leader=2)), Severity.VIOLATION, "not registered, fenced, or shutting down"),
        ((BrokerChange(2, shutting_down=True), changed(leader=2)), Severity.VIOLATION, "shutting down"),
        ((BrokerChange(2, registered=False), changed(leader=2)), Severity.VIOLATION, "not registered"),
        ((changed(leader=4),), Severity.VIOLATION, "its replicas are 1, 2, 3"),
        ((changed(in_sync=(2, 3)),), Severity.VIOLATION, "without leader 1"),
        ((changed(in_sync=(1, 2)), fenced(3), changed(in_sync=(1, 2, 3))), Severity.VIOLATION, "though 3 is fenced"),
        ((changed(in_sync=(1, 2, 3, 4)),), Severity.VIOLATION, "but the replicas are"),
    ],
)  # fmt: skip
def test_what_an_election_may_not_do_is_found(
    batches: tuple[Change | list[Change], ...], severity: Severity, word: str
) -> None:
    """At the record, with who and why; an unclean election that is recorded as one is known."""
    history, found = reported(*batches)

    assert found == [("repl.committed_survives", severity, 10 * len(batches))]
    assert word in history.findings[0].message


def test_the_last_member_stays_before_kip_966() -> None:
    """An empty in-sync set is for releases with eligible leader replicas."""
    gone = changed(leader=ABSENT, in_sync=())

    assert reported(gone, profile=NEWEST)[1] == []
    assert reported(gone, profile=KAFKA_3_9)[1] == [("repl.committed_survives", Severity.VIOLATION, 10)]


def test_an_eligible_replica_leads_where_none_is_in_sync() -> None:
    """Under KIP-966 it has all that is committed; one record fences the last in sync and elects it."""
    empty: list[Change] = [changed(leader=ABSENT, in_sync=(), eligible=(2,)), fenced(1), fenced(3)]
    alone = changed(leader=1, in_sync=(1,), eligible=(2,))
    elected = changed(leader=2, in_sync=(2,), eligible=())

    assert reported(empty, elected, profile=NEWEST)[1] == []
    assert reported(alone, [elected, fenced(1)], profile=NEWEST)[1] == []


@pytest.mark.parametrize("recovering", [None, True])
def test_an_eligible_replica_waits_while_another_is_in_sync(recovering: bool | None) -> None:
    """It is not elected beside a live member, as the preferred leader or otherwise (KIP-966)."""
    with_unclean = changed(leader=3, in_sync=(3,), eligible=(1, 2))

    history, found = reported(with_unclean, changed(leader=1, in_sync=(1,), eligible=(2, 3), recovering=recovering))

    assert found == [("repl.committed_survives", Severity.VIOLATION, 20)]
    assert "as an eligible replica, though of those in sync (3) one is alive" in history.findings[0].message


GONE: list[Change] = [changed(leader=ABSENT, in_sync=(), eligible=(), last_known=(1,)), *map(fenced, (1, 2, 3))]
"""Broker 1 led last, alone in sync, and was stopped uncleanly; so were the others."""
AGAIN: list[Change] = [back(1), changed(leader=1, in_sync=(1,), last_known=(), recovering=True)]


def test_the_last_leader_is_elected_again_where_both_sets_are_empty() -> None:
    """It has what it appended, and its broker lost none of it as far as is known: no finding, no unclean election."""
    history, found = reported(GONE, AGAIN)

    (partition,) = history.partitions
    assert found == []
    assert [one.epoch for one in partition.again] == [2]
    assert partition.unclean == ()


def test_a_recovery_state_is_named_only_where_it_changes() -> None:
    """A partition that recovers already is elected again without it, as often as its broker comes back."""
    unnamed: list[Change] = [back(1), changed(leader=1, in_sync=(1,), last_known=())]

    history, found = reported(GONE, AGAIN, GONE, unnamed, GONE, unnamed)

    assert found == []
    assert [one.epoch for one in history.partitions[0].again] == [2, 4, 6]


@pytest.mark.parametrize(
    ("batches", "severity"),
    [
        ((GONE, [back(1), changed(leader=1, in_sync=(1,), last_known=())]), Severity.VIOLATION),
        ((GONE, AGAIN, changed(recovering=False), GONE, [back(1), changed(leader=1, in_sync=(1,), last_known=())]),
         Severity.VIOLATION),
        ((GONE, [back(2), changed(leader=2, in_sync=(2,), last_known=(), recovering=True)]), Severity.KNOWN),
        ((GONE, [ClearedEligible("a")], AGAIN), Severity.KNOWN),
        ((GONE, [ClearedEligible("")], AGAIN), Severity.KNOWN),
        ((GONE, [ClearedEligible("b")], AGAIN), None),
    ],
    ids=["never named", "recovered since", "another replica", "forgotten", "all forgotten", "another topic"],
)  # fmt: skip
def test_what_is_no_election_of_the_last_leader(
    batches: tuple[Change | list[Change], ...], severity: Severity | None
) -> None:
    """The state has to be RECOVERING, and the record before has to name the leader as the last one."""
    _, found = reported(*batches)

    assert [(rule, how) for rule, how, _ in found] == ([("repl.committed_survives", severity)] if severity else [])


UNREAD = UnreadRecords("RegisterBroker", 5, 4, 2, 15, 17)


@pytest.mark.parametrize(
    ("unread", "severity"),
    [
        (UNREAD, Severity.UNDECIDED),
        (replace(UNREAD, first=ABSENT, last=ABSENT), Severity.UNDECIDED),
        (replace(UNREAD, first=21, last=30), Severity.VIOLATION),
        (UnreadRecords("kind 30", 0, ABSENT, 1, 3, 3), Severity.UNDECIDED),
    ],
    ids=["before", "in the checkpoint", "later", "a kind"],
)
def test_what_depends_on_records_that_are_not_read_is_undecided(unread: UnreadRecords, severity: Severity) -> None:
    """They are reported by kind, version, count and place, and a finding after the first of them is a doubt."""
    history, found = reported(fenced(2), changed(leader=2), unread=[unread])

    assert ("repl.committed_survives", Severity.UNDECIDED, max(unread.first, 0)) in found
    assert ("repl.committed_survives", severity, 20) in found
    assert f"not read: {unread}" in history.findings[0].message
    assert str(UNREAD) == "2 RegisterBroker of version 5, known up to 4, at offsets 15 to 17"


def test_who_leads_is_unknown_only_after_records_that_may_say_it() -> None:
    """Records of brokers do not, records of an unknown kind may."""
    assert reported(unread=[UNREAD])[0].knows_leaders
    assert not reported(unread=[replace(UNREAD, kind="PartitionChange")])[0].knows_leaders
    assert not reported(unread=[replace(UNREAD, kind="kind 30")])[0].knows_leaders


def test_a_leader_epoch_that_falls_is_found() -> None:
    """A record that repeats the whole state may not go back."""
    again = PartitionChange(TOPIC, 0, 1, (1, 2, 3), (1, 2, 3), False, (), (), 0)

    assert reported(changed(leader=2), again)[1] == [("repl.prefix_agreement", Severity.VIOLATION, 20)]


def test_events_that_share_a_batch_are_in_no_order() -> None:
    """A broker that is elected, and fenced later in the same batch, was alive."""
    assert reported([changed(leader=2), changed(leader=3, in_sync=(1, 3)), fenced(2)])[1] == []


def test_an_aborted_metadata_transaction_changed_nothing() -> None:
    """Records between begin and abort are passed over, those before an end take effect."""
    history, found = reported(
        [Bracket("begin"), changed(leader=4), Bracket("abort")],
        [Bracket("begin"), changed(leader=3), Bracket("end")],
    )

    assert found == []
    assert history.partitions[0].leader == 3


def test_a_deleted_topic_is_forgotten() -> None:
    """The next topic of its name begins at leader epoch 0 again."""
    other = UUID(int=8)
    made = PartitionChange(other, 0, 3, (3,), (3,), False, (), (), 0)

    history, found = reported([RemovedTopic(TOPIC)], [NewTopic(other, "a"), made])

    assert found == []
    assert [(one.topic, len(one.leaderships)) for one in history.partitions] == [("a", 1)]


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


def test_a_log_continues_its_checkpoint(recordings: Path, tmp_path: Path) -> None:
    """A controller's log without its beginning has the state in a checkpoint; without one nothing is judged."""
    source = recordings / CLUSTER / "n100" / "__cluster_metadata-0"
    (segment,) = source.glob("*.log")
    content = segment.read_bytes()
    cut = next(start for start, _ in batches_in(content) if int.from_bytes(content[start : start + 8], "big") > 1100)
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    base = int.from_bytes(content[cut : cut + 8], "big")
    (folder / f"{base:020}.log").write_bytes(content[cut:])

    def history() -> ControllerHistory:
        (log,) = list_logs([str(folder)]).logs
        batches, _ = read_log(log)
        return controller_history(read_controller(log, batches), 0, 0, 0)[0]

    without = history()
    (folder / f"{base:020}-0000000001.checkpoint").write_bytes(content[:cut])
    with_checkpoint = history()

    assert (without.whole, without.judged, without.partitions) == (False, 0, ())
    assert with_checkpoint.whole
    assert [one.offset for one in with_checkpoint.findings] == [1204, 1468]
    assert len(with_checkpoint.partitions) == 34


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

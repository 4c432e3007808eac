"""Groups on the reference as a session sees them: members, commits, markers on an offsets partition, fetches."""

from model_tests.conform.answers import (
    FetchedOffsetAnswer,
    MarkersWritten,
    OffsetsCommitted,
    OffsetsFetched,
    RecordedJoin,
)
from model_tests.conform.on_reference import OnReference
from model_tests.conform.requests import (
    AddOffsetsToTxn,
    JoinSync,
    RecordedInitProducerId,
    RecordedMarker,
    RecordedOffsetCommit,
    RecordedOffsetFetch,
    RecordedTxnOffsetCommit,
    Restart,
    WriteTxnMarkers,
)
from spec.versions import KAFKA_3_9, SNAPSHOT_4_0, Profile
from spec.vocabulary import ErrorCode

OFFSETS = "__consumer_offsets[g0]"
ID = "t0"


def opened(profile: Profile = KAFKA_3_9) -> OnReference:
    """A side on which producer 0 has offset 8 of t-0 pending for group g0."""
    side = OnReference(profile, ["t-0", "t-1"])
    side.answer(RecordedInitProducerId(4, ID))
    side.answer(AddOffsetsToTxn(3, ID, 0, 0, "g0"))
    side.answer(RecordedTxnOffsetCommit(3, ID, 0, 0, "g0", (("t-0", 8),)))
    return side


def fetched(side: OnReference, require_stable: bool) -> OffsetsFetched:
    """OffsetFetch of t-0."""
    answer = side.answer(RecordedOffsetFetch(7, "g0", ("t-0",), require_stable))
    assert isinstance(answer, OffsetsFetched)
    return answer


def test_a_transaction_names_the_group_of_its_offsets_partition() -> None:
    """As a session does, which knows no number of it."""
    side = opened()

    assert (OFFSETS,) == side.seen().transactions[ID].partitions
    (producer,) = side.seen().groups["g0"].producers
    assert (0, 0, 0) == (producer.producer_id, producer.last_sequence, producer.current_txn_start_offset)


def test_a_marker_on_an_offsets_partition() -> None:
    """Written in a coordinator's place, it decides about the pending offsets."""
    side = opened(SNAPSHOT_4_0)
    assert ErrorCode.UNSTABLE_OFFSET_COMMIT is fetched(side, require_stable=True).partitions["t-0"].error

    answer = side.answer(WriteTxnMarkers(1, (RecordedMarker(0, 0, True, 0, (OFFSETS, "t-0", "nope-0")),)))

    assert isinstance(answer, MarkersWritten)
    assert {
        OFFSETS: ErrorCode.NONE,
        "t-0": ErrorCode.NONE,
        "nope-0": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    } == answer.markers[0].errors
    assert FetchedOffsetAnswer(ErrorCode.NONE, 8) == fetched(side, require_stable=True).partitions["t-0"]


def test_a_member_joins_and_commits() -> None:
    """Its id outlives a restart of the broker; another id is none."""
    side = OnReference(KAFKA_3_9, ["t-0"])
    joined = side.answer(JoinSync("g0", None))
    assert isinstance(joined, RecordedJoin)
    side.answer(Restart(clean=False))

    answers = [
        side.answer(RecordedOffsetCommit(7, "g0", joined.generation, member, (("t-0", 5), ("nope-0", 5))))
        for member in ("nobody", joined.member)
    ]

    missing = {"nope-0": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert (1, ErrorCode.NONE) == (joined.generation, joined.error)
    assert [
        OffsetsCommitted({"t-0": ErrorCode.UNKNOWN_MEMBER_ID, **missing}),
        OffsetsCommitted({"t-0": ErrorCode.NONE, **missing}),
    ] == answers
    assert 5 == side.seen().groups["g0"].offsets["t-0"].committed


def test_pending_offsets_after_a_restart() -> None:
    """They wait for their marker as before."""
    side = opened()
    side.answer(Restart(clean=False))

    view = side.seen().groups["g0"].offsets["t-0"]

    assert (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT) == (view.committed, view.stable.error)

import pytest

from model_tests.conform.answers import (
    FetchedOffsetAnswer,
    OffsetsAdded,
    OffsetsCommitted,
    OffsetsFetched,
    RecordedJoin,
)
from model_tests.conform.decision_log import Ruled
from model_tests.conform.on_specification import OnSpecification
from model_tests.conform.requests import (
    AddOffsetsToTxn,
    JoinSync,
    RecordedEndTxn,
    RecordedInitProducerId,
    RecordedOffsetCommit,
    RecordedOffsetFetch,
    RecordedTxnOffsetCommit,
    Restart,
)
from spec import rules
from spec.versions import KAFKA_3_9, KAFKA_3_9_UNVERIFIED, NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import ErrorCode

UNSTABLE = FetchedOffsetAnswer(ErrorCode.UNSTABLE_OFFSET_COMMIT)


def begun(profile: Profile = KAFKA_3_9, *, joins: bool = False) -> OnSpecification:
    """A broker on which t0 has an open transaction that the offsets of g0 belong to."""
    side = OnSpecification(profile, ["t-0"])
    side.answer(RecordedInitProducerId(4, "t0"))
    if joins:
        side.answer(JoinSync("g0", None))
    assert side.answer(AddOffsetsToTxn(3, "t0", 0, 0, "g0")) == OffsetsAdded(ErrorCode.NONE)
    return side


def end(side: OnSpecification, version: int = 3, *, committed: bool) -> None:
    """End the transaction, and have its markers written."""
    side.answer(RecordedEndTxn(version, "t0", 0, 0, committed))
    side.settle()


def held(
    offset: int, version: int = 3, epoch: int = 0, partition: str = "t-0", **claim: int | str
) -> RecordedTxnOffsetCommit:
    return RecordedTxnOffsetCommit(version, "t0", 0, epoch, "g0", ((partition, offset),), **claim)  # type: ignore[arg-type]  # a claim's fields


def error(side: OnSpecification, request: RecordedTxnOffsetCommit | RecordedOffsetCommit) -> ErrorCode:
    answer = side.answer(request)
    assert isinstance(answer, OffsetsCommitted)
    return answer.errors["t-0"]


def fetched(side: OnSpecification, *, stable: bool) -> FetchedOffsetAnswer:
    answer = side.answer(RecordedOffsetFetch(7, "g0", ("t-0",), stable))
    assert isinstance(answer, OffsetsFetched)
    return answer.partitions["t-0"]


@pytest.mark.parametrize("committed", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize("profile", [KAFKA_3_9, SNAPSHOT_4_0], ids=lambda profile: profile.name)
def test_offsets_of_a_transaction_become_true_with_its_commit(profile: Profile, committed: bool) -> None:
    """Until it ends a stable fetch waits, and another gets the offset before; an abort leaves that."""
    side = begun(profile)
    side.answer(RecordedOffsetCommit(7, "g0", -1, "", (("t-0", 4),)))

    accepted = error(side, held(9))
    waiting = (fetched(side, stable=False), fetched(side, stable=True))
    end(side, committed=committed)

    assert accepted is ErrorCode.NONE
    assert waiting == (FetchedOffsetAnswer(ErrorCode.NONE, 4), UNSTABLE)
    assert fetched(side, stable=True) == FetchedOffsetAnswer(ErrorCode.NONE, 9 if committed else 4)


def test_a_later_commit_outside_the_transaction_holds() -> None:
    """Its record is after that of the transaction, though the marker is after both."""
    side = begun()
    side.answer(held(9))
    side.answer(RecordedOffsetCommit(7, "g0", -1, "", (("t-0", 4),)))

    end(side, committed=True)

    assert fetched(side, stable=True) == FetchedOffsetAnswer(ErrorCode.NONE, 4)


def test_a_restart_keeps_what_is_pending() -> None:
    """It is in the log; and so are the members of the group."""
    side = begun(joins=True)
    side.answer(held(9))

    side.answer(Restart(clean=False))
    waiting = fetched(side, stable=True)
    end(side, committed=True)

    assert waiting == UNSTABLE
    assert fetched(side, stable=True) == FetchedOffsetAnswer(ErrorCode.NONE, 9)
    assert error(side, RecordedOffsetCommit(7, "g0", 1, "member-1", (("t-0", 5),))) is ErrorCode.NONE


def test_a_refused_append_drops_what_was_pending_until_the_next_restart() -> None:
    """In 3.9 the memory of the group forgets it, and its log does not."""
    side = begun(KAFKA_3_9_UNVERIFIED)
    side.answer(held(9))
    side.answer(held(8, epoch=2))

    refused = error(side, held(7, epoch=1))
    reported = fetched(side, stable=True)
    side.answer(Restart(clean=True))

    assert refused is ErrorCode.INVALID_PRODUCER_EPOCH
    assert reported == FetchedOffsetAnswer(ErrorCode.NONE, -1)
    assert fetched(side, stable=True) == UNSTABLE


def test_a_past_generation_commits_nothing() -> None:
    """The member of the generation does; a commit without a member only in a transaction."""
    side = begun(joins=True)
    plain = (("t-0", 5),)

    transactional = [error(side, held(9, generation=generation, member="member-1")) for generation in (0, 1)]

    assert transactional == [ErrorCode.ILLEGAL_GENERATION, ErrorCode.NONE]
    assert error(side, RecordedOffsetCommit(7, "g0", 0, "member-1", plain)) is ErrorCode.ILLEGAL_GENERATION
    assert error(side, RecordedOffsetCommit(7, "g0", -1, "", plain)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert error(side, held(9)) is ErrorCode.NONE


def test_a_static_member_that_was_replaced_is_fenced() -> None:
    """Who joins with the instance id next takes its place, in the same generation."""
    side = begun()
    joined = [side.answer(JoinSync("g0", "i")) for _ in range(2)]

    assert joined == [RecordedJoin(ErrorCode.NONE, "i-1", 1), RecordedJoin(ErrorCode.NONE, "i-2", 1)]
    assert error(side, held(9, generation=1, member="i-1", group_instance_id="i")) is ErrorCode.FENCED_INSTANCE_ID
    assert error(side, held(9, generation=1, member="i-2", group_instance_id="i")) is ErrorCode.NONE


def test_a_commit_is_of_the_rules_that_let_it_in() -> None:
    """Its answer is evidence of the generation fence where it names a member, its state of the stable fetch."""
    side = begun(joins=True)

    side.answer(held(9, generation=1, member="member-1"))
    accepted = {rule for decision in side.decided if isinstance(decision, Ruled) for rule in decision.rules}

    assert {
        rules.OFFSETS_GENERATION_FENCE,
        rules.OFFSETS_STABLE_FETCH,
        rules.OFFSETS_ATOMIC,
        rules.TXN_REGISTERED_BEFORE_DATA,
    } <= accepted


def test_a_partition_that_is_not_there_changes_nothing() -> None:
    """A commit of such partitions alone does not even make the group known."""
    side = begun(SNAPSHOT_4_0)

    answer = side.answer(held(9, partition="nope-0"))

    assert answer == OffsetsCommitted({"nope-0": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
    assert side.seen().groups == {}


def test_add_offsets_is_of_a_client_of_version_0_or_1() -> None:
    """However new the request is: the transaction that it begins is not one of version 2."""
    side = OnSpecification(SNAPSHOT_4_0, ["t-0"])
    side.answer(RecordedInitProducerId(4, "t0"))
    side.answer(AddOffsetsToTxn(4, "t0", 0, 0, "g0"))

    assert side.answer(AddOffsetsToTxn(1, "t0", 0, 7, "g0")) == OffsetsAdded(ErrorCode.INVALID_PRODUCER_EPOCH)
    assert side.answer(AddOffsetsToTxn(2, "t0", 0, 7, "g0")) == OffsetsAdded(ErrorCode.PRODUCER_FENCED)
    assert side.seen().transactions["t0"].partitions == ("__consumer_offsets[g0]",)


def test_a_commit_of_a_client_of_version_2_joins_the_transaction_by_itself() -> None:
    """Version 5 adds the partition of the group's offsets; version 4 asks whether it is in the transaction."""
    side = OnSpecification(NEWEST, ["t-0"])
    side.answer(RecordedInitProducerId(4, "t0"))

    request, added = error(side, held(9, version=4)), error(side, held(9, version=5))
    end(side, 5, committed=True)

    assert (request, added) == (ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.NONE)
    assert fetched(side, stable=True) == FetchedOffsetAnswer(ErrorCode.NONE, 9)
    assert error(side, held(10, version=5)) is ErrorCode.INVALID_PRODUCER_EPOCH

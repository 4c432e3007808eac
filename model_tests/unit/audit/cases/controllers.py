"""The controller's log: who was elected, who was in sync, and what cannot be read."""

from pathlib import Path
from typing import Any, Final
from uuid import UUID

from model_tests.audit.changes import batches_in
from model_tests.audit.recorded import CLUSTER
from model_tests.logs.controller_log_values import (
    NO_LEADER_CHANGE,
    Bracket,
    BrokerChange,
    Change,
    ClearedEligible,
    NewTopic,
    PartitionChange,
    RemovedTopic,
)
from model_tests.unit.audit.audit_case import AuditCase
from model_tests.unit.audit.written import encoded, placed
from model_tests.unit.audit.written_controller import controller_batch
from reference.log.batch import RecordBatch
from spec.versions import KAFKA_3_9, NEWEST, Profile
from spec.vocabulary import ABSENT

Batch = Change | bytes | tuple[Change | bytes, ...]

LOG: Final = "__cluster_metadata-0"
TOPIC, NEXT_TOPIC = UUID(int=7), UUID(int=8)
START: Final = controller_batch(
    *(BrokerChange(broker, fenced=False, shutting_down=False) for broker in (1, 2, 3)),
    NewTopic(TOPIC, "a"),
    PartitionChange(TOPIC, 0, 1, (1, 2, 3), (1, 2, 3), False, (), (), 0),
)
"""Three brokers and a topic of one partition, led by the first of them: records 0 to 4."""


def batches_of(*batches: Batch) -> tuple[RecordBatch, ...]:
    """Each takes effect as a whole."""
    return tuple(controller_batch(*(each if isinstance(each, tuple) else (each,))) for each in batches)


def history(name: str, batches: tuple[Batch, ...], *findings: str, **more: Any) -> AuditCase:
    """The log after its start: record 5 is the first of these."""
    return AuditCase(name, findings=findings, explains={}, logs={LOG: (START, *batches_of(*batches))}, **more)


def found(severity: str, offset: int, step: str = "election") -> str:
    """A finding about an election or, with another step, a change of the in-sync set."""
    return f"{severity} repl.committed_survives {LOG}@{offset}{f', {step}' * bool(step)}"


def changed(leader: int = NO_LEADER_CHANGE, in_sync: tuple[int, ...] | None = None, **more: Any) -> PartitionChange:
    """The partition changes."""
    return PartitionChange(TOPIC, 0, leader=leader, in_sync=in_sync, **more)


def fenced(broker: int) -> BrokerChange:
    """It may not lead."""
    return BrokerChange(broker, fenced=True)


def back(broker: int) -> BrokerChange:
    """It is alive again."""
    return BrokerChange(broker, fenced=False)


def leaders(*brokers: int) -> dict[str, object]:
    """What the report has of the leaders of the partition, one for each leader epoch from 0 on."""
    place = "cluster.partitions.0.leaders"
    each = {f"{place}.{epoch}.leader": broker for epoch, broker in enumerate(brokers)}
    epochs = {f"{place}.{epoch}.leader_epoch": epoch for epoch in range(len(brokers))}
    return {**each, **epochs, "cluster.elections": len(brokers) - 1}


ALLOWED: Final = (
    history(
        "a leader dies, one in sync follows, and the dead one leads again by preference",
        (
            (changed(leader=2, in_sync=(2, 3)), fenced(1)),
            back(1),
            changed(in_sync=(2, 3, 1)),
            changed(leader=1),
            changed(leader=ABSENT),
        ),
        reported={
            **leaders(1, 2, 1, ABSENT),
            "cluster.shrinks": 1,
            "cluster.expansions": 1,
            "cluster.partitions.0.in_sync": [2, 3, 1],
        },
    ),
    history(
        "events that share a batch are in no order: one who is elected and then fenced was alive",
        ((changed(leader=2), changed(leader=3, in_sync=(1, 3)), fenced(2)),),
    ),
    history(
        "an aborted metadata transaction changed nothing, one that ended did",
        (
            (Bracket("begin"), changed(leader=4), Bracket("abort")),
            (Bracket("begin"), changed(leader=3), Bracket("end")),
        ),
        reported=leaders(1, 3),
    ),
    history(
        "the next topic of a name begins at leader epoch 0 again",
        (
            RemovedTopic(TOPIC),
            (NewTopic(NEXT_TOPIC, "a"), PartitionChange(NEXT_TOPIC, 0, 3, (3,), (3,), False, (), (), 0)),
        ),
        reported=leaders(3),
    ),
)

NOT_ALLOWED: Final = (
    history(
        "one that is not in sync is elected, and does not recover",
        (changed(in_sync=(1, 3)), changed(leader=2)),
        found("violation", 6),
        says=("does not say that it must recover",),
    ),
    history(
        "one that is not in sync is elected while one in sync is alive",
        (changed(in_sync=(1, 3)), changed(leader=2, in_sync=(2,), recovering=True)),
        found("violation", 6),
        says=("one is",),
    ),
    history(
        "an unclean election that is recorded as one is known",
        (
            (changed(leader=3, in_sync=(3,)),),
            (fenced(3),),
            changed(leader=1, in_sync=(1,), recovering=True),
        ),
        found("known", 7),
        says=("broker 1 leads a-0 from leader epoch 2 on, since no replica in sync (3) is alive",),
    ),
    *(
        history(f"one that is {what} is elected", (change, changed(leader=2)), found("violation", 6), says=(words,))
        for what, change, words in (
            ("fenced", fenced(2), "not registered, fenced, or shutting down"),
            ("shutting down", BrokerChange(2, shutting_down=True), "shutting down"),
            ("not registered", BrokerChange(2, registered=False), "not registered"),
        )
    ),
    history(
        "one that is no replica is elected",
        (changed(leader=4),),
        found("violation", 5),
        says=("its replicas are 1, 2, 3",),
    ),
    history(
        "the leader leaves the in-sync set",
        (changed(in_sync=(2, 3)),),
        found("violation", 5),
        says=("without leader 1",),
    ),
    history(
        "one that is fenced joins the in-sync set",
        (changed(in_sync=(1, 2)), fenced(3), changed(in_sync=(1, 2, 3))),
        found("violation", 7, "AlterPartition"),
        says=("though 3 is fenced",),
    ),
    history(
        "one that is no replica joins the in-sync set",
        (changed(in_sync=(1, 2, 3, 4)),),
        found("violation", 5),
        says=("but the replicas are",),
    ),
    history(
        "a leader epoch falls: a record that repeats the whole state may not go back",
        (changed(leader=2), PartitionChange(TOPIC, 0, 1, (1, 2, 3), (1, 2, 3), False, (), (), 0)),
        f"violation repl.prefix_agreement {LOG}@6, election",
    ),
)


def last_member_leaves(profile: Profile, *findings: str) -> AuditCase:
    """The in-sync set becomes empty."""
    return history(
        f"the last member leaves the in-sync set, {profile.name}",
        (changed(leader=ABSENT, in_sync=()),),
        *findings,
        options={"profile": profile},
    )


WITH_ELIGIBLE: Final = changed(leader=3, in_sync=(3,), eligible=(1, 2))

ELIGIBLE: Final = (
    last_member_leaves(NEWEST),
    last_member_leaves(KAFKA_3_9, found("violation", 5)),
    history(
        "an eligible replica leads where none is in sync",
        (
            (changed(leader=ABSENT, in_sync=(), eligible=(2,)), fenced(1), fenced(3)),
            changed(leader=2, in_sync=(2,), eligible=()),
        ),
    ),
    history(
        "one batch fences the last in sync and elects an eligible replica",
        (
            changed(leader=1, in_sync=(1,), eligible=(2,)),
            (changed(leader=2, in_sync=(2,), eligible=()), fenced(1)),
        ),
    ),
    *(
        history(
            f"an eligible replica is elected beside one in sync{how}",
            (WITH_ELIGIBLE, changed(leader=1, in_sync=(1,), eligible=(2, 3), recovering=recovering)),
            found("violation", 6),
            says=("as an eligible replica, though of those in sync (3) one is alive",),
        )
        for how, recovering in (("", None), (", and recovers", True))
    ),
)

GONE: Final[tuple[Change, ...]] = (
    changed(leader=ABSENT, in_sync=(), eligible=(), last_known=(1,)),
    *map(fenced, (1, 2, 3)),
)
"""Broker 1 led last, alone in sync, and was stopped uncleanly; so were the others."""
AGAIN: Final = (back(1), changed(leader=1, in_sync=(1,), last_known=(), recovering=True))
UNNAMED: Final = (back(1), changed(leader=1, in_sync=(1,), last_known=()))
"""It is elected again, and the record does not name a recovery state."""


def elected_again(epochs: int) -> dict[str, object]:
    """What the report has of elections of the last leader, in every second leader epoch."""
    place = "cluster.partitions.0.leaders"
    again = {f"{place}.{epoch}.again": not epoch % 2 for epoch in range(1, epochs)}
    return {**again, "cluster.again": epochs // 2, "cluster.unclean": 0, "cluster.elections": epochs - 1}


LAST_LEADER: Final = (
    history("the last leader is elected again where both sets are empty", (GONE, AGAIN), reported=elected_again(3)),
    history(
        "a partition that recovers already is elected again without naming that",
        (GONE, AGAIN, GONE, UNNAMED, GONE, UNNAMED),
        reported=elected_again(7),
    ),
    history("the last leader is elected again, and never recovers", (GONE, UNNAMED), found("violation", 10)),
    history(
        "the last leader is elected again, and has recovered since it was before",
        (GONE, AGAIN, changed(recovering=False), GONE, UNNAMED),
        found("violation", 17),
    ),
    history(
        "another replica than the last leader is elected",
        (GONE, (back(2), changed(leader=2, in_sync=(2,), last_known=(), recovering=True))),
        found("known", 10),
    ),
    *(
        history(
            f"the last leader is elected where the last leaders of {whose} were forgotten",
            (GONE, (ClearedEligible(topic),), AGAIN),
            *findings,
        )
        for whose, topic, findings in (
            ("its topic", "a", (found("known", 11),)),
            ("all topics", "", (found("known", 11),)),
            ("another topic", "b", ()),
        )
    ),
)

NEWER: Final = b"\1\0\5"
"""A registration of a version that is not known."""
UNKNOWN: Final = b"\1\x1e\0"
"""A record of a kind that is not known."""
DEAD_LEADS: Final = (fenced(2), changed(leader=2))
"""A violation at record 6, where it is the first after the start."""


def checkpointed(directory: Path) -> None:
    """What comes before the log's first record is in a checkpoint."""
    content = encoded(placed((START, *batches_of(NEWER))))
    (directory / LOG / f"{6:020}-0000000001.checkpoint").write_bytes(content)


NOT_READ: Final = (
    history(
        "two registrations of an unknown version come before",
        ((NEWER, NEWER), *DEAD_LEADS),
        found("undecided", 5, ""),
        found("undecided", 8),
        says=(
            "not read: 2 RegisterBroker of version 5, known up to 4, at offsets 5 to 6",
            "unless records that are not read say otherwise",
        ),
    ),
    AuditCase(
        "a registration of an unknown version is in the checkpoint",
        findings=(found("undecided", 0, ""), found("undecided", 7)),
        says=("not read: 1 RegisterBroker of version 5, known up to 4, in the checkpoint",),
        logs={f"{LOG}/6": batches_of(*DEAD_LEADS)},
        edit=checkpointed,
    ),
    history(
        "a registration of an unknown version comes later",
        (*DEAD_LEADS, NEWER),
        found("undecided", 7, ""),
        found("violation", 6),
        reported=leaders(1, 2),
    ),
    history(
        "a record of an unknown kind comes before, and may say who leads",
        (UNKNOWN, *DEAD_LEADS),
        found("undecided", 5, ""),
        found("undecided", 7),
        says=("not read: 1 kind 30 of version 0, at offset 5",),
    ),
    history(
        "a change of a partition of an unknown version may say who leads",
        (b"\1\5\x09",),
        found("undecided", 5, ""),
    ),
)


def begun_later(directory: Path) -> None:
    """The recorded log begins behind offset 1100; what was before is in a checkpoint."""
    (segment,) = (directory / "n100" / LOG).glob("*.log")
    content = segment.read_bytes()
    starts = ((start, int.from_bytes(content[start : start + 8], "big")) for start, _ in batches_in(content))
    cut, base = next((start, base) for start, base in starts if base > 1100)
    segment.with_stem(f"{base:020}").write_bytes(content[cut:])
    segment.with_name(f"{base:020}-0000000001.checkpoint").write_bytes(content[:cut])
    segment.unlink()
    segment.with_name("leader-epoch-checkpoint").unlink()


def without_checkpoint(directory: Path) -> None:
    """Of what was before nothing is left."""
    begun_later(directory)
    (checkpoint,) = directory.rglob("*.checkpoint")
    checkpoint.unlink()


RECORDED: Final[dict[str, Any]] = {"recording": CLUSTER, "parts": (f"n100/{LOG}",)}
JUDGED: Final = "judged.repl.committed_survives"

CONTINUED: Final = (
    AuditCase(
        "a recorded log continues its checkpoint",
        findings=(found("known", 1204), found("known", 1468)),
        edit=begun_later,
        reported={"cluster.partitions.33.topic": "zombie", "cluster.partitions.33.leaders.0.offset": 42},
        **RECORDED,
    ),
    AuditCase(
        "of a recorded log without its begin and a checkpoint nothing is judged",
        edit=without_checkpoint,
        reported={JUDGED: 0, "cluster.partitions": []},
        **RECORDED,
    ),
)

CASES: Final = (*CONTINUED, *ALLOWED, *NOT_ALLOWED, *ELIGIBLE, *LAST_LEADER, *NOT_READ)

"""Transactions that should have ended by the time until which the logs go on, who ended others, and wrong clocks."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from model_tests.unit.audit.audit_case import AuditCase, Change
from model_tests.unit.audit.cases.transactions import UNREGISTERED
from model_tests.unit.audit.directory_edits import Edit
from model_tests.unit.audit.stories import BEGUN, StoryWriter
from model_tests.unit.audit.written import data
from model_tests.unit.audit.written_cluster import COMMIT, WrittenCluster
from model_tests.unit.audit.written_world import write_world
from reference.log.batch import RecordBatch, marker_batch
from reference.world.instances import ApplicationRun
from reference.world.transaction_shape import TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.protocol.ids import WITHOUT_LIMIT
from spec.vocabulary import MAX_EPOCH, Epoch, ProducerId, Timestamp

MINUTE: Final = 60_000
HOUR: Final = 60 * MINUTE

OVERDUE: Final = (
    AuditCase(
        "a transaction is past its timeout",
        "late: init late 7; late: add a b; late: send a b; minutes 2; other: init other 8; other: txn a",
        ("suspicious txn.timeout a-0@0, late, abort of timed out transactions",),
        says=("a-0 offset 0, b-0 offset 0",),
        counts="committed=1 overdue=1",
        held=(
            "a-0 at offset 0, 3 offsets before its end, by producer 7 epoch 0 (late), since 1970-01-01 00:16:40.010: "
            "1 committed record waits; its coordinator should have aborted it by itself at 1970-01-01 00:17:40.010",
            "b-0 at offset 0, 1 offsets before its end, by producer 7 epoch 0 (late), since 1970-01-01 00:16:40.010: "
            "0 committed records wait",
        ),
    ),
    AuditCase(
        "a transaction is within its timeout",
        "late: init late 7; late: add a; late: send a; wait 30000; other: init other 8; other: txn a",
        held=("its coordinator aborts it by itself at 1970-01-01 00:17: ... nothing here shows that it hangs",),
    ),
    AuditCase(
        "only a partition goes on past the timeout: the coordinator's log may have been copied before it",
        "late: init late 7; late: add a; late: send a; hour; foreign a 9 commit",
        ("undecided txn.timeout a-0@0, late, abort of timed out transactions",),
        says=("copied before",),
        remedy=("copy __transaction_state-0 again",),
    ),
    AuditCase(
        "a decided transaction with all markers is not completed for an hour",
        "late: init late 7; late: add b; late: send b; late: prepare abort; late: mark b; hour; "
        "other: init other 8; other: txn a",
        ("suspicious txn.completes __transaction_state-0@2, late, completion after the markers",),
        says=("1 markers are written",),
        held=(),
    ),
    AuditCase(
        "a decided transaction without its marker is not completed for an hour",
        "late: init late 7; late: add b; late: send b; late: prepare abort; hour; other: init other 8; other: txn a",
        ("suspicious txn.completes __transaction_state-0@2, late, completion after the markers",),
        says=("no marker in b-0",),
        held=("(late)",),
    ),
    AuditCase(
        "an end is on its way for some seconds",
        "late: init late 7; late: add b; late: send b; late: prepare abort; wait 10000; "
        "other: init other 8; other: txn a",
        counts="committed=1 completing=1",
    ),
)

YEARS: Final = "clock now; minutes 90000000; "
"""Until `clock =now` the clock is that of a later century."""

WRONG_CLOCKS: Final = (
    AuditCase(
        "the coordinator's clock was a century ahead for one transaction",
        f"init tx 7; other: init other 8; {YEARS} other: txn b; clock =now; wait 5000; other: txn b; txn a; "
        "add a; send a",
        held=("nothing here shows that it hangs",),
    ),
    AuditCase(
        "a client of the partition is a century ahead",
        f"{BEGUN} {YEARS} blank a; clock =now; add a; send a",
        held=("nothing here shows that it hangs",),
    ),
    *(
        AuditCase(
            f"data hangs whose client is {how}; markers of others are behind it",
            f"{BEGUN} other: init other 8; clock now; {clock}; send a; clock =now; wait 1000; other: txn a",
            (f"violation txn.registered_before_data a-0@4, tx, {UNREGISTERED}",),
            held=(since,),
        )
        for how, clock, since in (
            ("a century ahead", "minutes 90000000", "(tx), since 1970-01-01 00:16:41.1"),
            ("late", "wait -500000", "(tx), since 1970-01-01 00:16:40.0"),
        )
    ),
)


def of_two_phases(cluster: WrittenCluster) -> None:
    """A transaction without a timeout is open for two hours."""
    cluster.values["tx"] = replace(cluster.values["tx"], timeout_ms=WITHOUT_LIMIT)
    StoryWriter(cluster).write("add a; send a; hour; hour; other: init other 8; other: txn b")


def at_the_last_epoch(cluster: WrittenCluster) -> None:
    """The producer id was not changed when its epochs were used up, and the producer went on."""
    cluster.values["tx"] = replace(cluster.values["tx"], epoch=Epoch(MAX_EPOCH - 1))
    StoryWriter(cluster).write("txn a; add a b; send a b")


NEVER_ABORTED: Final = (
    AuditCase(
        "a transaction of two phases is open for hours",
        "init tx 7; txn a b",
        held=("open without a timeout, as for a two-phase commit ... forceTerminateTransaction",),
        change=of_two_phases,
    ),
    AuditCase(
        "a transaction is open with the epoch that is kept for the fence",
        "init tx 7; txn a b",
        ("violation fence.epoch_exhaustion a-0@4, tx, rotation of the producer id",),
        remedy=("abort --topic a --partition 0 --start-offset 4; kafka-transactions.sh",),
        held=("a-0 at offset 4 ... another transactional id", "b-0 at offset 2"),
        version=2,
        change=at_the_last_epoch,
        kept=tuple(range(4, 8)),
    ),
    *(
        AuditCase(
            f"the coordinator's log ends with {what} instead of a Prepare record",
            f"{BEGUN} add a; send a; {step}",
            findings,
            held=("no coordinator has it any more ... abort --topic a --partition 0 --start-offset 4",),
        )
        for what, step, findings in (
            (
                "a Complete record",
                "record complete_abort",
                ("violation txn.legal_transition __transaction_state-0@8, tx, completion after the markers",),
            ),
            (
                "a tombstone",
                "tombstone",
                ("undecided txn.legal_transition __transaction_state-0@8, tx, expiration of the id",),
            ),
        )
    ),
)


def data_at(timestamp: int) -> Change:
    """The last data of A has this time."""

    def change(cluster: WrittenCluster) -> None:
        number = max(number for number, one in enumerate(cluster.logs["a", 0]) if not one.is_control)
        last = cluster.logs["a", 0][number]
        at = Timestamp(timestamp)
        cluster.logs["a", 0][number] = last._replace(base_timestamp=at, max_timestamp=at)

    return change


TIMELESS: Final = AuditCase(
    "data without a time hangs, whose producer's clock is behind",
    "init tx 7; clock now; wait -9000000; add a; send a; clock =now; prepare commit; mark a; complete; send a",
    (f"violation txn.registered_before_data a-0@2, tx, {UNREGISTERED}",),
    held=("epoch 0 (tx), since 1970-01-01 00:16:40.0",),
    change=data_at(-1),
)

ABORTED: Final = "Transactions: 1 aborted (aborted: 1 by {})."
COMMITTED: Final = "Transactions: 1 committed."

ENDED_BY: Final = tuple(
    AuditCase(
        f"a transaction with a timeout of a minute is open for {seconds} s, then {how}",
        f"init tx 7; add a; send a; wait {seconds}000; prepare {how}; mark a; complete",
        reported={"transactions.listed.0.ended_by": by},
        printed=(line,),
        options={"transactions": True},
        version=version,
    )
    for version, how, seconds, by, line in (
        (0, "commit", 0, "client", COMMITTED),
        (0, "abort", 0, "client", ABORTED.format("their client")),
        (0, "abort", 120, "client", ABORTED.format("their client")),
        (0, "abort fenced", 0, "fence", ABORTED.format("a fence")),
        (0, "abort fenced", 61, "timeout", ABORTED.format("their timeout")),
        (2, "abort", 0, "client or fence", ABORTED.format("their client or a fence")),
        (2, "abort", 61, "timeout", ABORTED.format("their timeout")),
        (2, "commit", 61, "client", COMMITTED),
    )
)
"""Under versions 0 and 1 only the coordinator's own abort raises the epoch; under version 2 every end does."""

FENCED: Final = "txn a abort fenced; "
FENCED_AGAIN: Final = tuple(
    AuditCase(
        f"an id of which others fence {fences} transactions in a row",
        "init tx 7; " + "".join(f"{FENCED}init tx 7 epoch={2 * number}; " for number in range(1, fences + 1)) + "txn a",
        findings,
        says=says,
        counts=f"aborted={fences} committed=1",
    )
    for fences, findings, says in (
        (3, (), ()),
        (
            4,
            ("suspicious fence.stale_epoch __transaction_state-0@2, tx, InitProducerId",),
            ("4 of 5 transactions of tx were aborted by a fence",),
        ),
    )
)
"""One fence is how a producer that was restarted begins."""


def settled(world: TransactionWorld) -> None:
    """All that is under way arrives; no time passes."""
    for _ in range(20):
        for instance in world.living:
            if instance.producer.may_poll():
                world.producer_asks(instance)
            for partition in world.sendable(instance):
                world.producer_sends(instance, partition)
        for request in tuple(world.wires.requests.in_transit):
            world.broker_receives(request)
        for answer in tuple(world.wires.replies.in_transit):
            world.sender_receives(answer)


def begun(world: TransactionWorld, transactional_id: str) -> ApplicationRun:
    """An application with a record in a transaction."""
    instance = world.application_starts(transactional_id)
    world.application_initializes(instance)
    settled(world)
    world.application_begins(instance)
    world.application_sends(instance, world.partitions[0])
    settled(world)
    return instance


def one_commits(world: TransactionWorld) -> None:
    """Another application commits a transaction, with all markers."""
    world.application_commits(begun(world, "other"))
    settled(world)
    world.coordinator_sends_markers(0)
    settled(world)


def one_crashes(*, reaped: bool) -> Edit:
    """The logs of a cluster whose coordinator serves others for longer than the timeout of one that crashed."""

    def edit(directory: Path) -> None:
        world = TransactionWorld(shape=TransactionShape(nodes=1, transaction_timeout_ms=MINUTE))
        world.application_crashes(begun(world, "late"))
        world.clock.advance(2 * MINUTE)
        if reaped:
            world.coordinator_aborts_timed_out(0)
            world.coordinator_sends_markers(0)
            settled(world)
        one_commits(world)
        write_world(world, directory)

    return edit


def one_is_decided(*, markers: bool) -> Edit:
    """The logs of a cluster in which a transaction is decided, and others are for hours after it."""

    def edit(directory: Path) -> None:
        world = TransactionWorld(shape=TransactionShape(nodes=1, transaction_timeout_ms=MINUTE))
        world.application_commits(begun(world, "late"))
        settled(world)
        owed = world.brokers.nodes[0].transactions.markers.owed
        assert len(owed) == 1
        if not markers:
            owed.clear()
        for _ in range(3):
            world.clock.advance(HOUR)
            one_commits(world)
        write_world(world, directory)

    return edit


BY_A_COORDINATOR: Final = (
    AuditCase(
        "a coordinator aborts what its client left",
        counts="aborted=1 committed=1",
        held=(),
        edit=one_crashes(reaped=True),
    ),
    AuditCase(
        "a coordinator's reaper never runs",
        findings=("suspicious txn.timeout t-0@0, late, abort of timed out transactions",),
        counts="committed=1 overdue=1",
        held=("t-0 at offset 0, 3 offsets before its end, by producer 0 epoch 0 (late)",),
        edit=one_crashes(reaped=False),
    ),
    AuditCase("a coordinator completes what is decided", counts="committed=4", edit=one_is_decided(markers=True)),
    AuditCase(
        "a coordinator sends no markers of one id",
        findings=("suspicious txn.completes __transaction_state-0@2, late, completion after the markers",),
        counts="committed=3 overdue=1",
        held=("t-0 at offset 0, 7 offsets before its end, by producer 0 epoch 0 (late)",),
        edit=one_is_decided(markers=False),
    ),
)


def of_another(milliseconds: int) -> RecordBatch:
    """The marker of another producer, at a time."""
    return marker_batch(ProducerId(9), Epoch(0), COMMIT, 0, milliseconds)


OLD: Final = data(0, transactional=True, at=MINUTE)
"""Data of a transaction whose record has a time of the first minute."""

ALONE: Final = (
    AuditCase(
        "a partition alone shows data that is older than any timeout",
        findings=("suspicious txn.timeout a-0@0, producer 7, abort of timed out transactions",),
        says=("until 1970-01-01 01:16:00.000 (by the markers behind it)",),
        remedy=("give the log of its coordinator, too, __transaction_state-N",),
        not_printed=("nothing here shows",),
        logs={"a-0": (OLD, of_another(HOUR), of_another(HOUR + 16 * MINUTE))},
    ),
    AuditCase(
        "old timestamps of clients make no old transaction: the marker before the data is later",
        held=("a-0 at offset 1, 2 offsets before ... since 1970-01-01 10:00:00.000 ... whether it hangs is not known",),
        logs={"a-0": (of_another(10 * HOUR), OLD, of_another(10 * HOUR + MINUTE))},
    ),
)

CASES: Final = (
    *OVERDUE,
    *WRONG_CLOCKS,
    *NEVER_ABORTED,
    TIMELESS,
    *ENDED_BY,
    *FENCED_AGAIN,
    *BY_A_COORDINATOR,
    *ALONE,
)

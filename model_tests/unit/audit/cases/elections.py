"""Elections of replicas that were not in sync: what one is shown to have taken is known, and nothing else is excused.

A story's times, in ms from a million on: the second transaction is prepared at 62 and complete at 73, by the records of
its coordinator. Partition A is led by broker 1 and, from 45 on, in leader epoch 1 by broker 3, alone in sync.
"""

from dataclasses import replace
from typing import Any, Final

from model_tests.audit.changes import in_leader_epoch
from model_tests.logs.controller_log_values import Change
from model_tests.unit.audit.audit_case import AuditCase
from model_tests.unit.audit.cases.controllers import AGAIN, GONE, LOG, START, changed, fenced
from model_tests.unit.audit.directory_edits import Edit, batch, edits, gone, text, void, without_batches
from model_tests.unit.audit.written_controller import controller_batch
from model_tests.unit.support.audited_histories import PRODUCER, ack, begin, ended, reported
from reference.log.batch import RecordBatch
from spec.vocabulary import ABSENT, Timestamp

A, B = ("a", 0), ("b", 0)
JOURNAL: Final = "journal.gz"

HANGING: Final = "init tx 7; txn a b; add a b; send a b; prepare commit; mark b; complete; wait 100; "
"""The second transaction has data in A at offset 2, and no marker."""
NOWHERE: Final = "init tx 7; txn a b; add a b; send b; prepare commit; mark b; complete; wait 100; "
"""The second transaction has neither data nor a marker in A."""


def at(after_ms: int, *changes: Change) -> RecordBatch:
    """What the controller wrote so many ms after a million."""
    time = Timestamp(1_000_000 + after_ms)
    return controller_batch(*changes)._replace(base_timestamp=time, max_timestamp=time)


def unclean(after_ms: int) -> tuple[RecordBatch, ...]:
    """Broker 3, alone in sync, goes, and broker 1 is elected."""
    return at(after_ms, fenced(3)), at(after_ms, changed(leader=1, in_sync=(1,), recovering=True))


THIRD: Final = at(45, changed(leader=3, in_sync=(3,)))
ELECTED: Final = (THIRD, *unclean(100))


def led_in(node: str, *epochs: int, first: int = 2) -> Edit:
    """The leader epochs of the batches of A on a broker, from offset 2 on; of one record each."""
    changes = (batch("a-0", first + number, in_leader_epoch(epoch), node) for number, epoch in enumerate(epochs))
    identity = text(f"{node}/meta.properties", f"cluster.id=one\nnode.id={node[1:]}\n")
    return edits(identity, *changes)


BEFORE: Final = [PRODUCER, begin(1), ack(1, A, 0), ack(1, B, 0), ended(1, "commit"), begin(2)]
COMMITTED: Final = ended(2, "commit")

Events = tuple[int | dict[str, Any], ...]
"""What a client saw in its second transaction and behind it; a number is an acknowledgement outside of transactions."""


def answered(events: Events) -> Edit:
    """The journal of the clients stands beside the logs."""
    rows = [ack(None, A, each) if isinstance(each, int) else each for each in events]
    return lambda directory: void(reported([*BEFORE, *rows], directory / JOURNAL))


def election(
    name: str,
    controller: tuple[RecordBatch, ...],
    epochs: tuple[int, ...],
    *findings: str,
    story: str = "",
    edit: Edit | None = None,
    journal: Events = (),
    **more: Any,
) -> AuditCase:
    """The logs of broker 1, with what the controller decided and the leader epochs of A from offset 2 on.

    By default the batches of A are one of the second transaction at offset 2, and others of no producer behind it.
    """
    return AuditCase(
        name,
        story or f"{HANGING}{'blank a; ' * (len(epochs) - 1)}txn b",
        findings,
        version=2,
        edit=edits(led_in("n1", *epochs), edit or edits(), answered(journal) if journal else edits()),
        logs={LOG: (START, *controller)},
        brokers=("n1",),
        given=("n1",),
        options={"history": JOURNAL} if journal else {},
        **more,
    )


def of_election(offset: int, log: str = "") -> str:
    """The finding that reports of an unclean election, at its offset in the controller's log."""
    return f"known repl.committed_survives {log}{LOG}@{offset}, election"


UNCLEAN: Final = of_election(7)
MISSING: Final = "{} txn.marker_once a-0@{}, tx, WriteTxnMarkers"
VIOLATED, KNOWN = MISSING.format("violation", 2), MISSING.format("known", 2)
TOOK: Final = (
    "the unclean election of broker 1 for leader epoch 2 (offset 7 of the controller's log) took the marker away"
)

TAKEN: Final = election(
    "an election took the marker: who had it, and where the log continues, is said",
    ELECTED,
    (1, 2),
    UNCLEAN,
    KNOWN,
    says=(
        f"{TOOK}: broker 3 led in leader epoch 1 when the transaction ended, and broker 1, not in sync, "
        "continues at offset 3: records are lost from offset 3 on; how far nothing here shows",
    ),
)

NOT_TAKEN: Final = (
    *(
        election(
            f"an election excuses no missing marker: {why}",
            controller,
            epochs,
            *findings,
            not_said=("took the marker away",),
            **more,
        )
        for why, controller, epochs, findings, more in (
            ("the transaction was decided after it", (THIRD, *unclean(50)), (1, 2), (UNCLEAN, VIOLATED), {}),
            (
                "who was elected had led when the transaction ended",
                (at(45, changed(in_sync=(1, 3))), at(80, changed(leader=3, in_sync=(3,))), *unclean(100)),
                (0, 2),
                (of_election(8), VIOLATED),
                {},
            ),
            ("the data would be gone, too", ELECTED, (2, 2), (UNCLEAN, VIOLATED), {}),
            (
                "the log continues elsewhere",
                (THIRD, *unclean(400)),
                (1, 1, 1, 2),
                (UNCLEAN, VIOLATED),
                {"story": f"{HANGING} txn a b; wait 300; blank a"},
            ),
            (
                "batches are gone, which no election removes",
                ELECTED,
                (1, 2, 2),
                (UNCLEAN, VIOLATED),
                {"edit": without_batches("n1/a-0", 3)},
            ),
            (
                "the log of its leader continues past its end",
                ELECTED,
                (1, 1, 1, 2),
                (UNCLEAN, VIOLATED),
                {"story": HANGING.replace("wait", "other: init other 8; other: txn a; wait") + "blank a; txn b"},
            ),
            ("its last leader is elected again", (at(90, *GONE), at(100, *AGAIN)), (0, 2), (VIOLATED,), {}),
        )
    ),
)

WITHOUT_LEADER: Final = tuple(
    election(
        f"a transaction was completed while its partition had no leader, {when}",
        (THIRD, at(since, changed(leader=ABSENT)), *then),
        (1, 3),
        *findings,
        says=(
            "a-0 had no leader in leader epoch 2 (offset 6 of the controller's log)",
            "KAFKA-20734",
        ),
        not_said=("took the marker away",),
    )
    for when, since, then, findings in (
        ("all the time", 55, unclean(100), (of_election(8), VIOLATED)),
        ("in the end", 65, unclean(100), (of_election(8), VIOLATED)),
        ("in between", 65, (at(70, changed(leader=3)),), (VIOLATED,)),
    )
)

LOST: Final = "records are lost at offsets 3 to {}, by 2 acknowledgements"
NOT_SHOWN: Final = "records are lost from offset 3 on; how far nothing here shows"
TWICE: Final = "{} seq.exactly_once a-0@3, Produce"
LATER_LEADER: Final = (at(105, changed(in_sync=(1, 2))), at(110, changed(leader=2)))
"""Broker 2 leads after the elected one."""


def second(*offsets: int) -> Events:
    """The acknowledgements of the second transaction at these offsets of A, and at its offset of B."""
    return (*(ack(2, A, offset) for offset in offsets), ack(2, B, 2))


USED_AGAIN: Final = (*second(2), 3, 5, COMMITTED, 3, 4)
"""Offsets 3 and 5 are acknowledged, and after the election 3 and 4."""

BY_CLIENTS: Final = tuple(
    election(name, controller, epochs, *findings, says=(says,), journal=journal, edit=edit)
    for name, controller, epochs, findings, says, journal, edit in (
        (
            "offsets that were acknowledged before and after an election show what it lost",
            ELECTED,
            (1, 2, 2, 2),
            (UNCLEAN, KNOWN, TWICE.format("known")),
            LOST.format(5),
            USED_AGAIN,
            None,
        ),
        (
            "offsets that were acknowledged once do not show what an election lost",
            ELECTED,
            (1, 2, 2, 2),
            (UNCLEAN, KNOWN),
            NOT_SHOWN,
            USED_AGAIN[:-2],
            None,
        ),
        (
            "what was acknowledged beyond a log that ends with an election shows what it lost",
            ELECTED,
            (1,),
            (UNCLEAN, KNOWN, "suspicious seq.exactly_once a-0@3, tx, Produce"),
            LOST.format(5),
            USED_AGAIN[:-2],
            text("n1/a-0/leader-epoch-checkpoint", "0\n3\n0 0\n1 2\n2 3\n"),
        ),
        (
            "offsets of a later leader do not show what an election lost",
            (*ELECTED, *LATER_LEADER),
            (1, 3, 3, 3),
            (UNCLEAN, KNOWN, TWICE.format("suspicious")),
            NOT_SHOWN,
            USED_AGAIN,
            None,
        ),
        (
            "offsets before the one at which the elected leader continues do not show what an election lost",
            ELECTED,
            (1, 1, 1, 1, 2),
            (UNCLEAN, KNOWN, TWICE.format("suspicious")),
            NOT_SHOWN.replace("offset 3", "offset 6"),
            USED_AGAIN,
            None,
        ),
        (
            "the last leader is elected again, and is shown to have lost the marker with more",
            (at(90, *GONE), at(100, *AGAIN)),
            (0, 2),
            (
                of_election(10),
                KNOWN,
                TWICE.format("known"),
                "suspicious seq.exactly_once a-0@4, tx, Produce",
            ),
            f"and broker 1, which lost it, continues at offset 3: {LOST.format(4)}",
            (*second(2), 3, 4, COMMITTED, 3),
            None,
        ),
        (
            "offsets that an election gave twice are reported apart from others",
            ELECTED,
            (1, 2, 2, 2),
            (
                *(UNCLEAN, KNOWN, TWICE.format("known")),
                "violation seq.exactly_once a-0@0, Produce",
                "violation txn.client_verdict a-0@0, tx, EndTxn",
            ),
            "twice, to one transaction 1 and to one transaction 3; and so 1 more offsets",
            (*USED_AGAIN[:-2], begin(3), ack(3, A, 0), ack(3, A, 2), ended(3, "abort"), 3),
            None,
        ),
    )
)

LOST_AT_6: Final = "{} txn.client_verdict a-0@6, tx, EndTxn"
TWICE_AT_2: Final = "known seq.exactly_once a-0@2, Produce"

LOST_RECORDS: Final = tuple(
    election(
        name,
        ELECTED,
        (2, 2, 2),
        *(UNCLEAN, MISSING.format("known", 4), *findings),
        story=f"{NOWHERE} blank a; blank a; blank a; txn b",
        says=(says,),
        journal=journal,
    )
    for name, findings, says, journal in (
        (
            "a lost record is known where an election is shown to have lost it",
            (TWICE_AT_2, LOST_AT_6.format("known")),
            "are lost at a-0 offset 6 (1 records); the unclean election of broker 1 for leader epoch 2",
            (*second(2, 6), COMMITTED, 2),
        ),
        (
            "a lost record that was acknowledged after an election was not lost by it",
            (TWICE_AT_2, LOST_AT_6.format("violation")),
            "one transaction 3 (line 13 of the journal)",
            (*second(2, 3), COMMITTED, 2, 3, begin(3), ack(3, A, 6), ended(3, "commit")),
        ),
        (
            "a lost record is not known where nothing shows that an election lost it",
            (LOST_AT_6.format("violation"),),
            "one transaction 2 (line 6 of the journal)",
            (*second(2, 6), COMMITTED),
        ),
    )
)


def beside(
    name: str,
    own: tuple[int, ...],
    others: tuple[int, ...],
    *findings: str,
    says: str,
    later: tuple[RecordBatch, ...] = (),
    edit: Edit | None = None,
) -> AuditCase:
    """The logs of broker 1, and a replica of A on broker 3, with their leader epochs from offset 2 on."""
    kept = gone("n3/__transaction_state-0", "n3/b-0", f"n3/{LOG}")
    case = election(
        name,
        (*ELECTED, *later),
        own,
        of_election(7, "n1/"),
        KNOWN.replace("a-0", "n1/a-0"),
        *findings,
        edit=edits(led_in("n3", *others), kept, edit or edits()),
        says=(f"continues at offset 3: {says}",),
    )
    return replace(case, brokers=("n1", "n3"), given=("n1", "n3"))


HAS_THEM: Final = "records are lost at offsets 3 to {}, by broker 3, which still has them in leader epoch 1"
DIFFERS: Final = "undecided repl.prefix_agreement n3/a-0@3, Fetch"

BY_ANOTHER_REPLICA: Final = (
    beside(
        "a replica that was not cut yet shows what an election lost",
        (1, 2, 2, 2),
        (1, 1, 1, 1),
        DIFFERS,
        says=HAS_THEM.format(5),
    ),
    beside(
        "a replica that was never cut shows what an election lost",
        (1, 2, 2, 3),
        (1, 1, 1, 3),
        DIFFERS,
        says=HAS_THEM.format(4),
        later=LATER_LEADER,
    ),
    beside("a replica that was cut does not show what an election lost", (1, 2, 2, 2), (1, 2, 2, 2), says=NOT_SHOWN),
    beside(
        "a replica that is no longer than the elected one does not show what an election lost",
        (1, 2, 2, 2),
        (1, 1, 1, 1),
        "undecided lso.bounds n3/a-0@2",
        says=NOT_SHOWN,
        edit=without_batches("n3/a-0", 3, 4, 5),
    ),
)

SIX: Final = "init tx 7; " + "blank a; " * 6
ALONE: Final = at(45, changed(in_sync=(1,)))
BY_3: Final = (ALONE, at(99, fenced(1)), at(100, changed(leader=3, in_sync=(3,), recovering=True)))
"""Broker 3, not in sync, is elected."""


def watermark(node: str, offset: int) -> Edit:
    """The broker was stopped, and its checkpoint says up to where A is committed."""
    stopped = text(f"{node}/.kafka_cleanshutdown", '{"version":0,"brokerEpoch":1}')
    return edits(stopped, text(f"{node}/replication-offset-checkpoint", f"0\n1\na 0 {offset}\n"))


def shorter(
    name: str, controller: tuple[RecordBatch, ...], own: tuple[int, ...], others: tuple[int, ...], *findings: str
) -> AuditCase:
    """Broker 1 knows that six records of A are committed, of which broker 3 has three; with their leader epochs."""
    kept = gone("n3/__transaction_state-0", f"n3/{LOG}", "n3/recovery-point-offset-checkpoint")
    cut = without_batches("n3/a-0", 3, 4, 5)
    places = (led_in("n1", *own, first=0), led_in("n3", *others, first=0))
    return AuditCase(
        name,
        SIX,
        findings,
        edit=edits(*places, kept, cut, watermark("n1", 6), watermark("n3", 3)),
        logs={LOG: (START, *controller)},
        brokers=("n1", "n3"),
        given=("n1", "n3"),
    )


SHORT: Final = "{} repl.hw_bounds n3/a-0@3"
BEFORE_IT, BEHIND_IT = (0,) * 6, (0, 0, 1, 1, 1, 1)

COMMITTED_RECORDS: Final = (
    shorter(
        "who was in sync has what is committed",
        (at(45, changed(in_sync=(1, 3))),),
        BEFORE_IT,
        BEFORE_IT,
        SHORT.format("violation"),
    ),
    shorter("who was not in sync may lack what is committed", (ALONE,), BEFORE_IT, BEFORE_IT),
    shorter(
        "an unclean election explains that its leader lacks what was committed",
        BY_3,
        BEFORE_IT,
        BEHIND_IT,
        of_election(7, "n1/"),
        "known repl.prefix_agreement n1/a-0@2, Fetch",
        SHORT.format("known"),
    ),
    shorter(
        "an unclean election does not explain that its leader lacks what was committed after it",
        BY_3,
        BEHIND_IT,
        BEHIND_IT,
        of_election(7, "n1/"),
        SHORT.format("violation"),
    ),
)

CASES: Final = (
    TAKEN,
    *NOT_TAKEN,
    *WITHOUT_LEADER,
    *BY_CLIENTS,
    *LOST_RECORDS,
    *BY_ANOTHER_REPLICA,
    *COMMITTED_RECORDS,
)

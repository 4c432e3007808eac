"""One partition's log of one producer: sequences, epochs, markers, and the offsets that bound it."""

from typing import Any, Final

from model_tests.unit.audit.audit_case import AuditCase
from model_tests.unit.audit.directory_edits import Edit, edits, text, without_batches
from model_tests.unit.audit.written import data, marker
from reference.log.batch import RecordBatch, emptied
from spec.vocabulary import MAX_SEQUENCE, ControlType, ProducerId, Sequence

DAY_MS: Final = 24 * 3600 * 1000


def log(name: str, batches: tuple[RecordBatch, ...], *findings: str, base: int = 0, **more: Any) -> AuditCase:
    """A log that begins at offset `base`; a finding causes nothing else where the row does not say so."""
    return AuditCase(name, findings=findings, logs={f"a-0/{base}": batches}, **({"explains": {}} | more))


def broken(rule: str, offset: int, severity: str = "violation") -> str:
    """A finding about the test's producer."""
    return f"{severity} {rule} a-0@{offset}, producer 7"


def also(offset: int, rule: str, message: str) -> dict[str, Any]:
    """What the one finding has caused."""
    return {"explains": {"": (rule,)}, "reported": {"consequences.0.offset": offset}, "says": (message,)}


def checkpoint(name: str, offset: int) -> Edit:
    """What a broker's checkpoint file has of the log."""
    return text(f"{name}-checkpoint", f"0\n1\na 0 {offset}\n")


def numbered(*sequences: int) -> tuple[RecordBatch, ...]:
    """Batches of one record each."""
    return tuple(map(data, sequences))


def unnumbered(sequence: int) -> RecordBatch:
    """A batch of a producer that lacks its sequence."""
    return data(sequence)._replace(base_sequence=Sequence(-1))


LEGAL: Final = (
    log("successors", (data(0, 3), data(3, 2), data(5))),
    log("the sequence wraps", (data(MAX_SEQUENCE, 1), data(0)), broken("seq.first", 0, "suspicious")),
    log("the sequence wraps in a batch", (data(MAX_SEQUENCE - 1, 4), data(2)), broken("seq.first", 0, "suspicious")),
    log("the epoch rises", (data(0), data(1, epoch=0), data(0, epoch=1), data(0, epoch=4))),
    log("two transactions", (data(0, transactional=True), marker(), data(1, transactional=True), marker())),
    log("a marker of the next epoch", (data(0, transactional=True), marker(epoch=1), data(0, epoch=1))),
    log("a marker is the first batch", (marker(epoch=3), data(0, epoch=3))),
)

SAME_REASON: Final = "from here on, for the same reason"

SEQUENCES: Final = (
    log("a batch is lost", numbered(0, 2, 3), broken("seq.successor", 1)),
    log("two batches are lost", numbered(0, 2, 3, 5), broken("seq.successor", 1), broken("seq.successor", 3)),
    log("a batch comes twice", numbered(0, 1, 1, 2), broken("seq.exactly_once", 2)),
    log("the first batch comes twice", numbered(0, 0, 2, 3), broken("seq.exactly_once", 1)),
    log("a batch comes again after nine", numbered(*range(9), 1, 9), broken("seq.exactly_once", 9)),
    log(
        "three come again after nine",
        numbered(*range(9), 1, 2, 3, 9),
        broken("seq.exactly_once", 9),
        **also(10, "seq.exactly_once", f"2 batches of the producer, {SAME_REASON}"),
    ),
    log(
        "the first three come again",
        numbered(0, 1, 2, 0, 1, 2, 3),
        broken("seq.exactly_once", 3),
        **also(4, "seq.exactly_once", f"2 batches of the producer, {SAME_REASON}"),
    ),
    log("a batch is lost, and the one behind it comes twice", numbered(0, 2, 2, 3), broken("seq.successor", 1)),
    log("the sequence goes back inside a batch", (data(0, 4), data(2, 4), data(6)), broken("seq.successor", 4)),
    log("only the first sequence is wrong", numbered(7, 1, 2, 3), broken("seq.successor", 1)),
    *(
        log(
            f"batches come late: {', '.join(map(str, order))}",
            numbered(0, *order, max(order) + 1),
            broken("seq.successor", 1),
            **also(2, "seq.successor", f"what the batch at offset 1 leaves out comes here, up to offset {len(order)}"),
        )
        for order in ((2, 1), (3, 1, 2), (3, 2, 1), (4, 1, 2, 3), (4, 3, 2, 1))
    ),
    log(
        "a batch without a sequence takes up its number",
        (data(0), unnumbered(1), data(2)),
        broken("seq.well_formed", 1),
        says=("the batch has sequence -1, expected 1: a producer numbers its data",),
    ),
    log("the first batch has no sequence", (unnumbered(0), data(1), data(2)), broken("seq.well_formed", 0)),
    log("before a marker", (data(0), unnumbered(1), marker(), data(2)), broken("seq.well_formed", 1)),
    log(
        "a batch counts more records than it has offsets",
        (data(0), data(1)._replace(record_count=5), data(2)),
        broken("seq.well_formed", 1),
        says=("the batch has 5 records at 1 offsets (last offset delta 0), expected one for each",),
    ),
    log(
        "a batch that counts wrongly is not said to belong elsewhere",
        (data(0, 2), data(2, 2), data(4, 2)._replace(record_count=3), data(6, 2)),
        broken("seq.well_formed", 4),
        says=("has 3 records at 2 offsets",),
    ),
    log(
        "a transaction that counts wrongly is not said to belong elsewhere",
        (
            *(data(0, 2, transactional=True), marker(), data(2, 2, transactional=True), marker()),
            *(data(4, 2, transactional=True)._replace(record_count=3), marker()),
            *(data(6, 2, transactional=True), marker()),
        ),
        broken("seq.well_formed", 6),
        says=("has 3 records at 2 offsets",),
    ),
    log(
        "a batch is lost that another producer has with the same sequences",
        tuple(
            data(number)._replace(producer_id=ProducerId(producer))
            for number in range(6)
            for producer in (7, 8)
            if (number, producer) != (3, 7)
        ),
        broken("seq.successor", 7),
    ),
    log(
        "a batch of one producer has the id of another, whose history it breaks",
        tuple(
            batch._replace(producer_id=ProducerId(7 if (number, producer) == (3, 8) else producer))
            for number in range(6)
            for producer, batch in ((7, data(2 * number, 2)), (8, data(number)))
        ),
        broken("seq.successor", 11),
        says=("the batch has producer id 7, whose history it breaks, and sequences 3..3 of epoch 0",),
        explains={"": ("seq.successor",)},
    ),
)


def far_ahead(later: str, *after: int) -> AuditCase:
    """A batch has a sequence far ahead; what follows does not come late into the gap that it seems to leave."""
    return log(
        f"a sequence far ahead, and later {later}",
        numbered(*range(6), 56, 7, 8, 9, *after, *range(12, 20)),
        broken("seq.successor", 6),
        broken("seq.successor", 10),
        explains={"sequences 11..11": ("seq.successor",)} if later == "two that are exchanged" else {},
    )


HIDING: Final = (
    far_ahead("a batch is lost", 11),
    far_ahead("two that are exchanged", 11, 10),
    far_ahead("a wrong sequence", 11, 11),
)

BACK: Final = "the producer continues in epoch 0, after epoch 1"

EPOCHS: Final = (
    log("a new epoch does not begin at 0", (data(0), data(5, epoch=1), data(6, epoch=1)), broken("seq.epoch_reset", 1)),
    log(
        "only the first sequence of a new epoch is wrong",
        (data(0), data(7, epoch=1), data(1, epoch=1), data(2, epoch=1)),
        broken("seq.epoch_reset", 1),
    ),
    log(
        "the first batch of a new epoch comes late, behind a marker",
        (data(0), data(1, epoch=1), marker(epoch=1), data(0, epoch=1)),
        broken("seq.epoch_reset", 1),
        **also(3, "seq.epoch_reset", "what the batch at offset 1 leaves out comes here, up to offset 3"),
    ),
    log(
        "one batch of an old epoch",
        (data(0), data(0, epoch=1), data(1), data(1, epoch=1)),
        broken("fence.stale_epoch", 2),
    ),
    log(
        "two batches of an old epoch",
        (data(0), data(0, epoch=1), data(1), data(2), data(1, epoch=1)),
        broken("fence.stale_epoch", 2),
        **also(3, "fence.stale_epoch", f"1 batch of the producer, {SAME_REASON}"),
    ),
    log(
        "one batch has the epoch of another",
        (data(0, epoch=1), data(1), data(2, epoch=1), data(3, epoch=1)),
        broken("fence.stale_epoch", 1),
    ),
    log(
        "a marker of an old epoch",
        (data(0, epoch=1), marker(epoch=0), data(1, epoch=1)),
        broken("fence.stale_epoch", 1),
    ),
    log(
        "a marker without an epoch",
        (data(0), data(1), marker(epoch=-1), data(2), marker(), data(3)),
        broken("fence.stale_epoch", 2),
    ),
    log(
        "two markers without an epoch",
        (data(0), marker(epoch=-1), marker(epoch=-1), data(1), data(2)),
        broken("fence.stale_epoch", 1),
        **also(2, "fence.stale_epoch", f"1 batch of the producer, {SAME_REASON}"),
    ),
    log(
        "a marker without an epoch hides no first sequence",
        (marker(epoch=-1), data(5), data(6)),
        broken("seq.first", 1, "suspicious"),
    ),
    log(
        "a marker of an old coordinator",
        (marker(coordinator=5), marker(coordinator=4), marker(coordinator=5)),
        broken("fence.coordinator_epoch", 1),
    ),
    log(
        "a marker of a coordinator that is not there yet",
        (marker(), marker(coordinator=5), data(0), marker(), data(1), marker(), marker()),
        broken("fence.coordinator_epoch", 3),
    ),
    *(
        log(
            f"one batch of a raised epoch, and the producer continues {how}",
            (data(0), data(1), data(2, epoch=1), *numbered(*range(after, after + 3))),
            broken("seq.epoch_reset", 2),
        )
        for how, after in (("without it", 2), ("after it", 3))
    ),
    *(
        log(
            f"a transaction of a raised epoch, and the producer continues {how}",
            (
                *(data(0), data(1), data(2, epoch=1, transactional=True), marker(epoch=1)),
                *numbered(*range(after, after + 3)),
            ),
            broken("seq.epoch_reset", 2),
            **also(4, "fence.epoch_monotone", BACK),
        )
        for how, after in (("without it", 2), ("after it", 3), ("with a gap", 9))
    ),
    log(
        "a zombie behind a raised epoch that the producer stays in",
        (data(0), data(1, epoch=1), data(2, epoch=1), data(1), data(3, epoch=1), data(4, epoch=1)),
        broken("seq.epoch_reset", 1),
        broken("fence.stale_epoch", 3),
    ),
    log(
        "a zombie at the end of the log",
        (*numbered(0, 1, 2), *(data(number, epoch=1) for number in (7, 8, 9)), data(3)),
        broken("seq.epoch_reset", 3),
        broken("fence.stale_epoch", 6),
    ),
    log(
        "the end of the log continues the raised epoch in the old one",
        (*numbered(0, 1, 2), *(data(number, epoch=1) for number in (7, 8, 9)), data(10)),
        broken("seq.epoch_reset", 3),
        **also(6, "fence.epoch_monotone", BACK),
    ),
)

TAIL: Final[dict[str, Any]] = {"base": 100}

BEGINS: Final = (
    log("a whole log begins at another sequence than 0", numbered(5), broken("seq.first", 0, "suspicious")),
    log("a retained tail begins in a producer's history", numbered(5, 6), **TAIL),
    log("a retained tail has a gap", numbered(5, 7), broken("seq.successor", 101), **TAIL),
    log("a tail that begins with a marker does not know the sequence", (marker(), data(41), data(42)), **TAIL),
    log(
        "a tail that begins with a marker knows the sequence of a new epoch",
        (marker(), marker(epoch=1), data(41, epoch=1)),
        broken("seq.successor", 102),
        **TAIL,
    ),
    log(
        "a producer that was idle for a day may be forgotten",
        (data(0, at=0), data(7, at=DAY_MS)),
        broken("seq.successor", 1, "undecided"),
    ),
    log(
        "a producer that was idle for less is not",
        (data(0, at=0), data(7, at=DAY_MS - 1)),
        broken("seq.successor", 1),
    ),
)

GONE: Final = without_batches("a-0", 1)
BESIDE: Final = {"a-0": numbered(0, 1, 2), "a-0/3": ()}

CLEANED: Final = (
    log(
        "a rewritten batch shows that the cleaner was here",
        (data(0), emptied(data(1)), data(2), data(3), data(4)),
        broken("seq.successor", 4, "undecided"),
        edit=without_batches("a-0", 3),
        reported={"partitions.0.cleaned": True},
    ),
    log("the cleaner never touches the active segment", numbered(0, 1, 2), broken("seq.successor", 2), edit=GONE),
    AuditCase(
        "the cleaner may have touched an older segment",
        findings=(broken("seq.successor", 2, "undecided"),),
        logs=BESIDE,
        edit=GONE,
    ),
    AuditCase(
        "by its checkpoint the cleaner was never here",
        findings=(broken("seq.successor", 2),),
        logs=BESIDE,
        edit=edits(GONE, text("cleaner-offset-checkpoint", "0\n0\n")),
    ),
)

UNREPLICATED: Final = (data(0), data(1, transactional=True), marker(), data(2))
BOUNDS: Final = "lso.bounds a-0@"

OFFSETS: Final = (
    log(
        "an open transaction holds the last stable offset",
        (data(0, 2), data(2, 3, transactional=True), marker(kind=ControlType.ABORT), data(5, transactional=True)),
        reported={
            "partitions.0.lso": 6,
            "partitions.0.log_end": 7,
            "partitions.0.visible_records": 2,
            "partitions.0.open_transactions": [{"producer_id": 7, "producer_epoch": 0, "first_offset": 6}],
        },
    ),
    *(
        log(
            f"a transaction whose marker is {where} the high watermark",
            UNREPLICATED,
            edit=checkpoint("replication-offset", watermark),
            options={"checkpointed_watermark": True},
            reported={"partitions.0.lso": stable},
        )
        for where, watermark, stable in (("above", 2, 1), ("below", 3, 3))
    ),
    log(
        "the log start is above the end",
        numbered(0),
        f"violation {BOUNDS}1",
        edit=checkpoint("log-start-offset", 9),
    ),
    *(
        log(
            f"the log start is above the end, and the tail {what}",
            numbered(0, 1),
            f"{severity} {BOUNDS}2",
            edit=checkpoint("log-start-offset", 8),
            flushed={"a": flushed},
        )
        for what, flushed, severity in (("is missing", 9, "undecided"), ("was not flushed", 2, "violation"))
    ),
    AuditCase(
        "the log start is above the end of a log of which nothing could be read",
        findings=(f"undecided {BOUNDS}0",),
        says=("the end of the log is missing",),
        logs={"a-0": (), "b-0": numbered(0)},
        edit=checkpoint("log-start-offset", 8),
    ),
    AuditCase(
        "an empty partition is bounded by the name of its segment",
        logs={"a-0/5": (), "b-0": numbered(0)},
        reported={"partitions.0.batches": 0, "partitions.0.log_start": 5, "partitions.0.lso": 5},
    ),
)

CASES: Final = (*LEGAL, *SEQUENCES, *HIDING, *EPOCHS, *BEGINS, *CLEANED, *OFFSETS)

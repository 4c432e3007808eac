"""Bodies of batches against their headers, which `--deep` decodes."""

from typing import Any, Final

from model_tests.audit.record_bodies import STEP
from model_tests.logs.kafka_log_bodies import MOST_OF_A_BODY
from model_tests.logs.kafka_log_checks import BodyCheck
from model_tests.unit.audit.audit_case import AuditCase
from model_tests.unit.audit.bodies import BODIES, BROKEN, ODD, BrokenBody, full, sound
from reference.log.batch import RecordBatch
from reference.log.codecs import Codec, compress
from spec.vocabulary import Sequence

RULE: Final = "seq.well_formed"
COUNTED: Final = (BodyCheck.RECORD_COUNT, BodyCheck.OFFSET_DELTA)
"""What a header counts; the rest of what is wrong with a body is damage."""


def deep(name: str, batches: tuple[RecordBatch, ...], *findings: str, guard: str = "", **more: Any) -> AuditCase:
    """A log whose bodies are decoded."""
    reported = {f"judged.{RULE}": len(batches)} | ({"findings.0.guard": guard} if guard else {})
    return AuditCase(name, findings=findings, logs={"a-0": batches}, options={"deep": True}, reported=reported, **more)


def at(batch: RecordBatch, sequence: int) -> RecordBatch:
    """The batch with another sequence."""
    return batch._replace(base_sequence=Sequence(sequence))


def between(batch: RecordBatch) -> tuple[RecordBatch, ...]:
    """The batch behind a sound one, and before two of them."""
    after = BODIES + batch.last_offset_delta + 1
    return full(), at(batch, BODIES), full(after), full(after + BODIES)


SOUND: Final = tuple(deep(f"a sound body: {name}", between(batch)) for name, batch in sound().items())


def damaged(broken: BrokenBody) -> AuditCase:
    """No rule is broken by bytes that cannot be read: the damage names the batch and the record, and what to do."""
    place = f"byte {full().size}: the body of the batch at offset {BODIES}, of producer 7, is not what its header says"
    batches = between(broken.of(BODIES))
    return deep(f"a damaged body: {broken.name}", batches, damage=(f"{place} ({broken.check}): ... {broken.message}",))


CLIENT: Final = "Look at the client"
CONSUMER: Final = "A consumer cannot read past this batch"


def wrong(severity: str, offset: int = 0) -> str:
    """A finding about a body; what is a violation is a failed step of the broker."""
    return f"{severity} {RULE} a-0@{offset}, producer 7{f', {STEP}' * (severity == 'violation')}"


def found(broken: BrokenBody) -> AuditCase:
    """A header that counts otherwise than the body breaks the rule; what no client of Kafka writes is suspicious."""
    severity, remedy = ("suspicious", CLIENT) if broken in ODD else ("violation", CONSUMER)
    return deep(
        f"a wrong body: {broken.name}",
        between(broken.of(BODIES)),
        wrong(severity, BODIES),
        says=(broken.message.replace("offsets 0 to 7", f"offsets {BODIES} to {2 * BODIES - 1}"),),
        remedy=(remedy,),
        guard=broken.check,
    )


TOO_FEW: Final = next(broken for broken in BROKEN if broken.check is BodyCheck.RECORD_COUNT)

SEVERAL: Final = (
    deep(
        "alike faults of a producer are one finding",
        (TOO_FEW.of(0), full(8), TOO_FEW.of(16), TOO_FEW.of(24)),
        wrong("violation"),
        says=("; and so 2 more batches of the producer, up to offset 24",),
    ),
    deep(
        "a body that holds too much is not looked at",
        (full()._replace(attributes=Codec.ZSTD, body=compress(Codec.ZSTD, bytes(1 << 20)) * 65), full(8)),
        wrong("undecided"),
        guard=BodyCheck.SIZE,
        says=(f"zstd: more than {MOST_OF_A_BODY} bytes in",),
    ),
)

CASES: Final = (
    *SOUND,
    *(damaged(broken) for broken in BROKEN if broken.check not in COUNTED),
    *(found(broken) for broken in (*BROKEN, *ODD) if broken.check in COUNTED or broken in ODD),
    *SEVERAL,
)

"""What is wrong with the bodies of a log's batches (`--deep`): one finding, or one damage, for each check and producer.

A body that does not hold what its header counts breaks a rule; one that cannot be read is damaged.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from model_tests.audit.findings import Finding
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_batches import Batches
from model_tests.logs.kafka_log_bodies import MOST_OF_A_BODY, judge_bodies
from model_tests.logs.kafka_log_checks import BodyCheck, BodyDamage
from model_tests.logs.kafka_log_segment import SegmentDamage, SegmentRange
from spec import rules

STEP: Final = "Produce: the body of the batch does not hold what its header counts, and was appended (LogValidator)"

_UNREADABLE: Final = (
    "A consumer cannot read past this batch; after it, it continues from offset {after} (seek). Look whether another "
    "replica has the batch whole: give the directories of all brokers."
)
_REMEDIES: Final[Mapping[BodyCheck, str]] = {
    BodyCheck.SIZE: f"Above {MOST_OF_A_BODY >> 20} MiB no body is looked at. Read offset {{offset}} with a consumer.",
    BodyCheck.MAX_TIMESTAMP: "Searches and retention by time go by the header, readers do not. Look at what wrote it.",
    BodyCheck.PADDED_VARINT: "Kafka reads it, and its own clients write no such thing. Look at the client.",
    BodyCheck.BASE_TIMESTAMP: "Kafka reads it, and its own clients write no such thing. Look at the client.",
}
_SEVERITIES: Final[Mapping[BodyCheck, Severity]] = {
    BodyCheck.RECORD_COUNT: Severity.VIOLATION,
    BodyCheck.OFFSET_DELTA: Severity.VIOLATION,
    BodyCheck.SIZE: Severity.UNDECIDED,
    BodyCheck.PADDED_VARINT: Severity.SUSPICIOUS,
    BodyCheck.BASE_TIMESTAMP: Severity.SUSPICIOUS,
}
"""What breaks the rule; what fails any other check is damage."""


@dataclass(frozen=True, slots=True)
class WrongBody:
    """The first of some batches of a producer of which the same is wrong, and the number of further ones.

    Attributes:
        segment: base offset of the segment that has the batch.
        position: where the batch begins in the segment's file.
        base: offset of its first record.
        end: offset behind its last record.
        record: number of the record in the first batch that is wrong; -1 where it is the batch as a whole.
    """

    check: BodyCheck
    producer_id: int
    producer_epoch: int
    segment: int
    position: int
    base: int
    end: int
    record: int
    message: str
    more: int = 0
    last: int = -1

    def and_then(self, later: "WrongBody") -> "WrongBody":
        """These and those of the same kind that come later."""
        return replace(self, more=self.more + 1 + later.more, last=max(later.base, later.last))

    @property
    def is_damage(self) -> bool:
        """Whether no rule applies: the bytes cannot be read, or differ from the header."""
        return self.check not in _SEVERITIES

    def damage(self, path: str) -> SegmentDamage:
        """The same as damage of a file."""
        remedy = _REMEDIES.get(self.check, _UNREADABLE).format(offset=self.base, after=self.end)
        return SegmentDamage(
            path,
            self.position,
            f"the body of the batch at offset {self.base}, of producer {self.producer_id}, is not what its header says "
            f"({self.check}): {self._where()}: {self.message}{self._and_more()}. {remedy}",
        )

    def finding(self) -> Finding:
        """The same as a finding."""
        severity = _SEVERITIES[self.check]
        return Finding(
            rules.SEQ_WELL_FORMED,
            severity,
            self.base,
            self.producer_id,
            self.producer_epoch,
            f"{self._where()}: {self.message}{self._and_more()}",
            guard=self.check,
            step=STEP if severity is Severity.VIOLATION else "",
            remedy=_REMEDIES.get(self.check, _UNREADABLE).format(offset=self.base, after=self.end),
        )

    def _where(self) -> str:
        batch = f"the batch of offsets {self.base} to {self.end - 1}"
        return batch if self.record < 0 else f"record {self.record} of {batch}"

    def _and_more(self) -> str:
        return f"; and so {self.more} more batches of the producer, up to offset {self.last}" if self.more else ""


@dataclass(frozen=True, slots=True)
class Bodies:
    """What is known of the bodies of some batches that follow each other.

    Attributes:
        judged: batches whose bodies were looked at.
    """

    judged: int = 0
    wrong: tuple[WrongBody, ...] = ()

    def then(self, later: "Bodies") -> "Bodies":
        """The same of these and of those that follow them."""
        return Bodies(self.judged + later.judged, _added(self.wrong, later.wrong))

    def findings(self) -> tuple[Finding, ...]:
        """What breaks a rule, or may, by offset."""
        found = [one.finding() for one in self.wrong if not one.is_damage]
        return tuple(sorted(found, key=lambda finding: (finding.offset, finding.guard)))

    def damage(self, segments: Iterable[SegmentRange]) -> list[SegmentDamage]:
        """What cannot be read; `segments` are the log's."""
        paths = {segment.base: segment.path for segment in segments}
        return [one.damage(paths[one.segment]) for one in self.wrong if one.is_damage]


NONE_READ: Final = Bodies()


def bodies_of(content: bytes, batches: Batches, start: int = 0) -> Bodies:
    """What is wrong with the bodies of a segment's batches; `content` is its file from the position `start` on."""
    there = replace(batches, position=batches.position - start)
    wrong = (_wrong_body(batches, one) for one in judge_bodies(content, there))
    return Bodies(len(batches), _added((), tuple(wrong)))


def _wrong_body(batches: Batches, one: BodyDamage) -> WrongBody:
    row = one.batch
    return WrongBody(
        one.check,
        int(batches.producer_id[row]),
        int(batches.producer_epoch[row]),
        int(batches.segment[row]),
        int(batches.position[row]),
        int(batches.base_offset[row]),
        int(batches.last_offset[row]) + 1,
        one.record,
        one.message,
    )


def _added(first: Sequence[WrongBody], later: Iterable[WrongBody]) -> tuple[WrongBody, ...]:
    found = {(one.check, one.producer_id): one for one in first}
    for one in later:
        kind = (one.check, one.producer_id)
        found[kind] = found[kind].and_then(one) if kind in found else one
    return tuple(found.values())

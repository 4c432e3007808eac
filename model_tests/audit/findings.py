"""What an audit finds in one partition: findings by rule, and what was judged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from model_tests.histories.severity import Severity
from spec.rules import Rule
from spec.vocabulary import ABSENT


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """One rule found broken, or in doubt, at one place of a partition: a finding, or what a finding has caused.

    Attributes:
        offset: base offset of the first offending batch.
        message: what was found and what was expected, with the values.
    """

    rule: Rule
    severity: Severity
    offset: int
    producer_id: int
    producer_epoch: int
    message: str


@dataclass(frozen=True, slots=True)
class Finding(BrokenRule):
    """What is reported by itself, with what it has caused.

    Attributes:
        guard: name of the check of the append decision that refuses the batch, where there is one.
        transactional_id: the one whose transaction it is about, where that is known.
        step: the step of the protocol that failed, where that is known.
        remedy: what an operator can do about it: a command to run, or what to look at.
        found_at: offsets of batches that have just the sequences missing here: late ones of the producer, or others'.
        until: last offset at which what it reports as missing should be, from `offset` on; -1 where nothing is.
        follows: offsets of batches, or of the first ones of transactions, whose corruption may alone have caused this
            finding.
        others: further producer ids and transactional ids that it is about.
        consequences: what it has caused: none of this is a finding by itself.
    """

    guard: str = ""
    transactional_id: str = ""
    step: str = ""
    remedy: str = ""
    found_at: tuple[int, ...] = ()
    follows: tuple[int, ...] = ()
    others: tuple[int | str, ...] = ()
    until: int = ABSENT
    consequences: tuple[BrokenRule, ...] = ()

    def causes(self, explained: Sequence["Finding"]) -> "Finding":
        """The same as the cause of others, and of what these have caused."""
        producers = (each for one in explained for each in (one.producer_id, *one.others))
        others = (each for each in producers if each not in (self.producer_id, ABSENT))
        return replace(
            self,
            others=tuple(dict.fromkeys((*self.others, *others))),
            until=max(self.until, *(one.until for one in explained)) if explained else self.until,
            consequences=(*self.consequences, *(each for one in explained for each in one.alone())),
        )

    def alone(self) -> tuple[BrokenRule, ...]:
        """What it says, and what it has caused, as consequences."""
        fields = (self.rule, self.severity, self.offset, self.producer_id, self.producer_epoch, self.message)
        return BrokenRule(*fields), *self.consequences


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction without a marker.

    Attributes:
        first_ms: when its first batch was appended, in milliseconds since 1970; -1 where nothing says it.
    """

    producer_id: int
    producer_epoch: int
    first_offset: int
    first_ms: int = ABSENT


@dataclass(frozen=True, slots=True)
class LogBounds:
    """The offsets that bound a partition's log, and the last stable one."""

    log_start: int
    last_stable: int
    high_watermark: int
    log_end: int

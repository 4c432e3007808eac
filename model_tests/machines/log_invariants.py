"""The rules of the whole log: every acknowledged batch once, and in the order of sending."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from model_tests.machines.rule_counts import Ledger
from model_tests.machines.streams import FaultsSoFar, ProducerStream, StreamHistory, circumstances
from reference.log.batch import RecordBatch
from spec import rules
from spec.evidence import Layer, evidences
from spec.rules import Rule


@dataclass(frozen=True, slots=True)
class StreamInLog:
    """One stream beside its leader's log.

    Attributes:
        placed: ordinals and batches of the stream, in log order.
        newly_reported: batches acknowledged since the last look.
        faults: what went wrong in the world.
        doing: the latest events, for messages.
    """

    stream: ProducerStream
    history: StreamHistory
    placed: tuple[tuple[int, RecordBatch], ...]
    newly_reported: int
    faults: FaultsSoFar
    doing: str

    def __str__(self) -> str:
        """The stream's part of the log, and what led to it."""
        log = ", ".join(
            f"#{ordinal}@{batch.base_offset} (epoch {batch.producer_epoch} sequence {batch.base_sequence})"
            for ordinal, batch in self.placed
        )
        return f"producer {self.stream.producer} on partition {self.stream.partition}: log [{log}]; after {self.doing}"


LogInvariant: TypeAlias = Callable[[StreamInLog, Ledger], None]


@evidences(rules.SEQ_EXACTLY_ONCE, Layer.STATEFUL)
def seq_exactly_once(written: StreamInLog, ledger: Ledger) -> None:
    """Every acknowledged batch is in the leader's log once, at the acknowledged offset; no batch is there twice."""
    rule = rules.SEQ_EXACTLY_ONCE
    copies = Counter(ordinal for ordinal, _ in written.placed)
    offsets = {ordinal: batch.base_offset for ordinal, batch in written.placed}
    wrong = [
        f"#{ordinal} was acknowledged at {batch.offset} and is there {copies[ordinal]} times"
        for ordinal, batch in enumerate(written.history.batches)
        if batch.outcome and (copies[ordinal] != 1 or batch.offset not in (-1, offsets[ordinal]))
    ]
    wrong += [f"#{ordinal} is there {times} times" for ordinal, times in copies.items() if times > 1]
    for _ in range(written.newly_reported - 1):
        ledger.expect(rule, True, "")
    if written.newly_reported or wrong:
        known = circumstances(written.history, written.faults)
        ledger.expect(rule, not wrong, f"{'; '.join(wrong)}: {written}", known)


@evidences(rules.SEQ_ORDER, Layer.STATEFUL)
def seq_order(written: StreamInLog, ledger: Ledger) -> None:
    """The stream's batches stand in the log in the order in which they were sent."""
    firsts = list(dict.fromkeys(ordinal for ordinal, _ in written.placed))
    if len(firsts) > 1:
        known = circumstances(written.history, written.faults, renumbering=False)
        ledger.expect(rules.SEQ_ORDER, firsts == sorted(firsts), f"the order is {firsts}: {written}", known)


LOG_INVARIANTS: Final[dict[Rule, LogInvariant]] = {
    rules.SEQ_EXACTLY_ONCE: seq_exactly_once,
    rules.SEQ_ORDER: seq_order,
}

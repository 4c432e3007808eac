"""Findings in words: what the log has, what was expected, with the values."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from model_tests.audit.findings import BrokenRule, Finding
from model_tests.audit.fold import CLEANED, EXPIRED, Break
from model_tests.audit.holes import Surroundings
from model_tests.audit.resynchronization import precedes_next_sequence
from model_tests.common.reports import counted
from model_tests.histories.severity import Severity
from spec import rules
from spec.protocol import fence, seq
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.rules import Rule
from spec.vocabulary import ABSENT


def violation(broken: Break) -> Finding:
    """The finding for a break that nothing excuses."""
    return replace(_finding(broken, Severity.VIOLATION, _what(broken)), consequences=tuple(_caused_by(broken)))


def unusual_first(request: AppendRequest, elsewhere: tuple[int, ...] = ()) -> Finding:
    """The finding for a producer that does not begin at sequence 0 on a log that begins at offset 0."""
    message = (
        f"the producer's first batch in the log has sequence {request.base_sequence}, expected 0: "
        "legal since 2.5, but the log begins at offset 0. Either earlier batches are missing; or the producer was "
        "forgotten; or its first batches were refused (as by a broker that did not lead yet), and a later one was "
        "accepted before they came again: from then on they are out of order, and their client cannot send them"
    )
    offset, producer_id, epoch = _identity(request)
    fields = (offset, producer_id, epoch, message, "first_sequence")
    return Finding(rules.SEQ_FIRST, Severity.SUSPICIOUS, *fields, found_at=elsewhere)


def undecided(breaks: Iterable[Break], around: Surroundings) -> list[Finding]:
    """One finding for all breaks of a rule that lack the same piece, at the first of them."""

    def kind(broken: Break) -> tuple[str, str]:
        return broken.rule.id, broken.doubt

    findings: list[Finding] = []
    for (_, doubt), alike in groupby(sorted(breaks, key=kind), key=kind):
        group = sorted(alike, key=lambda broken: broken.request.base_offset)
        producers = _producers(broken.request for broken in group)
        of = "one producer" if len(producers) == 1 else f"{len(producers)} producers"
        count = f"{len(group)} batches of {of}, this the first" if len(group) > 1 else "the batch"
        reported = _finding(group[0], Severity.UNDECIDED, f"{count}: {_why(doubt, around)}; {_what(group[0])}")
        findings.append(replace(reported, others=producers))
    return findings


def firsts_after_cleaning(requests: list[AppendRequest]) -> list[Finding]:
    """One finding for all producers whose first batches the cleaner may have removed."""
    if not requests:
        return []
    offset, producer_id, epoch = _identity(requests[0])
    message = (
        f"{len(requests)} producers, this the first, do not begin at sequence 0 "
        f"(here {requests[0].base_sequence}) after offsets that the log cleaner may have removed: "
        "whether they began at 0 is not in the log"
    )
    fields = (offset, producer_id, epoch, message, "first_sequence")
    return [Finding(rules.SEQ_FIRST, Severity.UNDECIDED, *fields, others=_producers(requests))]


def _producers(requests: Iterable[AppendRequest]) -> tuple[int, ...]:
    return tuple(sorted({int(request.producer_id) for request in requests}))


def _why(doubt: str, around: Surroundings) -> str:
    if doubt == CLEANED:
        return "follows offsets that the log cleaner may have removed, and with them the batches in between"
    if doubt == EXPIRED:
        hours = around.producer_expiry_ms / 3_600_000
        return f"the producer was idle for {hours:g} h or more, so the broker may have forgotten it"
    return "follows unreadable bytes"


def _finding(broken: Break, severity: Severity, message: str) -> Finding:
    offset, producer_id, epoch = _identity(broken.request)
    fields = (broken.rule, severity, offset, producer_id, epoch, message, broken.guard)
    return Finding(*fields, found_at=(*broken.late, *broken.elsewhere))


def _identity(request: AppendRequest) -> tuple[int, int, int]:
    return int(request.base_offset), int(request.producer_id), int(request.producer_epoch)


def _what(broken: Break) -> str:
    state, request, rule = broken.before, broken.request, broken.rule
    if fence.is_stale(state, request):
        return _stale(state, request, broken.original)
    if rule is rules.SEQ_EXACTLY_ONCE:
        return _second_copy(broken)
    if rule is rules.SEQ_SUCCESSOR:
        return _out_of_sequence(broken)
    return _other(rule, broken)


def _stale(state: ProducerEntry, request: AppendRequest, original: int) -> str:
    kind = "marker" if request.control else "data"
    again = f"; the same sequences are at offset {original} already" if original != ABSENT else ""
    found = f"{kind} of epoch {request.producer_epoch} after epoch {state.epoch}"
    return f"{found}, expected {state.epoch} or higher{again}"


def _second_copy(broken: Break) -> str:
    first = broken.original
    if first == ABSENT:
        first = next(
            cached.last_offset - cached.offset_delta
            for cached in broken.before.cached
            if cached.last_sequence == seq.last_sequence(broken.request)
        )
    return (
        f"sequences {_sequences(broken.request)} of epoch {broken.request.producer_epoch} are in the log twice, "
        f"first at offset {first}; expected {_expected(broken.before)}"
    )


def _out_of_sequence(broken: Break) -> str:
    message = f"sequences {_sequences(broken.request)}, expected {_expected(broken.before)}"
    if broken.late:
        return message
    if precedes_next_sequence(broken.before, broken.request):
        return f"{message}: the sequence goes back"
    newest = broken.before.cached[0]
    if not newest.present:
        return f"{message}: epoch {broken.before.epoch} has no earlier data in the log"
    return f"{message} after offset {newest.last_offset}: what was in between is missing in the log"


def _other(rule: Rule, broken: Break) -> str:
    state, request = broken.before, broken.request
    if rule is rules.SEQ_EPOCH_RESET:
        rises = f"epoch rises from {state.epoch} to {request.producer_epoch}"
        return f"{rises} at sequence {request.base_sequence}, expected 0"
    if rule is rules.FENCE_COORDINATOR_EPOCH:
        return (
            f"marker of coordinator epoch {request.coordinator_epoch} after one of {state.coordinator_epoch}, "
            f"expected {state.coordinator_epoch} or higher"
        )
    if rule is rules.TXN_ATOMIC:
        return (
            f"data outside a transaction while the producer's transaction from offset {state.txn_first_offset} "
            "is open, expected its marker first"
        )
    if rule is rules.SEQ_FIRST:
        return f"the producer's first batch has sequence {request.base_sequence}, expected 0"
    if broken.guard == "records_counted":
        return (
            f"the batch has {request.record_count} records at {request.last_offset_delta + 1} offsets "
            f"(last offset delta {request.last_offset_delta}), expected one for each"
        )
    if broken.guard == "sequence_missing":
        return (
            f"the batch has sequence {request.base_sequence}, expected {_expected(state)}: a producer numbers its data"
        )
    return (
        f"the append decision refuses this batch ({broken.guard}): sequences {_sequences(request)} of epoch "
        f"{request.producer_epoch} after epoch {state.epoch}, expected sequence {_expected(state)}"
    )


def _sequences(request: AppendRequest) -> str:
    return f"{request.base_sequence}..{seq.last_sequence(request)}"


def _expected(state: ProducerEntry) -> str:
    newest = state.cached[0]
    return str(seq.next_sequence(newest.last_sequence, 1)) if newest.present else "0"


def _caused_by(broken: Break) -> Iterator[BrokenRule]:
    """What would be findings by themselves, and is so only since the batch is broken."""
    offset, producer_id, epoch = _identity(broken.request)
    state = broken.before
    if broken.late:
        late = f"what the batch at offset {offset} leaves out comes here, up to offset {max(broken.late)}: out of order"
        yield BrokenRule(broken.rule, Severity.VIOLATION, min(broken.late), producer_id, epoch, late)
    if broken.more:
        more = f"{counted(broken.more, 'batch', 'es')} of the producer, from here on, for the same reason"
        yield BrokenRule(broken.rule, Severity.VIOLATION, broken.more_at, producer_id, epoch, more)
    if broken.belongs != ABSENT:
        before = f"the batch at offset {offset} belongs before this one"
        yield BrokenRule(rules.SEQ_SUCCESSOR, Severity.VIOLATION, broken.belongs, producer_id, epoch, before)
    if broken.returned != ABSENT:
        back = f"the producer continues in epoch {state.epoch}, after epoch {epoch}"
        fields = (broken.returned, producer_id, int(state.epoch), back)
        yield BrokenRule(rules.FENCE_EPOCH_MONOTONE, Severity.VIOLATION, *fields)

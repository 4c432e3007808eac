"""The aborted index compared with the log: each entry with the decision of what an ABORT marker adds."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from model_tests.audit.aborted_entries import Unlisted, flat, without_entry, without_file
from model_tests.audit.findings import Finding
from model_tests.audit.holes import Holes
from model_tests.audit.spans import Spans, entries_of, stable_if_begun, stable_in_bulk, stable_without
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_batches import Batches, Facts, Integers
from model_tests.logs.kafka_log_derived import DerivedFiles
from spec import rules
from spec.vocabulary import ABSENT

_FIELDS: Final = ("producer", "last offset", "first offset", "last stable offset")


@dataclass(frozen=True, slots=True)
class IndexedLog:
    """A log as its aborted index is compared with it.

    Attributes:
        begin: first offset that can be in it.
        end: the offset after its last.
    """

    batches: Batches
    own: Spans
    missing: Holes
    begin: int
    end: int


@dataclass(slots=True)
class AbortedJudgement:
    """What was found of the aborted index.

    Attributes:
        judged: entries and aborted transactions that were compared with each other.
        disputed: offsets of transactions, first and last, of which index and log do not say the same.
        producers: whose transactions these are, by either.
    """

    findings: list[Finding] = field(default_factory=list)
    judged: int = 0
    disputed: list[tuple[int, int]] = field(default_factory=list)
    producers: set[int] = field(default_factory=set)
    beyond: list[tuple[int, str]] = field(default_factory=list)
    cleaned: list[tuple[int, str]] = field(default_factory=list)


def judge_aborted(log: IndexedLog, derived: DerivedFiles) -> AbortedJudgement:
    """Hold every entry against the markers of the log, and every ABORT marker against the entries."""
    result = AbortedJudgement()
    if derived.aborted:
        _Judge(log, derived, result).run()
    return result


class _Judge:
    def __init__(self, log: IndexedLog, derived: DerivedFiles, result: AbortedJudgement) -> None:
        self.log, self.result, self.entries = log, result, flat(derived)
        self.missing = derived.missing
        own = log.own
        self.expected, self.bulk = entries_of(own), stable_in_bulk(own)
        self.aborted = np.flatnonzero(own.aborted)
        self.aborted = self.aborted[np.argsort(own.end[self.aborted], kind="stable")]
        bases = np.array(sorted(derived.aborted), np.int64)
        self.has_index = np.isin(self._segment(self.aborted), bases)
        self.bases = bases
        cut = ((base, file.rows["last_offset"]) for base, file in derived.aborted.items() if file.cut)
        self.cut_after = {base: int(ends[-1]) if len(ends) else ABSENT for base, ends in cut}

    def run(self) -> None:
        """Compare all at once, and look at what differs one by one."""
        entries, ends = self.entries, self.log.own.end[self.aborted]
        place = np.searchsorted(ends, entries.last)
        hit = place < len(ends)
        hit[hit] = ends[place[hit]] == entries.last[hit]
        span = np.full(len(entries.last), ABSENT, np.int64)
        span[hit] = self.aborted[place[hit]]
        right = hit.copy()
        right[hit] = self._agrees(np.flatnonzero(hit), span[hit])
        absent = self.has_index & ~np.isin(self.aborted, span[hit])
        lost = {int(number) for number in self.aborted[absent]}
        self.result.judged = len(entries.last) + len(lost)
        unlike = np.append(span[~right & hit], self.aborted[absent])
        self.result.producers.update(entries.producer_id[~right].tolist(), self.log.own.producer_id[unlike].tolist())
        listed = frozenset(span[right].tolist())
        follows = self._following(right, span)
        for entry in np.flatnonzero(~right & ~follows).tolist():
            self._differs(entry, self._meant(entry, int(span[entry]), lost, listed), lost)
        self._unlisted(sorted(lost))
        for entry in np.flatnonzero(right & self._goes_back()).tolist():
            before = f"the entry before it ends at {int(entries.last[entry - 1])}"
            self._violation(entry, f"ends at {int(entries.last[entry])}, but {before}: entries rise")

    def _agrees(self, entry: Integers, span: Integers) -> Facts:
        """Whether entries say what the decision makes of the spans they end with."""
        entries, own = self.entries, self.log.own
        unseen = ~own.known_start[span] & (entries.first[entry] < self.log.begin)
        first = (self.expected.first_offset[span] == entries.first[entry]) | unseen
        stable = entries.stable[entry]
        strict = self.expected.last_stable[span]
        in_bulk = (strict == own.end[span] + 1) & (stable == self.bulk[span])
        held = (strict == stable) | in_bulk | ((stable < self.log.begin) & (stable >= 0))
        placed = self._segment(span) == self.bases[entries.file[entry]]
        agrees: Facts = first & held & placed & (own.producer_id[span] == entries.producer_id[entry])
        return agrees

    def _following(self, right: Facts, span: Integers) -> Facts:
        """Entries whose last stable offset alone is wrong, and right if other transactions begin where entries say.

        The log then lacks the marker before: its data seems to be of the transaction that the next marker ends.
        """
        entries, own = self.entries, self.log.own
        same = ~right & (span != ABSENT)
        same[same] = own.producer_id[span[same]] == entries.producer_id[same]
        later = same.copy()
        later[later] = entries.first[later] > own.first[span[later]]
        stable = stable_if_begun(own, span[later], entries.first[later])
        follows: Facts = same & ~later & np.bool_(later.any())
        twin = span[follows]
        at_first = own.first[twin] == entries.first[follows]
        follows[follows] = at_first & (stable[twin] == entries.stable[follows])
        return follows

    def _segment(self, span: Integers) -> Integers:
        """Base offset of the segment that has each span's marker."""
        return self.log.batches.segment[self.log.own.marker_row[span]] if len(span) else np.empty(0, np.int64)

    def _goes_back(self) -> Facts:
        entries = self.entries
        falls = np.zeros(len(entries.last), np.bool_)
        falls[1:] = (entries.last[1:] <= entries.last[:-1]) & (entries.file[1:] == entries.file[:-1])
        return falls

    def _differs(self, entry: int, twin: int, lost: set[int]) -> None:
        """An entry that is not what the log gives."""
        entries, own = self.entries, self.log.own
        first, last = int(entries.first[entry]), int(entries.last[entry])
        self.result.disputed.append((first, last))
        lost.discard(twin)
        if twin == ABSENT:
            self._extra(entry)
            return
        self.result.disputed.append((int(own.first[twin]), int(own.end[twin])))
        expected = (int(own.producer_id[twin]), int(own.end[twin]), int(own.first[twin]), self._stable(twin))
        got = (int(entries.producer_id[entry]), last, first, int(entries.stable[entry]))
        earlier = got[:2] == expected[:2] and got[2] <= expected[2] and got[3] <= expected[3]
        if self._excused(entry, ABSENT, int(own.marker_row[twin]), by_cleaner=earlier):
            return
        wrong = [
            f"{name} {has}, the log gives {should}"
            for name, has, should in zip(_FIELDS, got, expected, strict=True)
            if has != should
        ]
        segment = int(self._segment(np.array([twin]))[0])
        stable_alone = got[:3] == expected[:3] and got[3] != expected[3]
        elsewhere = (first, expected[2]) if first != expected[2] else ()
        self._violation(
            entry,
            f"says {'; '.join(wrong)}" if wrong else f"an entry whose marker is in segment {segment}",
            at=int(own.first[twin]),
            producer=expected[0],
            until=last if got[1:3] != expected[1:3] else ABSENT,
            follows=self._held_back(got[3], twin) if stable_alone else elsewhere,
        )

    def _held_back(self, says: int, twin: int) -> tuple[int, ...]:
        """First offset of the transaction without which the last stable offset would be that of an entry."""
        gives = self._stable(twin)
        if says < gives:
            return (says,)
        without, producers = stable_without(self.log.own, twin, gives)
        self.result.producers.update(producers.tolist())
        batches = self.log.batches
        begun = batches.base_offset[np.isin(batches.producer_id, producers) & ~batches.control]
        return (gives,) if says in (without, int(self.bulk[twin])) or (says < without and says in begun) else ()

    def _stable(self, span: int) -> int:
        return int(self.expected.last_stable[span])

    def _says(self, entry: int) -> str:
        entries = self.entries
        offsets = f"offsets {int(entries.first[entry])}..{int(entries.last[entry])}"
        return (
            f"{entries.where(entry)}: an aborted transaction of producer {int(entries.producer_id[entry])} at {offsets}"
        )

    def _meant(self, entry: int, span: int, lost: set[int], listed: frozenset[int]) -> int:
        """The transaction that a wrong entry means: of the same end, or of the same producer and begin."""
        own, entries = self.log.own, self.entries
        if span != ABSENT and own.producer_id[span] == entries.producer_id[entry]:
            return span
        same = (own.producer_id == entries.producer_id[entry]) & (own.first == entries.first[entry])
        begun = next((number for number in np.flatnonzero(same).tolist() if number in lost), ABSENT)
        return begun if begun != ABSENT or span in listed else span

    def _extra(self, entry: int) -> None:
        """An entry without an ABORT marker that ends data of its producer."""
        entries, batches = self.entries, self.log.batches
        last, first = int(entries.last[entry]), int(entries.first[entry])
        if last >= self.log.end:
            self.result.beyond.append((first, self._says(entry)))
            return
        row = int(np.searchsorted(batches.last_offset, last))
        marker = row < len(batches) and int(batches.base_offset[row]) == last
        ends_own = marker and batches.producer_id[row] == entries.producer_id[entry]
        if ends_own and batches.control_type[row] == 0 and first < self.log.begin <= last:
            return  # its data was before the log's begin
        since = int(np.searchsorted(batches.base_offset, first))
        if self._excused(entry, min(since, row), row, by_cleaner=True):
            return
        has = "no such data before it" if ends_own and batches.control_type[row] == 0 else "no such ABORT marker"
        offsets = f"offsets {first}..{last}"
        what = f"lists an aborted transaction at {offsets}, but the log has {has}"
        self._violation(entry, what, until=last, follows=(first,))

    def _unlisted(self, spans: list[int]) -> None:
        """Aborted transactions without an entry; those of an index that is missing are one finding."""
        own, result, files = self.log.own, self.result, dict[int, list[Unlisted]]()
        for span in spans:
            one = Unlisted(*(int(of[span]) for of in (own.first, own.end, own.producer_id, own.producer_epoch)))
            result.disputed.append((one.first, one.last))
            segment = int(self._segment(np.array([span]))[0])
            unread = self.log.missing.unreadable_between(int(own.first_row[span]), int(own.marker_row[span]))
            if unread or one.last > self.cut_after.get(segment, one.last):
                continue
            if segment in self.missing:
                files.setdefault(segment, []).append(one)
            else:
                result.findings.append(without_entry(segment, one))
        for segment, unlisted in files.items():
            result.findings.append(without_file(segment, unlisted, made_anew=self.missing[segment]))

    def _excused(self, entry: int, since: int, until: int, *, by_cleaner: bool) -> bool:
        """Whether unreadable bytes, or the cleaner, explain that the log differs."""
        missing, last_row = self.log.missing, len(self.log.batches) - 1
        if last_row < 0:
            return True  # nothing could be read; the damage has the reason
        since, until = max(min(since, last_row) - 1, ABSENT), min(until, last_row)
        if missing.unreadable_between(since, until):
            return True
        if by_cleaner and missing.cleaned_between(since, until):
            self.result.cleaned.append((int(self.entries.first[entry]), self._says(entry)))
            return True
        return False

    def _violation(
        self,
        entry: int,
        what: str,
        *,
        at: int = ABSENT,
        producer: int = ABSENT,
        until: int = ABSENT,
        follows: tuple[int, ...] = (),
    ) -> None:
        entries = self.entries
        offset = at if at != ABSENT else int(entries.first[entry])
        producer = producer if producer != ABSENT else int(entries.producer_id[entry])
        message = f"{entries.where(entry)}: {what}"
        fields = (offset, producer, ABSENT, message)
        self.result.findings.append(
            Finding(rules.LSO_ABORTED_INDEX, Severity.VIOLATION, *fields, follows=follows, until=until)
        )


def undecided_entries(result: AbortedJudgement, log: IndexedLog) -> Iterator[Finding]:
    """One finding for all entries about offsets that are not in the log any more, for each reason."""
    reasons = (
        (result.beyond, f"the log ends at offset {log.end}, before what these say: its tail was lost or cut off"),
        (result.cleaned, "the log cleaner may have removed what would show it"),
    )
    for fields, why in reasons:
        if fields:
            offset, first = min(fields)
            message = f"{len(fields)} entries of the aborted index, the first {first}: {why}"
            yield Finding(rules.LSO_ABORTED_INDEX, Severity.UNDECIDED, offset, ABSENT, ABSENT, message)

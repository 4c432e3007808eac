"""Facts about retained state, for all inputs: restarts, idle producers, the aborted index, and blocks of ids.

The proofs of systems do not use them: each states what a rule requires of one decision.
"""

from dataclasses import dataclass, replace
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate, same
from spec.protocol import append, blocks, completing, finding, lso, produce
from spec.protocol.blocks import BlockRecord
from spec.protocol.lso import AbortedTransaction, LogOffsets
from spec.protocol.records import AppendRequest, MetVerification, ProducerEntry
from spec.systems.append_lemmas import AppendBounds
from spec.systems.decision_lemmas import About, Fact, stated
from spec.versions import KAFKA_0_11, NEWEST, Profile
from spec.vocabulary import ABSENT

# --- what a partition knows of producers ----------------------------------------------------------------------


def restart_takes_what_was_taken(
    profile: Profile, entry: ProducerEntry, request: AppendRequest, seen: MetVerification
) -> Term:
    """After a restart a partition accepts every batch that it would have accepted before, and refuses the same ones.

    A resend of the last batch is known again; one of an older batch is not, but no batch becomes a resend by a restart.
    """
    before = append.append(entry, request, profile, seen).reply
    after = append.append(produce.recovered(entry, profile), request, profile, seen).reply
    newest = entry.cached[0]
    of_newest = all_of(before.duplicate, before.last_offset == newest.last_offset)
    others = [negate(each.last_offset == newest.last_offset) for each in entry.cached[1:]]
    return all_of(
        implies(before.appended, after.appended),
        implies(after.appended, any_of(before.appended, before.duplicate)),
        implies(after.duplicate, before.duplicate),
        implies(all_of(of_newest, *others), all_of(after.duplicate, after.last_offset == before.last_offset)),
    )


def forgetting_moves_no_reader(profile: Profile, entry: ProducerEntry, among: AppendBounds) -> Term:
    """The last stable offset stays where it is when a partition forgets an idle producer, and any idle one it may."""
    with_it = lso.smaller(entry.txn_first_offset, among.first_ongoing)
    offsets = LogOffsets(among.log_start, with_it, among.first_unreplicated, among.high_watermark, among.log_end)
    without = replace(offsets, first_ongoing=among.first_ongoing)
    forgotten = completing.may_be_forgotten(entry)
    return all_of(
        implies(forgotten, lso.last_stable(offsets) == lso.last_stable(without)),
        implies(negate(forgotten), entry.txn_first_offset >= 0),
    )


# --- the list of aborted transactions in a fetch --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadRange:
    """A fetch up to an offset, an aborted transaction, and one whose marker comes later.

    Attributes:
        offset: of some data of the first.
        open_then: first offset of the oldest transaction that was open when the first was aborted; -1 none.
    """

    fetch: Term = 0
    upper: Term = 0
    first: Term = 0
    marker: Term = 0
    offset: Term = 0
    open_then: Term = ABSENT
    later_first: Term = 0
    later_marker: Term = 0


def index_lists_what_a_fetch_needs(of: ReadRange) -> Term:
    """A fetch lists an aborted transaction exactly where its data or its marker may be in the answer."""
    listed = lso.is_listed(lso.indexed(of.first, of.marker, of.open_then), of.fetch, of.upper)
    inside = all_of(of.first <= of.offset, of.offset <= of.marker, of.fetch <= of.offset, of.offset < of.upper)
    somewhere = choose(of.first >= of.fetch, of.first, of.fetch)
    there = all_of(somewhere <= of.marker, somewhere < of.upper)
    possible = all_of(of.first >= 0, of.first < of.marker, of.fetch < of.upper)
    return implies(possible, all_of(implies(inside, listed), implies(listed, there)))


def search_of_the_index_stops_in_time(of: ReadRange) -> Term:
    """Where the search of the index ends, no transaction is left out: all later ones begin past the fetch.

    It does end where every transaction that was open then begins past the fetch.
    """
    entry = lso.indexed(of.first, of.marker, of.open_then)
    later = AbortedTransaction(of.later_first, of.later_marker, of.later_marker + 1)
    ends = lso.ends_the_list(entry, of.upper)
    was_open = all_of(of.open_then >= 0, of.later_first >= of.open_then)
    possible = all_of(
        of.first >= 0,
        of.first < of.marker,
        of.marker < of.later_marker,
        of.open_then < of.marker,
        any_of(was_open, of.later_first > of.marker),
        of.fetch <= of.upper,
    )
    nobody = choose(of.open_then >= 0, of.open_then >= of.upper, of.marker >= of.upper)
    return implies(
        possible,
        all_of(implies(ends, negate(lso.is_listed(later, of.fetch, of.upper))), implies(nobody, ends)),
    )


@dataclass(frozen=True, slots=True)
class ReaderFetch:
    """A Fetch of a reader: from where, and whether it reads committed records alone."""

    offset: Term = 0
    committed: Term = False


def reader_receives_stable_records(among: AppendBounds, fetch: ReaderFetch) -> Term:
    """A fetch within the log gets what is replicated, or decided; one outside gets OFFSET_OUT_OF_RANGE.

    Beyond the high watermark, as far as the log goes, there is nothing to read yet and nothing wrong.
    """
    offsets = LogOffsets(
        among.log_start, among.first_ongoing, among.first_unreplicated, among.high_watermark, among.log_end
    )
    answer = lso.fetch(offsets, fetch.offset, fetch.committed)
    inside = all_of(among.log_start <= fetch.offset, fetch.offset <= among.log_end)
    undecided = any_of(
        *(all_of(first >= 0, first < answer.bound) for first in (among.first_ongoing, among.first_unreplicated))
    )
    above_start = all_of(answer.bound >= among.log_start, answer.bound <= among.high_watermark)
    unread = all_of(fetch.committed, undecided)
    return implies(
        all_of(
            among.log_start >= 0,
            among.log_start <= among.high_watermark,
            among.high_watermark <= among.log_end,
        ),
        all_of(
            same(answer.error == 0, inside),
            implies(inside, all_of(above_start, implies(unread, answer.bound == among.log_start))),
            implies(all_of(inside, negate(fetch.committed)), answer.bound == among.high_watermark),
            implies(negate(inside), answer.bound == ABSENT),
        ),
    )


# --- who coordinates a name ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NameHash:
    """The hash of a name, and how many partitions the topic of its coordinators has."""

    hash: Term = 0
    partitions: Term = 50


def name_has_one_coordinator(of: NameHash) -> Term:
    """Whatever the hash of a name, it belongs to one partition that is there; the sign of the hash does not count."""
    partition = finding.partition_of(of.hash, of.partitions)
    mirrored = finding.partition_of(0 - of.hash, of.partitions)
    small = all_of(of.hash >= 0, of.hash < of.partitions)
    signed = all_of(of.hash >= -(2**31), of.hash < 2**31)
    return implies(
        all_of(signed, of.partitions >= 1),
        all_of(
            partition >= 0,
            partition < of.partitions,
            implies(small, partition == of.hash),
            implies(of.hash > -(2**31), partition == mirrored),
            implies(of.hash == -(2**31), partition == 0),
        ),
    )


# --- blocks of producer ids -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SharedBlock:
    """The shared record, one broker's copy of it, and another one's copy of the record after that."""

    first: Term = 0
    version: Term = 0
    read_first: Term = 0
    read_version: Term = 0
    other_first: Term = 0
    other_version: Term = 0


SIZE: Final = 1000
"""Producer ids in a block."""


def blocks_are_apart(of: SharedBlock) -> Term:
    """A block is granted to the broker that read the current record, while ids are left, and no id of it again.

    Who read an older record, or comes past the last block, gets nothing and changes nothing. The number after a block
    has to be one that the record can hold.
    """
    record, read = BlockRecord(of.first, of.version), BlockRecord(of.read_first, of.read_version)
    one = blocks.claim(record, read, SIZE, NEWEST)
    two = blocks.claim(one.record, BlockRecord(of.other_first, of.other_version), SIZE, NEWEST)
    reads = implies(of.read_version == of.version, of.read_first == of.first)
    other_reads = implies(of.other_version == one.record.version, of.other_first == one.record.first)
    current, left = of.read_version == of.version, of.read_first + SIZE < 2**63
    unchanged = all_of(one.record.first == of.first, one.record.version == of.version, one.block.empty)
    return implies(
        all_of(reads, other_reads, of.first >= 0),
        all_of(
            same(one.granted, all_of(current, left)),
            same(one.granted, one.error == 0),
            implies(one.granted, all_of(one.block.position == of.first, one.block.end == of.first + SIZE)),
            implies(one.granted, negate(one.block.empty)),
            implies(all_of(one.granted, two.granted), two.block.position >= one.block.end),
            implies(negate(one.granted), unchanged),
        ),
    )


_BATCH: Final[About] = (("entry", ProducerEntry), ("request", AppendRequest), ("verification", MetVerification))


def keeping_facts() -> tuple[Fact, ...]:
    """For the newest release, and the oldest one, which has a window of one batch."""
    read: About = (("of", ReadRange),)
    among: About = (("among", AppendBounds),)
    return (
        *(
            stated(restart_takes_what_was_taken, rules.SEQ_STATE_RECOVERABLE, _BATCH, profile)
            for profile in (NEWEST, KAFKA_0_11)
        ),
        stated(forgetting_moves_no_reader, rules.LSO_MONOTONE, (("entry", ProducerEntry), *among), NEWEST),
        stated(index_lists_what_a_fetch_needs, rules.LSO_ABORTED_INDEX, read),
        stated(search_of_the_index_stops_in_time, rules.LSO_ABORTED_INDEX, read),
        stated(reader_receives_stable_records, rules.LSO_BOUNDS, (*among, ("fetch", ReaderFetch))),
        stated(name_has_one_coordinator, rules.TXN_ONE_OUTCOME, (("of", NameHash),)),
        stated(blocks_are_apart, rules.IDS_UNIQUE, (("of", SharedBlock),)),
    )

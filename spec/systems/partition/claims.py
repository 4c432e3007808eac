"""Claims about a partition in every reachable state: the theorems, and their lemmas.

Arguments:
    offset: of a record.
    log: the partition, as its leader and its followers have it.
    i: a position.
    j: a position that is not before it.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from spec import rules
from spec.algebra import Term, all_of, any_of, implies
from spec.protocol import lso
from spec.rules import Rule
from spec.systems.language import Claim, Sort, State, given
from spec.systems.partition.log import OFFSET, PARTITION, POSITION, PRODUCER, PartitionKnobs, PartitionView
from spec.systems.system_append import Decide
from spec.vocabulary import ABSENT

Sentence: TypeAlias = Callable[..., Term]


def _up_to(length: Term, *positions: Term) -> Term:
    """The positions rise, or stay, from 0 to the length."""
    rising = (left <= right for left, right in zip((0, *positions), (*positions, length), strict=True))
    return all_of(*rising)


# --- theorems -------------------------------------------------------------------------------------------------


def stable_is_within_bounds(log: PartitionView) -> Term:
    """Log start <= last stable offset <= high watermark <= log end."""
    return lso.bounds(log.offsets(), log.stable())


def below_stable_is_decided(log: PartitionView, producer: Term, position: Term, offset: Term) -> Term:
    """Every transactional record below the last stable offset is decided by a marker below the high watermark."""
    there = all_of(
        log.data(producer, position), log.holds(position, offset), log.log_start() <= offset, position < log.length()
    )
    decided = log.is_decided(producer, position, log.visible())
    return given(there, lambda: lso.is_decided_below(offset, log.stable(), decided))


def what_was_read_stays_decided(log: PartitionView, producer: Term, position: Term, offset: Term) -> Term:
    """Every transactional record that a reader of committed data was given is decided by a marker that is safe."""
    there = all_of(log.given(offset), log.data(producer, position), log.holds(position, offset))
    return implies(there, log.is_decided(producer, position, log.copied()))


def stable_never_falls(log: PartitionView) -> Term:
    """The last stable offset is not below one that the same leader has returned before."""
    return log.reported() <= log.stable()


def open_is_undecided(log: PartitionView, producer: Term) -> Term:
    """A transaction that the leader takes for open has a record that no marker has decided, and begins with it."""
    first, opened = log.known(producer).txn_first_offset, log.opened(producer, log.length())
    begins = all_of(opened >= 0, opened < log.length(), log.end(opened) == first)
    undecided = all_of(log.data(producer, opened), log.decided_by(producer, opened) == ABSENT)
    return given(first >= 0, lambda: all_of(begins, undecided))


def epochs_never_fall(log: PartitionView, producer: Term, i: Term, j: Term) -> Term:
    """Along the log a producer's epoch never falls, and a new leader knows no lower one than was safe."""
    safe = log.safe_epoch(producer) <= log.known(producer).epoch
    rising = given(_up_to(log.length(), i, j), lambda: log.entry(producer, i).epoch <= log.entry(producer, j).epoch)
    return all_of(safe, rising)


def coordinator_epochs_never_fall(log: PartitionView, producer: Term, i: Term, j: Term) -> Term:
    """Along the log a producer's coordinator epoch never falls, and a new leader knows no lower one than was safe."""
    safe = log.safe_coordinator_epoch(producer) <= log.known(producer).coordinator_epoch
    rising = given(
        _up_to(log.length(), i, j),
        lambda: log.entry(producer, i).coordinator_epoch <= log.entry(producer, j).coordinator_epoch,
    )
    return all_of(safe, rising)


# --- lemmas ---------------------------------------------------------------------------------------------------


def counts(log: PartitionView) -> Term:
    """What is visible is safe and in the log; the log starts not after what is visible."""
    return all_of(
        _up_to(log.length(), log.visible(), log.copied()),
        log.end(0) == 0,
        log.log_start() >= 0,
        log.log_start() <= log.high_watermark(),
    )


def offsets_rise(log: PartitionView, i: Term, j: Term) -> Term:
    """Offsets rise from batch to batch."""
    return implies(all_of(i >= 0, i < j, j <= log.length()), all_of(log.end(i) >= 0, log.end(i) < log.end(j)))


def data_is_in_log(log: PartitionView, producer: Term, position: Term) -> Term:
    """Transactional data has a position in the log."""
    return implies(log.data(producer, position), all_of(position >= 0, position < log.length()))


def marker_is_in_log(log: PartitionView, producer: Term, position: Term) -> Term:
    """A marker has a position in the log."""
    return implies(log.marker(producer, position), all_of(position >= 0, position < log.length()))


def deciding_is_a_marker(log: PartitionView, producer: Term, position: Term) -> Term:
    """What decides transactional data is a marker of its producer further on in the log."""
    marker = log.decided_by(producer, position)
    there = all_of(log.data(producer, position), position < marker, marker < log.length(), log.marker(producer, marker))
    return any_of(marker == ABSENT, there)


def _undecided_at(log: PartitionView, producer: Term, position: Term, length: Term) -> Term:
    """In the log's first batches no marker decides the data at this position."""
    marker = log.decided_by(producer, position)
    return all_of(log.data(producer, position), any_of(marker == ABSENT, marker >= length))


def undecided_is_open(log: PartitionView, producer: Term, i: Term, j: Term) -> Term:
    """A replica that has transactional data but not its marker knows a transaction that begins not after it."""
    first = log.entry(producer, j).txn_first_offset
    here = all_of(_up_to(log.length(), i, j), i < j, _undecided_at(log, producer, i, j))
    return implies(here, all_of(first >= 0, first <= log.end(i)))


def undecided_is_open_now(log: PartitionView, producer: Term, i: Term) -> Term:
    """The leader knows a transaction that begins not after any undecided data."""
    first = log.known(producer).txn_first_offset
    here = all_of(log.data(producer, i), log.decided_by(producer, i) == ABSENT)
    return implies(here, all_of(first >= 0, first <= log.end(i)))


def open_is_in_log(log: PartitionView, producer: Term, j: Term) -> Term:
    """The transaction that a replica takes for open begins with data that no marker of its log has decided."""
    entry, opened = log.entry(producer, j), log.opened(producer, j)
    begins = all_of(opened >= 0, opened < j, log.end(opened) == entry.txn_first_offset)
    known = all_of(_up_to(log.length(), j), entry.txn_first_offset >= 0)
    return implies(known, all_of(begins, _undecided_at(log, producer, opened, j)))


def reported_is_visible(log: PartitionView) -> Term:
    """No last stable offset above the high watermark was returned."""
    return all_of(log.reported() >= 0, log.reported() <= log.high_watermark())


def below_reported_is_decided(log: PartitionView, producer: Term, position: Term) -> Term:
    """Data that begins below a returned last stable offset is decided, or the log starts at or after that offset."""
    undecided = _undecided_at(log, producer, position, log.visible())
    return implies(all_of(undecided, log.end(position) < log.reported()), log.reported() <= log.log_start())


def given_is_safe(log: PartitionView, offset: Term) -> Term:
    """Nothing was given to a reader that a new leader might not have."""
    return implies(log.given(offset), all_of(offset >= 0, offset < log.end(log.copied())))


def given_is_decided(log: PartitionView, producer: Term, position: Term, offset: Term) -> Term:
    """What a reader was given is decided by a marker that is safe."""
    return what_was_read_stays_decided(log, producer, position, offset)


def epochs_rise(log: PartitionView, producer: Term, i: Term, j: Term) -> Term:
    """Along the log neither a producer's epoch nor its coordinator's falls."""
    before, after = log.entry(producer, i), log.entry(producer, j)
    rising = all_of(before.epoch <= after.epoch, before.coordinator_epoch <= after.coordinator_epoch)
    return implies(_up_to(log.length(), i, j), rising)


def safe_epochs_are_of_log(log: PartitionView, producer: Term) -> Term:
    """The epochs that are safe are those that the safe part of the log gives."""
    entry = log.entry(producer, log.copied())
    return all_of(
        log.safe_epoch(producer) == entry.epoch, log.safe_coordinator_epoch(producer) == entry.coordinator_epoch
    )


class PartitionClaims:
    """The claims about a system with these knobs."""

    def __init__(self, knobs: PartitionKnobs, decide: Decide) -> None:
        self._of = partial(PartitionView, knobs, decide)

    def theorems(self) -> tuple[Claim, ...]:
        """What the rules claim."""
        return (
            self._claim(stable_is_within_bounds, rules.LSO_BOUNDS),
            self._claim(below_stable_is_decided, rules.LSO_DECIDED_BELOW, PRODUCER, POSITION, OFFSET),
            self._claim(what_was_read_stays_decided, rules.LSO_DECIDED_BELOW, PRODUCER, POSITION, OFFSET),
            self._claim(open_is_undecided, rules.LSO_DECIDED_BELOW, PRODUCER),
            self._claim(stable_never_falls, rules.LSO_MONOTONE),
            self._claim(epochs_never_fall, rules.FENCE_EPOCH_MONOTONE, PRODUCER, POSITION, POSITION),
            self._claim(coordinator_epochs_never_fall, rules.FENCE_COORDINATOR_EPOCH, PRODUCER, POSITION, POSITION),
        )

    def lemmas(self) -> tuple[Claim, ...]:
        """What makes the theorems inductive."""
        return (
            self._claim(counts, rules.LSO_BOUNDS),
            self._claim(offsets_rise, rules.LSO_BOUNDS, POSITION, POSITION),
            self._claim(data_is_in_log, rules.LSO_DECIDED_BELOW, PRODUCER, POSITION),
            self._claim(marker_is_in_log, rules.LSO_DECIDED_BELOW, PRODUCER, POSITION),
            self._claim(deciding_is_a_marker, rules.LSO_DECIDED_BELOW, PRODUCER, POSITION),
            self._claim(undecided_is_open, rules.LSO_DECIDED_BELOW, PRODUCER, POSITION, POSITION),
            self._claim(undecided_is_open_now, rules.LSO_DECIDED_BELOW, PRODUCER, POSITION),
            self._claim(open_is_in_log, rules.LSO_DECIDED_BELOW, PRODUCER, POSITION),
            self._claim(reported_is_visible, rules.LSO_MONOTONE),
            self._claim(below_reported_is_decided, rules.LSO_MONOTONE, PRODUCER, POSITION),
            self._claim(given_is_safe, rules.LSO_DECIDED_BELOW, OFFSET),
            self._claim(given_is_decided, rules.LSO_DECIDED_BELOW, PRODUCER, POSITION, OFFSET),
            self._claim(epochs_rise, rules.FENCE_EPOCH_MONOTONE, PRODUCER, POSITION, POSITION),
            self._claim(safe_epochs_are_of_log, rules.FENCE_EPOCH_MONOTONE, PRODUCER),
        )

    def _claim(self, sentence: Sentence, rule: Rule, *over: Sort) -> Claim:
        def holds(state: State, partition: Term, *at: Term) -> Term:
            return sentence(self._of(state, partition), *at)

        return Claim(sentence.__name__, rule, str(sentence.__doc__), (PARTITION, *over), holds)

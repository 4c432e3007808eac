"""Records that elections outside the in-sync set took from a log, and the evidence for it.

Such an election excuses a finding only where it is shown to be its cause: at this partition, in these offsets, at this
time. That there was one somewhere excuses nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from model_tests.audit.controller_log_history import LeaderEpochEntry
from model_tests.audit.replica import ReplicaSummary
from model_tests.histories.as_journal import Acknowledged
from spec.vocabulary import ABSENT

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Loss:
    """An election of a replica that was not in sync: from an offset on its log has what came after it.

    Attributes:
        offset: where the log continues after the election.
        epoch: the leader epoch that began with it.
        election: who was elected, and where in the controller's log that is.
        elected: the broker.
        again: it had led last, and lacks only what its own broker lost.
        epoch_end: where the next leader epoch begins in the log, or the log ends.
        until: the offset after the last one that is shown to have been in use before; -1 where nothing is shown.
        evidence: what shows it.
    """

    offset: int
    epoch: int
    election: str
    elected: int = ABSENT
    again: bool = False
    epoch_end: int = ABSENT
    until: int = ABSENT
    evidence: str = ""

    @property
    def is_shown(self) -> bool:
        """Something that was there before is shown to be gone."""
        return self.until > self.offset

    def reported(self) -> str:
        """From where to where records were lost, and what shows it."""
        if not self.is_shown:
            return f"from offset {self.offset} on; how far nothing here shows"
        if self.until == self.offset + 1:
            return f"at offset {self.offset}, by {self.evidence}"
        return f"at offsets {self.offset} to {self.until - 1}, by {self.evidence}"


@dataclass(frozen=True, slots=True)
class Led:
    """Who led a log's partition, by the controller's log, which has every leader of the log.

    Attributes:
        leaderships: the leader epochs, in order.
        losses: what elections outside the in-sync set may have taken from the log.
        knows: the newest leader epoch that the log knows of, by its batches or its checkpoint.
    """

    leaderships: tuple[LeaderEpochEntry, ...] = ()
    losses: tuple[Loss, ...] = ()
    knows: int = ABSENT

    def during(self, first_ms: int, last_ms: int) -> list[LeaderEpochEntry]:
        """The leader epochs of which some part lies between two times, both included."""
        ends = [one.timestamp for one in self.leaderships[1:]]
        return [
            one
            for place, one in enumerate(self.leaderships)
            if one.timestamp <= last_ms and (place == len(ends) or ends[place] >= first_ms)
        ]

    def at(self, time_ms: int) -> LeaderEpochEntry | None:
        """The leader epoch at a time; none before the first one."""
        return next((one for one in reversed(self.leaderships) if one.timestamp <= time_ms), None)

    @property
    def known_ms(self) -> int:
        """When the newest leader epoch began that the log knows of: it was copied later; -1 where it knows none."""
        return next((one.timestamp for one in self.leaderships if one.epoch == self.knows), ABSENT)


def losses_of(
    elections: Iterable[LeaderEpochEntry],
    own: ReplicaSummary,
    others: Iterable[tuple[str, ReplicaSummary]],
    *,
    behind: bool,
) -> tuple[Loss, ...]:
    """Where the elected replica, or a later leader, continues in a log, if the log got so far.

    Args:
        elections: of replicas that were not in sync.
        own: the log.
        others: the partition's other replicas, each with its broker in words: one that was not cut to the new leader's
            history yet shows what the leader before had.
        behind: the log may lack what the newest leaders appended.
    """
    found = []
    copies = list(others)
    for one in sorted(elections, key=lambda each: each.epoch):
        start = next((offset for epoch, offset, _ in own.epochs if epoch >= one.epoch), own.log_end)
        if start == own.log_end and behind:
            continue
        end = next((offset for epoch, offset, _ in own.epochs if epoch > one.epoch), own.log_end)
        name = "the election of the last leader, broker" if one.again else "the unclean election of broker"
        election = f"{name} {one.leader} for leader epoch {one.epoch} (offset {one.offset} of the controller's log)"
        loss = Loss(start, one.epoch, election, one.leader, one.again, end)
        found.append(_shown_by_copies(loss, copies))
    return tuple(found)


def _shown_by_copies(loss: Loss, copies: Iterable[tuple[str, ReplicaSummary]]) -> Loss:
    """The loss with the offsets that another replica still has in an earlier leader epoch."""
    for label, copy in copies:
        end = next((offset for epoch, offset, _ in copy.epochs if epoch >= loss.epoch), copy.log_end)
        if end > max(loss.until, loss.offset) and ABSENT < copy.epoch_at(loss.offset) < loss.epoch:
            had = f"{label}, which still has them in leader epoch {copy.epoch_at(loss.offset)}"
            loss = replace(loss, until=end, evidence=had)
    return loss


def lost_acknowledgements(loss: Loss, acks: Acknowledged, log_end: int) -> Flags:
    """Which acknowledgements are of records that the election took away.

    The elected leader's first record at an offset that was acknowledged before is later than the election: whatever was
    acknowledged before that, at the offset from which on the new leader went on, or beyond, was lost. The same is true
    where the log goes no further than that offset.

    Args:
        loss: the election.
        acks: of a partition's records, by offset.
        log_end: of the partition's log.
    """
    offsets = acks.offsets
    above: Flags = offsets >= loss.offset
    if loss.offset == log_end:
        return above
    again = offsets[1:] == offsets[:-1]
    own = again & (offsets[1:] >= loss.offset) & (offsets[1:] < loss.epoch_end)
    if not own.any():
        return np.zeros(len(offsets), np.bool_)
    first_after = np.maximum(acks.order[1:], acks.order[:-1])[own].min()
    lost: Flags = above & (acks.order < first_after)
    return lost


def shown_by_clients(losses: Sequence[Loss], acks: Acknowledged | None, log_end: int) -> tuple[Loss, ...]:
    """The losses with the offsets of lost records that clients got acknowledgements for.

    Args:
        losses: of a log.
        acks: the acknowledgements of the partition, if any.
        log_end: of the log.
    """
    if acks is None:
        return tuple(losses)
    found = []
    for loss in losses:
        lost = lost_acknowledgements(loss, acks, log_end)
        count = int(np.count_nonzero(lost))
        end = int(acks.offsets[lost].max()) + 1 if count else ABSENT
        by = f"{count} acknowledgements" if count > 1 else "an acknowledgement"
        found.append(replace(loss, until=end, evidence=by) if end > loss.until else loss)
    return tuple(found)

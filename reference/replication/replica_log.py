"""A replica's log together with the epochs of the leaders that wrote it."""

from reference.log.batch import RecordBatch
from reference.log.checkpoint_file import EpochCache
from reference.log.partition import Partition
from reference.replication.messages import NO_EPOCH, UNDEFINED, EpochEnd, UnexpectedAppendOffset
from spec.vocabulary import LeaderEpoch, Offset, Timestamp


class ReplicaLog:
    """What a broker has of a partition.

    Attributes:
        log: records, producer state and watermarks.
        checkpoint: the high watermark as it is on disk.
    """

    __slots__ = ("checkpoint", "log")

    def __init__(self, log: Partition) -> None:
        """The log, with the epochs that it knows of."""
        self.log = log
        self.checkpoint = log.high_watermark

    @property
    def epochs(self) -> EpochCache:
        """Leader epochs, and where each began."""
        return self.log.epochs

    def epoch_end(self, epoch: LeaderEpoch) -> EpochEnd:
        """The newest epoch at or below `epoch`, and where it ends; `UNDEFINED` if none is known."""
        if epoch == NO_EPOCH:
            return UNDEFINED
        if epoch == self.epochs.latest:
            return EpochEnd(epoch, self.log.log_end)
        return EpochEnd(*self.epochs.end_offset_for(epoch, self.log.log_end))

    def copy(self, batch: RecordBatch) -> None:
        """Append a batch that the leader has accepted.

        Raises:
            UnexpectedAppendOffset: the batch does not begin at or after the log end.
            Refusal: before 2.4, a marker's epoch is below the producer's, or its coordinator's below the last.
        """
        if batch.base_offset < self.log.log_end:
            raise UnexpectedAppendOffset(base_offset=batch.base_offset, log_end=self.log.log_end)
        self.log.replicate(batch)
        self.epochs.assign(batch.leader_epoch, batch.base_offset)

    def truncate(self, offset: Offset, now: Timestamp) -> None:
        """Cut the log at `offset`; an epoch that began there or later is forgotten, even if it had no record."""
        if offset < self.log.log_end:
            self.log.truncate(offset, now)
        self.epochs.truncate_end(self.log.log_end)

    def start_at(self, offset: Offset, now: Timestamp) -> None:
        """Drop everything and begin at `offset`, beyond the log end."""
        self.log.truncate(self.log.log_start, now)
        self.log.log.start_at(offset)
        self.log.high_watermark = offset
        self.epochs.truncate_end(0)

    def write_checkpoint(self) -> None:
        """Keep the high watermark for after a restart (replication-offset-checkpoint)."""
        self.checkpoint = self.log.high_watermark

    def restart(self, kept_end: Offset, now: Timestamp) -> None:
        """Come back from a disk that has the log below `kept_end`, and the high watermark of the last checkpoint."""
        self.truncate(kept_end, now)
        self.log.restart(now)
        self.log.high_watermark = Offset(max(self.log.log_start, min(self.checkpoint, self.log.log_end)))

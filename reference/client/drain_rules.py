"""Drain rules: the named reasons why a batch is not sent yet, in the order in which a producer checks them.

Sources: RecordAccumulator.ready, drainBatchesForOneNode and shouldStopDrainBatchesForPartition, Sender.
"""

from enum import Enum, auto, unique


@unique
class Hold(Enum):
    """The first rule that keeps the next batch of a partition where it is."""

    # of the connection
    LEADER_UNKNOWN = auto()  # the partition has no leader, as far as the producer knows
    CONNECTION_BUSY = auto()  # so many requests to the leader are unanswered (max.in.flight.requests.per.connection)

    # of the batch
    NOTHING_WAITS = auto()
    MUTED = auto()  # a batch of the partition is in flight where one at a time keeps the order
    BACKING_OFF = auto()  # it was sent, and retry.backoff.ms is not over
    LINGERING = auto()  # it is not full, and linger.ms is not over

    # of the producer
    FAILED = auto()  # a fatal error has ended it
    NOT_IN_TRANSACTION = auto()  # the coordinator has not said that the partition belongs to the transaction
    NO_PRODUCER_ID = auto()

    # of the sequences
    STALE_IN_FLIGHT = auto()  # batches of another producer id or epoch are in flight
    UNRESOLVED = auto()  # a batch expired whose fate is not known
    WINDOW_FULL = auto()  # as many batches are in flight as the broker remembers
    NOT_FIRST_IN_FLIGHT = auto()  # an earlier batch must be sent again before this one is

"""Decisions about replicas in the columns of the trace."""

from reference.recording.recorder import Row
from reference.replication.follower_progress import FollowerProgress
from reference.replication.messages import UNDEFINED, EpochEnd, FetchRequest, FollowerFetchResult


def progress_columns(broker: int, progress: FollowerProgress) -> Row:
    """A follower and how far it is known to be."""
    return {
        "broker": broker,
        "follower_end": progress.log_end,
        "follower_fetch_ms": progress.fetched_ms,
        "follower_leader_end": progress.leader_end,
        "follower_caught_up_ms": progress.caught_up_ms,
    }


def fetch_columns(request: FetchRequest, answer: FollowerFetchResult, known: EpochEnd = UNDEFINED) -> Row:
    """A Fetch, what its broker knows of the epoch that it names, and the answer."""
    return {
        "offset": request.offset,
        "asked_leader_epoch": request.leader_epoch,
        "asked_epoch": request.last_epoch,
        "asked_broker_epoch": request.broker_epoch,
        "known_epoch": known.epoch,
        "known_epoch_end": known.end,
        "error": int(answer.error),
        "answered_epoch": answer.diverging.epoch,
        "answered_end": answer.diverging.end,
        "answered_log_start": answer.log_start,
    }

"""Decisions about replicas in the columns of the trace."""

from reference.recorder import Row
from reference.replication.follower_progress import FollowerProgress
from reference.replication.messages import Fetch, Fetched


def progress_columns(broker: int, progress: FollowerProgress) -> Row:
    """A follower and how far it is known to be."""
    return {
        "broker": broker,
        "follower_end": progress.log_end,
        "follower_fetch_ms": progress.fetched_ms,
        "follower_leader_end": progress.leader_end,
        "follower_caught_up_ms": progress.caught_up_ms,
    }


def fetch_columns(asked: Fetch, answer: Fetched) -> Row:
    """A Fetch and its answer."""
    return {
        "offset": asked.offset,
        "asked_leader_epoch": asked.leader_epoch,
        "asked_epoch": asked.last_epoch,
        "asked_broker_epoch": asked.broker_epoch,
        "error": int(answer.error),
        "answered_epoch": answer.diverging.epoch,
        "answered_end": answer.diverging.end,
        "answered_log_start": answer.log_start,
    }

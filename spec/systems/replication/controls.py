"""Changes of the system that must break a rule, each with the claim that they violate and a small instance."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from spec.algebra import Term
from spec.protocol.repl import ACKS_LEADER
from spec.systems.replication import claims
from spec.systems.replication.world import ReplicationKnobs
from spec.versions import KAFKA_4_0, NEWEST


@dataclass(frozen=True, slots=True)
class BrokenReplication:
    """The system with one thing changed.

    Attributes:
        name: what is changed.
        breaks: the claim that no longer holds.
        knobs: the change, with the bounds of its instance.
    """

    name: str
    breaks: Callable[..., Term]
    knobs: ReplicationKnobs

    @property
    def violates(self) -> str:
        """Name of the claim."""
        return self.breaks.__name__

    @property
    def mended(self) -> ReplicationKnobs:
        """The true system, in the same instance; where brokers lose records, one does, and two must have them."""
        here, losses = self.knobs, min(self.knobs.losses, 1)
        return ReplicationKnobs(
            replicas=here.replicas,
            appends=here.appends,
            elections=here.elections,
            restarts=here.restarts,
            hears_late=here.hears_late,
            losses=losses,
            min_in_sync=1 + losses,
        )


def _small(appends: int = 1, elections: int = 1, **changed: Any) -> ReplicationKnobs:
    return ReplicationKnobs(appends=appends, elections=elections, **changed)


def _release(**behaviours: Any) -> Any:
    return replace(NEWEST, name="changed", **behaviours)


_BY_HIGH_WATERMARK: Final = _release(truncates_by_leader_epoch=False)
_ONE_LOSS: Final[dict[str, Any]] = {"min_in_sync": 2, "losses": 1}

CONTROLS: Final = (
    BrokenReplication("unclean election", claims.leader_has_committed_records, _small(unclean=True)),
    BrokenReplication("acks 1", claims.leader_has_committed_records, _small(acks=ACKS_LEADER)),
    BrokenReplication(
        "before KIP-101, records are lost: truncation at the high watermark",
        claims.leader_has_committed_records,
        _small(profile=_BY_HIGH_WATERMARK, restarts=True),
    ),
    BrokenReplication(
        "before KIP-101, logs diverge: truncation at the high watermark",
        claims.replicas_agree_below_high_watermarks,
        _small(appends=2, profile=_BY_HIGH_WATERMARK, restarts=True),
    ),
    BrokenReplication(
        "before KIP-279: the leader does not name the epoch that ends",
        claims.followers_have_the_leaders_history,
        _small(appends=2, elections=2, profile=_release(truncation_names_epoch=False)),
    ),
    BrokenReplication(
        "KAFKA-7128: a follower returns at a new leader's high watermark",
        claims.leader_has_committed_records,
        _small(elections=2, profile=_release(returns_at_epoch_start=False), **_ONE_LOSS),
    ),
    BrokenReplication(
        "a follower returns before it has caught up",
        claims.leader_has_committed_records,
        _small(returns_caught_up=False),
    ),
    BrokenReplication(
        "before KIP-903: a follower returns on the word of its former incarnation",
        claims.leader_has_committed_records,
        _small(profile=_release(incarnations_compared=False), **_ONE_LOSS),
    ),
    BrokenReplication(
        "the high watermark does not wait for who is about to return",
        claims.leader_has_committed_records,
        _small(waits_for_proposed=False),
    ),
    BrokenReplication(
        "the high watermark is that of the majority",
        claims.leader_has_committed_records,
        _small(replicas=3, of_majority=True),
    ),
    BrokenReplication(
        "the high watermark of the majority is not in every in-sync log",
        claims.high_watermark_is_in_every_in_sync_log,
        _small(replicas=3, of_majority=True),
    ),
    BrokenReplication("the high watermark may fall", claims.high_watermark_never_falls, _small(falls=True)),
    BrokenReplication("min.insync.replicas is 1", claims.leader_has_committed_records, _small(min_in_sync=1, losses=1)),
    BrokenReplication(
        "min.insync.replicas holds for producers alone (before KAFKA-15583)",
        claims.leader_has_committed_records,
        _small(profile=_release(high_watermark_needs_min_isr=False), **_ONE_LOSS),
    ),
    BrokenReplication(
        "the last replica standing loses records (before KIP-966)",
        claims.leader_has_committed_records,
        _small(profile=KAFKA_4_0, **_ONE_LOSS),
    ),
    BrokenReplication(
        "as many brokers lose records as min.insync.replicas",
        claims.leader_has_committed_records,
        _small(min_in_sync=2, losses=2),
    ),
    BrokenReplication(
        "the leader epoch is not raised, and records are lost",
        claims.leader_has_committed_records,
        _small(appends=2, epoch_rises=False),
    ),
    BrokenReplication(
        "the leader epoch is not raised, and logs diverge",
        claims.replicas_agree_below_high_watermarks,
        _small(appends=2, epoch_rises=False),
    ),
    BrokenReplication(
        "before KIP-380: a restarted broker learns of an election from before",
        claims.leader_has_committed_records,
        _small(restarts=True, hears_late=True, hears_in_order=False),
    ),
    BrokenReplication(
        "an answer to a Fetch of an earlier epoch is taken",
        claims.high_watermark_never_falls,
        _small(appends=2, replies_outlive=True),
    ),
)

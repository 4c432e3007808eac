"""Requests that no broker has sent: they are refused, for every reason that there is, and change nothing."""

from copy import deepcopy
from typing import Any

import pytest

from reference.event import FaultRates
from reference.simulate.schedule_replicas import ReplicasScheduler, drawn_replicas
from reference.tape import Tape
from reference.world.replicas_strangers import (
    stranger_asks_for_epoch,
    stranger_fetches,
    stranger_produces,
    stranger_proposes,
)
from spec.versions import PROFILES
from spec.vocabulary import ErrorCode

WITHOUT_STRANGERS = FaultRates(strange=0)


def grown(seed: int, profile: str) -> ReplicasScheduler:
    """A scheduler whose world has gone on for a while."""
    tape = Tape.seeded(seed)
    scheduler = ReplicasScheduler(
        drawn_replicas(PROFILES[profile], tape, WITHOUT_STRANGERS, seed), tape, WITHOUT_STRANGERS
    )
    for _ in range(400):
        scheduler.turn()
    return scheduler


def reported(scheduler: ReplicasScheduler) -> Any:
    """What brokers and controllers know of logs, in-sync sets and followers."""
    replicas = [replica for node in scheduler.world.nodes for replica in node.broker.replicas.values()]
    return deepcopy(
        (
            scheduler.world.metadata.partitions,
            scheduler.world.metadata.brokers,
            [(replica.log.log_end, replica.log.high_watermark, replica.leader_epoch) for replica in replicas],
            [(r.leadership.insync, r.leadership.proposed, r.leadership.followers) for r in replicas if r.leadership],
        )
    )


@pytest.mark.parametrize("profile", ["0.11", "2.7", "3.9.0", "4.3"])
def test_a_stranger_is_refused_and_changes_nothing(profile: str) -> None:
    """Fetches and proposals get an error; the end of an epoch is answered to any node."""
    errors: dict[str, set[int]] = {}
    for seed in range(4):
        scheduler = grown(seed, profile)
        before, tape = reported(scheduler), scheduler.tape
        rows = scheduler.recorder.rows
        known = len(rows)
        for _ in range(60):
            stranger_proposes(scheduler.world, tape)
            for node in scheduler.running():
                stranger_fetches(scheduler.world, tape, node)
                stranger_asks_for_epoch(scheduler.world, tape, node)
                stranger_produces(scheduler.world, tape, node)
        for row in rows[known:]:
            errors.setdefault(str(row["api"]), set()).add(int(row["error"]))
        assert before == reported(scheduler)

    assert {"FetchFollower", "OffsetsForLeaderEpoch", "AlterPartition", "Produce"} == errors.keys()
    assert ErrorCode.NONE not in errors["FetchFollower"] | errors["AlterPartition"] | errors["Produce"]
    assert len(errors["FetchFollower"]) > 1

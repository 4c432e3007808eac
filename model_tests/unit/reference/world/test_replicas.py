"""A world of replicas keeps what it has acknowledged, unless a setting gives that up; then a run shows the loss."""

from collections import defaultdict
from dataclasses import replace
from functools import cache

import pytest

from reference.event import NO_FAULTS, FaultRates
from reference.log.partition import Partition
from reference.recording.recorder import Row
from reference.recording.trace import COLUMNS, ColumnType
from reference.replication.replica import Replica
from reference.simulate.schedule_replicas import ReplicasScheduler, drawn_replicas
from reference.simulate.simulation import simulate
from reference.tape import Tape
from reference.world.replicas import ReplicasWorld
from reference.world.replicas_shape import ReplicaProducer, ReplicasShape
from spec.versions import KAFKA_0_11, KAFKA_2_0, KAFKA_2_5, KAFKA_2_7, KAFKA_3_9, NEWEST, PROFILES, Profile

TURNS = 600
KEPT = replace(FaultRates(), power=0, deletion=0)
"""Whatever reached a log is on disk, and is never deleted."""

ALL = (ReplicaProducer(idempotent=False), ReplicaProducer(idempotent=False))
ONE = (ReplicaProducer(acks=1, idempotent=False),)
BY_HIGH_WATERMARK = replace(KAFKA_0_11, truncates_by_leader_epoch=False)
EVERY_TEN = 10


def world(profile: Profile, seed: int, **shape: object) -> ReplicasWorld:
    """A world as the seed draws it, with some of its shape given."""
    drawn = drawn_replicas(profile, Tape.seeded(seed), KEPT, seed).shape
    return ReplicasWorld(profile, replace(drawn, **shape), seed)  # type: ignore[arg-type]


def run(made: ReplicasWorld, seed: int, faults: FaultRates = KEPT, turns: int = TURNS) -> list[str]:
    """Let a world go its way and come to rest; what was wrong meanwhile."""
    scheduler = ReplicasScheduler(made, Tape.seeded(seed), faults)
    wrong = []
    for turn in range(turns):
        scheduler.turn()
        if turn % EVERY_TEN == 0:
            wrong += parted(made)
    if not scheduler.settle():
        wrong.append("never at rest")
    return [*wrong, *parted(made), *lost(made)]


def parted(made: ReplicasWorld) -> list[str]:
    """Replicas that differ below the high watermarks of both."""
    found = []
    for partition in range(made.shape.partitions):
        first, *others = (made.replica(node, partition).log for node in made.shape.assignment(partition))
        found += [f"partition {partition} has parted" for other in others if differ(first, other)]
    return found


def differ(one: Partition, other: Partition) -> bool:
    """Whether two logs are not the same where both are committed."""
    below = min(one.high_watermark, other.high_watermark)
    start = max(one.log_start, other.log_start)
    return one.log.read(start, below) != other.log.read(start, below)


def lost(made: ReplicasWorld) -> list[str]:
    """Values that an application got acknowledged, and that the leader does not have."""
    found = []
    for producer in made.clients.producers:
        for partition, batch in producer.history:
            if batch.outcome is True:
                found += [f"{value!r} is lost" for value in batch.values if value not in values(made, partition)]
    return found


def values(made: ReplicasWorld, partition: int) -> set[bytes | None]:
    """What the leader of a partition has."""
    log = made.replica(made.leader_of(partition), partition).log.log
    return {record.value for batch in log for record in batch.records()}


@cache
def rows(profile: Profile, seeds: int = 8, steps: int = 1_000) -> tuple[Row, ...]:
    """Steps of some traces."""
    return tuple(row for seed in range(seeds) for row in simulate(seed, profile, steps, workload="replicas"))


@pytest.mark.parametrize("profile", [NEWEST, KAFKA_3_9, KAFKA_2_7, KAFKA_2_5, KAFKA_2_0], ids=lambda p: p.name)
@pytest.mark.parametrize("seed", range(4))
def test_what_is_acknowledged_is_kept(profile: Profile, seed: int) -> None:
    """With acks=all and clean elections, whatever fails: replicas agree, nothing is lost, and all comes to rest."""
    made = world(profile, seed, writers=ALL, unclean_allowed=False)

    assert [] == run(made, seed)
    assert any(batch.outcome for producer in made.clients.producers for _, batch in producer.history)


@pytest.mark.parametrize("seed", range(4))
def test_exactly_once_while_brokers_remember(seed: int) -> None:
    """Leaders change, messages are lost, late and copied; no broker has to start again."""
    made = world(NEWEST, seed, writers=(ReplicaProducer(), ReplicaProducer()), unclean_allowed=False)

    wrong = run(made, seed, replace(KEPT, restart=0, shutdown=0))

    assert [] == wrong
    for partition in range(made.shape.partitions):
        log = made.replica(made.leader_of(partition), partition).log.log
        written = [record.value for batch in log for record in batch.records()]
        assert len(set(written)) == len(written)


HUNTED = range(60)
"""Runs after which a loss is taken to be impossible."""


@pytest.mark.parametrize(
    ("profile", "shape", "faults"),
    [
        pytest.param(NEWEST, {"writers": ALL, "unclean_allowed": True}, KEPT, id="unclean-election"),
        pytest.param(NEWEST, {"writers": ONE}, KEPT, id="acks-1"),
        pytest.param(BY_HIGH_WATERMARK, {"writers": ALL}, replace(KEPT, restart=25), id="to-the-high-watermark"),
        pytest.param(NEWEST, {"writers": ALL}, replace(KEPT, power=900, restart=15), id="power-loss"),
    ],
)
def test_a_setting_that_loses_what_was_acknowledged(
    profile: Profile, shape: dict[str, object], faults: FaultRates
) -> None:
    """The same kind of run that keeps everything elsewhere; some run of a few shows it."""
    setting = {"unclean_allowed": False, "partitions": 1} | shape

    assert any("is lost" in each for seed in HUNTED for each in run(world(profile, seed, **setting), seed, faults))


def test_unclean_elections_part_the_logs() -> None:
    """Two replicas have other records at offsets that both take for committed."""
    setting = {"writers": ALL, "unclean_allowed": True}

    assert any("has parted" in each for seed in HUNTED for each in run(world(NEWEST, seed, **setting), seed))


@pytest.mark.parametrize("profile", [NEWEST, KAFKA_2_5], ids=lambda p: p.name)
def test_the_high_watermark_of_a_leader_never_falls(profile: Profile) -> None:
    """Within one leader epoch; a new leader may begin below what its followers know."""
    known: dict[tuple[object, ...], int] = defaultdict(int)
    judged = [row for row in rows(profile) if row["api"] == "LeaderHighWatermark"]

    for row in judged:
        of = (row["trace"], row["node"], row["partition"], row["leader_epoch"])
        assert known[of] <= int(row["before_high_watermark"]) <= int(row["after_high_watermark"])
        assert int(row["after_high_watermark"]) <= int(row["after_log_end"])
        known[of] = int(row["after_high_watermark"])

    assert 1000 < len(judged)


def test_each_leader_epoch_has_one_leader() -> None:
    """Two brokers may believe that they lead, under different epochs; a Produce that is accepted names its own."""
    leaders: dict[tuple[object, ...], set[object]] = defaultdict(set)

    for row in rows(NEWEST):
        if row["api"] == "Produce" and row["appended"]:
            leaders[row["trace"], row["partition"], row["leader_epoch"]].add(row["node"])

    assert {1} == {len(nodes) for nodes in leaders.values()}
    assert 1 < len({epoch for _, _, epoch in leaders})


OCCUR = {
    "FetchFollower",
    "ReplicaTruncate",
    "ReplicaFetch",
    "FollowerHighWatermark",
    "LeaderHighWatermark",
    "Produce",
    "DelayedProduce",
    "ReplicaLagCheck",
    "IsrExpansion",
    "AlterPartition",
    "LeaderElection",
    "BecomeLeader",
    "BecomeFollower",
    "BrokerRegistration",
    "BrokerFenced",
    "ControlledShutdown",
    "ControllerElection",
    "BrokerRestart",
}


@pytest.mark.parametrize("profile", [NEWEST, KAFKA_2_5], ids=lambda p: p.name)
def test_every_kind_of_step_occurs(profile: Profile) -> None:
    """Before 2.7 a follower asks where epochs end before it fetches."""
    kinds = {str(row["api"]) for row in rows(profile)}

    assert kinds >= OCCUR | ({"OffsetsForLeaderEpoch"} if profile is KAFKA_2_5 else {"AlterPartitionAnswer"})


@pytest.mark.parametrize(
    ("api", "column"),
    [
        ("IsrExpansion", "proposed"),
        ("ReplicaLagCheck", "lagging"),
        ("FetchFollower", "error"),
        ("AlterPartition", "error"),
        ("DelayedProduce", "error"),
        ("Produce", "error"),
        ("LeaderElection", "elected"),
    ],
)
def test_a_decision_has_more_than_one_outcome(api: str, column: str) -> None:
    """In the traces of a few seeds."""
    outcomes = {row[column] for row in rows(NEWEST) if row["api"] == api}

    assert 1 < len(outcomes)


def test_a_row_has_every_column_with_its_type() -> None:
    """Flat scalars; what does not apply is absent."""
    types = {ColumnType.INTEGER: int, ColumnType.BOOLEAN: bool, ColumnType.TEXT: str}

    for row in rows(NEWEST):
        assert [column.name for column in COLUMNS] == list(row)
        assert all(isinstance(row[column.name], types[column.kind]) for column in COLUMNS)


@pytest.mark.parametrize("name", PROFILES)
def test_the_same_seed_gives_the_same_steps(name: str) -> None:
    """Under every profile."""
    first = simulate(5, PROFILES[name], 150, workload="replicas")

    assert first == simulate(5, PROFILES[name], 150, workload="replicas")
    assert 150 == len(first)


def link_of(row: Row, prefix: str) -> tuple[object, ...]:
    """The log of a replica as a row shows it."""
    return tuple(row[f"{prefix}{name}"] for name in ("log_start", "high_watermark", "log_end"))


def test_the_steps_of_a_replica_are_linked() -> None:
    """What a step leaves behind is what the next one finds; a change that no row shows would break it."""
    last: dict[tuple[object, ...], tuple[object, ...]] = {}
    linked = 0

    for row in rows(NEWEST):
        if row["before_log_end"] == -1:
            continue
        replica = (row["trace"], row["node"], row["partition"])
        assert last.get(replica, link_of(row, "before_")) == link_of(row, "before_"), row
        last[replica] = link_of(row, "after_")
        linked += 1

    assert 1000 < linked


def test_a_world_at_peace_has_one_leader_epoch() -> None:
    """Without faults no broker is fenced, nothing is truncated, and every replica stays in sync."""
    made = ReplicasWorld(shape=ReplicasShape(writers=ALL))
    scheduler = ReplicasScheduler(made, Tape.seeded(1), NO_FAULTS)

    for _ in range(TURNS):
        scheduler.turn()

    state = made.metadata.partitions[0]
    assert (0, frozenset({0, 1, 2})) == (state.leader_epoch, state.insync)
    assert scheduler.settle()
    assert [] == lost(made)
    replica: Replica = made.replica(0)
    assert 0 < replica.log.high_watermark == replica.log.log_end


def test_a_leader_goes_by_its_own_clock() -> None:
    """If it jumps ahead, followers that are behind have lagged for too long; if it jumps back, none has."""
    made = ReplicasWorld(shape=ReplicasShape(writers=ALL))
    made.application_sends(0, 0, (b"a",))
    made.message_arrives(made.producer_sends(0, 0))

    lagging = []
    for drift in (0, NEWEST.replica_lag_time_max_ms + 1, -2 * NEWEST.replica_lag_time_max_ms):
        made.clock_drifts(0, drift)
        first = len(made.recorder.rows)
        made.leader_checks_lag(0)
        checks = [row for row in made.recorder.rows[first:] if row["api"] == "ReplicaLagCheck"]
        lagging.append([row["lagging"] for row in checks])

    assert [[False, False], [True, True], [False, False]] == lagging
    assert made.recorder.rows[-1]["time_ms"] != made.recorder.rows[-1]["world_ms"]

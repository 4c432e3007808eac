"""Every step of replication is compared with the decisions while the reference makes it; a false one is named."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache

import pytest

from model_tests.judging.replication_verdicts import JUDGES, is_of_replication, judged
from model_tests.monitor.monitor import DecisionMismatch, Monitor
from model_tests.monitor.runs import run_of
from model_tests.mutants.defects.of_replicas import OF_REPLICAS
from model_tests.scenarios.elections import eligible_waits
from model_tests.scenarios.replicas_stage import ReplicasStage
from model_tests.scenarios.replication import TRIO
from model_tests.traces.schema import Row, complete
from model_tests.unit.support.shown_in_runs import runs_with
from reference.replication import controller, elections
from reference.replication.elections import ElectionCandidate
from reference.simulate.simulation import simulate
from spec import rules
from spec.versions import NEWEST, PROFILES, Profile
from spec.vocabulary import ErrorCode

CHANGES = {
    "FetchFollower": ("error", "answered_end", "caught_up_ms"),
    "OffsetsForLeaderEpoch": ("error", "answered_end", "answered_epoch"),
    "ReplicaTruncate": ("truncated_to",),
    "LeaderHighWatermark": ("after_high_watermark",),
    "FollowerHighWatermark": ("after_high_watermark",),
    "Produce": ("error",),
    "DelayedProduce": ("error",),
    "ReplicaLagCheck": ("lagging",),
    "IsrExpansion": ("proposed",),
    "AlterPartition": ("error",),
    "LeaderElection": ("elected", "elected_uncleanly", "leader_epoch_after"),
    "BecomeLeader": ("leader_epoch_after",),
    "BecomeFollower": ("leader_epoch_after",),
    "OffsetFetch": ("error", "offset"),
    "TxnOffsetCommit": ("after_committed_offset", "generation"),
    "MarkerAnswered": ("after_partition_registered", "marker_error"),
}
"""What is decided, by the kind of step."""

NOT_ENOUGH_REPLICAS = 19


def steps_of(seed: int, profile: Profile) -> list[Row]:
    """The steps of one trace of replicas, and of one in which groups commit offsets."""
    rows = (*simulate(seed, profile, 400, workload="replicas"), *simulate(seed, profile, 400, workload="transactions"))
    return [row for row in rows if is_of_replication(row)]


@cache
def steps() -> tuple[tuple[Profile, Row], ...]:
    """Steps of every kind, under all profiles."""
    found = ((profile, steps_of(seed, profile)) for seed, profile in enumerate(PROFILES.values()))
    return tuple((profile, row) for profile, rows in found for row in rows)


def broken_in(profile: Profile, row: Row) -> Iterator[str]:
    """Ids of the rules that a step breaks."""
    _, checks = judged(row["api"], row.__getitem__, profile)
    return (check.rule.id for check in checks if check.at_stake and not check.holds)


def test_the_decisions_agree_with_every_step() -> None:
    """Under every profile, and with steps of every kind among them."""
    assert set(JUDGES) == {row["api"] for _, row in steps()}
    assert [] == [(row["trace"], row["step"], row["api"]) for profile, row in steps() if list(broken_in(profile, row))]


@pytest.mark.parametrize("api", JUDGES)
def test_another_outcome_is_a_violation(api: str) -> None:
    """Whatever is decided in a step, it cannot be otherwise."""
    of_kind = [(profile, row) for profile, row in steps() if row["api"] == api]

    for column in CHANGES[api]:
        changed = [(profile, {**row, column: other(column, row)}) for profile, row in of_kind]
        assert any(list(broken_in(profile, row)) for profile, row in changed), f"{api}: {column} may be anything"


def other(column: str, row: Row) -> int | bool | str:
    """Another value."""
    if isinstance(row[column], bool):
        return not row[column]
    return NOT_ENOUGH_REPLICAS if column in ("error", "marker_error") else row[column] + 1


@pytest.mark.parametrize(
    "name",
    [
        "anybody alive may lead",
        "every proposal is accepted",
        "acks=all without replication",
        "truncation to the high watermark",
        "histories are not compared",
    ],
)
def test_the_monitor_stops_at_a_defect(name: str) -> None:
    """At the step that shows it, by a rule of replication; who holds a high watermark back, no step shows."""
    planted = next(each for each in OF_REPLICAS if each.name == name)

    with planted.in_place(), pytest.raises(DecisionMismatch) as stopped:
        monitored_under_every_profile()

    assert {rule.partition(".")[0] for rule in stopped.value.rules} == {rules.REPL_HW_BOUNDS.family}


def monitored_under_every_profile() -> None:
    """A trace of each, until a step is wrong."""
    for seed, profile in enumerate(PROFILES.values()):
        simulate(seed, profile, 400, workload="replicas", observer=Monitor())


def test_the_true_reference_is_not_stopped() -> None:
    """And replication is judged."""
    monitor = Monitor()

    simulate(3, PROFILES["4.3"], 400, workload="replicas", observer=monitor)

    judged_rules = {count.rule: count.judged for count in monitor.rule_counts()}
    assert all(judged_rules[rule.id] for rule in (rules.REPL_HW_BOUNDS, rules.REPL_PREFIX_AGREEMENT))


def refused_by_follower(rows: Sequence[Row]) -> bool:
    """A follower refuses a batch that does not begin where its log ends."""
    return any(row["api"] == "ReplicaFetch" and row["error"] > 0 for row in rows)


def refused_as_ineligible(rows: Sequence[Row]) -> bool:
    """The controller refuses an in-sync set with a replica that may not be in it."""
    return any(row["api"] == "AlterPartition" and row["error"] == ErrorCode.INELIGIBLE_REPLICA for row in rows)


@pytest.mark.parametrize(
    ("shows", "profile", "seeds"),
    [(refused_by_follower, "1.0", range(100, 400)), (refused_as_ineligible, "4.3", range(100))],
)
def test_rare_events_of_long_runs_violate_nothing(
    shows: Callable[[Sequence[Row]], bool], profile: str, seeds: range
) -> None:
    """Both have once been reported although Kafka does the same."""
    (run,) = runs_with(shows, (run_of(seed, 700, "replicas", profile) for seed in seeds))

    assert () == run.play().violations


def eligible_beside_the_in_sync(candidates: Sequence[ElectionCandidate]) -> list[int]:
    """Who is alive and in sync or eligible, as if both were one set."""
    return [each.broker for each in candidates if each.alive and (each.insync or each.eligible)]


@pytest.mark.parametrize(
    ("valid", "broken"),
    [(elections.valid_leaders, []), (eligible_beside_the_in_sync, ["Preferred repl.committed_survives"])],
    ids=["true", "broken"],
)
def test_an_eligible_leader_beside_one_in_sync_is_named(
    valid: Callable[[Sequence[ElectionCandidate]], list[int]], broken: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The preferred leader has all that is committed, but another is in sync: the election is wrong (KIP-966)."""
    for module in (elections, controller):
        monkeypatch.setattr(module, "valid_leaders", valid)
    stage = ReplicasStage(NEWEST, replace(TRIO, min_insync=3))

    eligible_waits(stage)

    reported = [row for row in map(complete, stage.recorder.rows) if row["api"] == "LeaderElection"]
    assert len(reported) == 3
    assert broken == [f"{row['election']} {rule}" for row in reported for rule in broken_in(NEWEST, row)]


def test_offsets_that_are_appended_are_judged_as_an_append_alone() -> None:
    """A commit at a group's coordinator has no origin; the batch that one becomes has, and names no generation."""
    commit = complete({"api": "TxnOffsetCommit", "topic": "t", "group": "g"})

    assert is_of_replication(commit)
    assert not is_of_replication({**commit, "origin": 1})

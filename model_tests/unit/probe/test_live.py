"""The whole way against a served reference: sound ones agree, other releases and broken ones are found and shrunk."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.common.addresses import addresses_of
from model_tests.common.reports import HOLDS, VIOLATED, BadInput
from model_tests.conform.replay import run as replayed
from model_tests.probe import play
from model_tests.probe.client import Sent
from model_tests.probe.directed import TIMEOUTS, directed
from model_tests.probe.observing import Level
from model_tests.probe.play import Player
from model_tests.probe.played import OVERTAKEN, Patience, PlayedSession
from model_tests.probe.pool import NamePool
from model_tests.probe.script import Script, ScriptAction
from model_tests.probe.session_clients import SessionClients
from model_tests.probe.target import Pace, Target
from model_tests.serve.cluster import Cluster
from model_tests.unit.probe.served import LEAN, probed, served
from reference.broker import transaction_timeouts
from spec.versions import KAFKA_4_3
from spec.vocabulary import Api

MOST_STEPS = 6
"""Of a script that was shrunk."""


@pytest.fixture(scope="module")
def sound() -> Iterator[str]:
    """A sound cluster of 4.3."""
    with served("4.3") as cluster:
        yield cluster.bootstrap
    assert [] == cluster.violated


def test_a_sound_broker_agrees_and_is_left_as_it_was(sound: str, tmp_path: Path) -> None:
    """Every family is judged, the files agree offline too, and no topic is left behind."""
    report = probed(sound, "4.3", replace(LEAN, out=tmp_path))

    assert HOLDS == report.exit_code, [str(cause.signature) for cause in report.causes.values()]
    assert {"A", "B", "C", "D", "R"} == set(report.families)
    assert report.steps > 100
    assert (
        LEAN.sessions
        == report.origins["drawn"]
        == report.sessions - report.origins["directed"] - report.origins["probing"]
    )
    assert len(directed()) - 1 == report.origins["directed"] < report.origins["probing"]
    assert not report.left
    again = replayed([tmp_path / "sessions.ndjson"], jobs=1)
    assert (report.steps, 0, []) == (again.steps, again.disagreed_steps, again.damage)
    assert "4.3" in (tmp_path / "report.html").read_text()
    target = Target(tuple(addresses_of(sound)), 20, Pace(0))
    target.open()
    assert () == target.topics_there
    target.close()


def test_a_broker_with_other_topics_is_asked_about() -> None:
    """Without --yes and without a person nothing is made."""
    cluster = Cluster("4.3", topics={"orders": 1})
    with cluster, pytest.raises(BadInput, match="the broker has other topics"):
        probed(cluster.bootstrap_servers, "4.3")


@pytest.mark.parametrize(
    ("shown", "held", "explains"),
    [
        ("2.5", "2.4", "any_first_sequence=True"),
        ("2.4", "2.5", "any_first_sequence=False and unknown_producer_error=True"),
    ],
)
def test_another_release_is_told_apart_by_its_behaviours(shown: str, held: str, explains: str) -> None:
    """Each difference is short and names what explains it: one behaviour, or two that do together."""
    cluster = Cluster(shown)
    with cluster:
        report = probed(cluster.bootstrap_servers, held, replace(LEAN, families=("A",), sessions=3))

    assert VIOLATED == report.exit_code
    causes = list(report.causes.values())
    assert all(len(cause.script) <= MOST_STEPS for cause in causes)
    assert any(explains in cause.behaviours for cause in causes)
    assert all(json.loads(json.dumps(cause.to_json())) == cause.to_json() for cause in causes)


def test_a_planted_defect_is_found_and_shrunk(tmp_path: Path) -> None:
    """The disagreement names the rule, and its file disagrees offline too."""
    cluster = Cluster("4.3", defect="a-new-instance-gets-the-epoch-of-the-one-before")
    with cluster:
        options = replace(LEAN, families=("B",), sessions=4, out=tmp_path)
        report = probed(cluster.bootstrap_servers, "4.3", options)
        cluster.stop()
        cluster.report = None  # its own judge finds the defect, too

    cause = next(iter(report.causes.values()))
    assert VIOLATED == report.exit_code
    assert "ids.identity_never_repeats" in [rule for rule, _ in cause.rules]
    assert len(cause.script) <= MOST_STEPS
    assert f"{cause.rules[0][0]} is violated" in cause.drawing
    assert replayed([cause.file], jobs=1).disagreed_steps == 1


def test_a_transaction_that_times_out_is_waited_for(sound: str) -> None:
    """The coordinator aborts it, and not the one beside it; its producer is fenced."""
    report = probed(sound, "4.3", replace(LEAN, families=(TIMEOUTS,), sessions=0))
    (script,) = (script for script in directed() if script.family == TIMEOUTS)

    assert HOLDS == report.exit_code, [str(cause.signature) for cause in report.causes.values()]
    assert (1, len(script.actions), {}) == (report.sessions, report.steps, dict(report.undecided))


@pytest.mark.parametrize(
    ("due", "differs"),
    [(lambda *_: False, "after.transactions.t0.state"), (lambda entry, _: entry.metadata.started_ms > 0, "state")],
    ids=["never", "at once"],
)
def test_a_coordinator_that_is_late_or_early_is_found(due: Any, differs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disagreement is in the state of the transaction that it should have aborted, or should not."""
    script = next(script for script in directed() if script.family == TIMEOUTS)
    cluster = Cluster("4.3")
    with cluster:
        target = Target(tuple(addresses_of(cluster.bootstrap_servers)), 20, Pace(0))
        target.open()
        pool = NamePool(target)
        monkeypatch.setattr(transaction_timeouts, "is_timed_out", due)
        hasty = Patience(0.5, 0.5, 6.0)
        played = Player(target, KAFKA_4_3, Level.FULL, pool.take("T"), script, shared=False, patience=hasty).play()
        target.close()
        cluster.stop()
        cluster.report = None  # its own judge finds the defect, too

    assert played.disagreed is not None
    assert any(differs in each for each in played.disagreed.disagreed[0].expected)


def test_a_session_that_takes_too_long_for_its_timeout_is_undecided(
    sound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its transaction may have been aborted in the meantime, which is nobody's fault."""
    script = next(script for script in directed() if script.family == TIMEOUTS)
    target = Target(tuple(addresses_of(sound)), 20, Pace(0))
    target.open()
    pool = NamePool(target)
    monkeypatch.setattr(play, "WITHIN", 0.0)

    played = Player(target, KAFKA_4_3, Level.FULL, pool.take("T"), script, shared=False).play()
    pool.remove()
    target.close()

    assert (None, OVERTAKEN, 0) == (played.disagreed, played.undecided, len(played.comparisons))


def test_answers_that_no_order_explains_are_a_disagreement(sound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two requests that raced: an answer that is made up fits neither before nor after the other one."""
    take = SessionClients.recorded

    def made_up(asker: SessionClients, sent: Sent, answer: Any) -> dict[str, Any]:
        found = take(asker, sent, answer)
        raced = sent.api == Api.ADD_PARTITIONS_TO_TXN and sent.request["partitions"] == ["t-1"]
        return {**found, "error": "UNKNOWN_SERVER_ERROR", "error_code": -1} if raced else found

    begins = ScriptAction(1, Api.INIT_PRODUCER_ID, who="t0")
    adds = ScriptAction(2, Api.ADD_PARTITIONS_TO_TXN, who="t0")
    races = (replace(adds, key=3, partition=0), replace(adds, key=4, partition=1, lane=1))
    script = Script("R", 0, (begins, adds, *races))
    target = Target(tuple(addresses_of(sound)), 20, Pace(0))
    target.open()
    pool = NamePool(target)

    def played() -> PlayedSession:
        return Player(target, KAFKA_4_3, Level.FULL, pool.take("R"), script, shared=False).play()

    agreed = played()
    monkeypatch.setattr(SessionClients, "recorded", made_up)
    differed = played()
    pool.remove()
    target.close()

    assert (4, None, "") == (len(agreed.comparisons), agreed.disagreed, agreed.undecided)
    assert differed.disagreed is not None
    assert "response.error" in differed.disagreed.disagreed[0].expected

"""The controller of three real brokers under kills and pauses, and the reference's with the same inputs.

The recorded log says what became of brokers and which in-sync sets leaders proposed. The reference's controller must
come to the same leader, leader epoch and in-sync set, change by change.
"""

import tarfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pytest

import model_tests.audit.recorded as bundled
from model_tests.audit.log import read_log
from model_tests.audit.recorded import CLUSTER, leader_changes
from model_tests.logs.controller_log import ControllerLog, read_controller
from model_tests.logs.controller_log_values import BrokerChange, PartitionChange
from model_tests.logs.kafka_log_folders import list_logs
from reference.errors import Refusal
from reference.replication import kraft_controller
from reference.replication.controller import ControllerConfig
from reference.replication.elections import (
    BrokerRegistration,
    Elected,
    ElectionCandidate,
    ElectionReason,
    Metadata,
    present_or_first,
    valid_leaders,
)
from reference.replication.kraft_controller import KRaftController
from reference.replication.messages import PartitionState
from spec.versions import KAFKA_3_9
from spec.vocabulary import ABSENT, LeaderEpoch

UNCLEAN: Final = "unclean"
"""Topics whose name begins with it allow unclean elections."""

Shown = tuple[int, int, frozenset[int]]
"""Leader, leader epoch and in-sync set."""


class Restated:
    """The reference's controller of one recorded partition.

    Attributes:
        causes: of the changes on which both agree.
        differing: offset, what the reference says, what was recorded.
    """

    def __init__(self, created: Mapping[str, Any], assignment: tuple[int, ...], brokers: Metadata) -> None:
        """The partition as it was created."""
        config = ControllerConfig(6_000, created["topic"].startswith(UNCLEAN), 2)
        self.controller = KRaftController(KAFKA_3_9, 100, Metadata(controller_epoch=0, brokers=brokers.brokers), config)
        self.controller.epoch = 0
        epoch, insync = LeaderEpoch(created["epoch"]), frozenset(created["isr"])
        self.controller.metadata.partitions[0] = PartitionState(assignment, created["leader"], epoch, 0, insync)
        self.causes: Counter[str] = Counter()
        self.differing: list[tuple[int, Shown, Shown]] = []
        self.expected: Shown | None = None

    def broker_changes(self, number: int, present: bool) -> None:
        """A broker comes or goes: what the reference makes of it is to be recorded next."""
        before = self.shown
        if present:
            self.controller.elect_for_leaderless_partitions()
        else:
            self.controller.change_all(ElectionReason.ONLINE, gone=frozenset({number}))
        if self.shown != before:
            if self.expected is not None:
                self.differing.append((ABSENT, self.expected, before))
            self.expected = self.shown

    def recorded(self, change: Mapping[str, Any]) -> None:
        """The partition has changed."""
        recorded = (change["leader"], change["epoch"], frozenset(change["isr"]))
        cause = "a broker" if self.expected else "a proposal" if change["epoch"] == self.shown[1] else "preference"
        if cause == "a proposal":
            self.controller.change(0, frozenset(change["isr"]), ElectionReason.ONLINE)
        elif cause == "preference":
            with suppress(Refusal):
                self.controller.elect_preferred(0)
        self.expected = None
        self.causes[cause] += 1
        if self.shown != recorded:
            self.differing.append((change["off"], self.shown, recorded))
            self._go_on_from(recorded)

    def _go_on_from(self, recorded: Shown) -> None:
        leader, epoch, insync = recorded
        state = self.controller.metadata.partitions[0]
        self.controller.metadata.partitions[0] = replace(
            state, leader=leader, leader_epoch=LeaderEpoch(epoch), insync=insync
        )

    @property
    def shown(self) -> Shown:
        """The partition as the reference has it."""
        state = self.controller.metadata.partitions[0]
        return state.leader, state.leader_epoch, state.insync


def restated(log: ControllerLog) -> list[Restated]:
    """Every partition of a recorded log, replayed on the reference."""
    changes = {change["off"]: change for change in leader_changes()}
    brokers, partitions = Metadata(), dict[tuple[Any, int], Restated]()

    def broker_changes(change: BrokerChange) -> None:
        known = brokers.brokers.get(change.broker)
        fenced = known is not None and known.fenced if change.fenced is None else change.fenced
        shuts_down = bool(change.shutting_down)
        brokers.brokers[change.broker] = BrokerRegistration(0, fenced, shuts_down)
        for partition in partitions.values():
            partition.broker_changes(change.broker, not fenced and not shuts_down)

    for _, batch in groupby(log.records, key=lambda record: record.row):
        records = list(batch)
        # What a fence means for partitions is written before it, what a shutdown means after it.
        for record in records:
            if isinstance(record.change, BrokerChange) and record.change.fenced is not None:
                broker_changes(record.change)
        for record in records:
            change = record.change
            if isinstance(change, BrokerChange) and change.fenced is None:
                broker_changes(change)
            elif isinstance(change, PartitionChange):
                place = (change.topic_id, change.partition)
                if change.creates:
                    partitions[place] = Restated(changes[record.offset], change.replicas or (), brokers)
                else:
                    partitions[place].recorded(changes[record.offset])
    return list(partitions.values())


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> ControllerLog:
    directory = tmp_path_factory.mktemp("controller")
    with tarfile.open(Path(bundled.__file__).parent / "recordings" / f"{CLUSTER}.tar.xz") as archive:
        own = [member for member in archive if "/n100/" in member.name]
        archive.extractall(directory, members=own, filter="data")
    (log,) = list_logs([str(directory / CLUSTER / "n100")]).logs
    batches, _ = read_log(log)
    return read_controller(log, batches)


def test_the_reference_decides_as_the_recorded_controller(recorded: ControllerLog) -> None:
    """1473 changes of 34 partitions: fences, returns, shutdowns, unclean elections, proposals, preferred leaders."""
    partitions = restated(recorded)

    causes = sum((partition.causes for partition in partitions), Counter[str]())
    assert [] == [found for partition in partitions for found in partition.differing]
    assert [None] * 34 == [partition.expected for partition in partitions]
    assert {"a broker": 593, "a proposal": 812, "preference": 68} == causes


def the_last(candidates: Sequence[ElectionCandidate], *_: object) -> Elected:
    """The last of the assignment that may lead does."""
    return Elected((-1, *valid_leaders(candidates))[-1])


def never_unclean(candidates: Sequence[ElectionCandidate], leader: int, _: bool) -> Elected:
    """A broker out of sync never leads, whatever the topic allows."""
    return present_or_first(candidates, leader, unclean_allowed=False)


@pytest.mark.parametrize(("elect", "at_least"), [(the_last, 100), (never_unclean, 7)])
def test_a_controller_that_elects_otherwise_is_reported_apart(
    elect: object, at_least: int, recorded: ControllerLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recorded changes are not what it would have decided."""
    monkeypatch.setattr(kraft_controller, "present_or_first", elect)

    assert at_least <= sum(len(partition.differing) for partition in restated(recorded))

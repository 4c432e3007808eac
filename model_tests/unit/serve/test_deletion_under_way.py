"""Topics that are deleted and made on disk, and while requests to them are under way between nodes that fail."""

from pathlib import Path

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.unit.serve.disk_session import opened
from model_tests.unit.serve.failing import TOPIC, Transaction, bench, errors, produced
from model_tests.unit.support.topic_requests import by_name, deleted, grow
from reference.broker.transaction_metadata import TopicPartition
from reference.server.nodes import FaultKind
from spec.versions import PROFILES
from spec.vocabulary import ErrorCode


def folders(directory: Path) -> set[str]:
    """The partitions of clients' topics that have a folder at each of the two nodes."""
    nodes = [{each.name for each in node.iterdir() if each.is_dir()} for node in sorted(directory.glob("node-*"))]
    first, second = ({name for name in names if not name.startswith("__")} for names in nodes)
    assert first == second
    return first


def test_folders_go_and_come_with_partitions(tmp_path: Path) -> None:
    """Before the answer; what is there after a crash is what there was, and no id is used twice."""
    made = opened(tmp_path, PROFILES["4.3"], nodes=2)
    ids = [made.service.create_topic(TOPIC, 2).topic_id]
    assert [ErrorCode.NONE] == errors(produced(made))
    assert 0 == grow(made, 3)
    assert {f"{TOPIC}-0", f"{TOPIC}-1", f"{TOPIC}-2"} == folders(tmp_path)
    assert [ErrorCode.NONE] == errors(produced(made, number=2))

    assert [(TOPIC, ids[0], 0)] == deleted(made, by_name(TOPIC))
    assert set() == folders(tmp_path)
    ids.append(made.service.create_topic(TOPIC, 1).topic_id)
    assert [ErrorCode.NONE] == errors(produced(made))
    made.service.crash()
    again = opened(tmp_path, PROFILES["4.3"], nodes=2, now=made.now + 1_000)

    assert ids[1] == again.service.topics.by_name[TOPIC].topic_id
    replicas = again.service.world.brokers.partitions[TopicPartition(TOPIC, 0)].replicas
    assert [1, 1] == [replica.log_end for replica in replicas]
    assert {f"{TOPIC}-0"} == folders(tmp_path)
    deleted(again, by_name(TOPIC))
    ids.append(again.service.create_topic(TOPIC, 1).topic_id)
    assert 3 == len(set(ids))
    assert [] == made.violations == again.violations
    again.service.close()


@pytest.mark.parametrize("comes_again", [False, True], ids=["gone", "made again"])
def test_a_batch_that_waits_at_a_node_finds_no_topic(comes_again: bool) -> None:
    """UNKNOWN_TOPIC_OR_PARTITION, or the new topic of the name, as a request names no other; with acks=0 an end."""
    made = bench()
    made.suffer(FaultKind.PAUSE, 0, away_ms=500)
    waiting, unanswered = produced(made), produced(made, acks=0)
    deleted(made, by_name(TOPIC), node=1)
    if comes_again:
        made.service.create_topic(TOPIC, 2)
    made.wait(500)

    assert [ErrorCode.NONE if comes_again else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] == errors(waiting)
    assert ([None], 0) if comes_again else ([], 1) == (unanswered, len(made.closed))
    assert [] == made.violations


@pytest.mark.parametrize("comes_again", [False, True], ids=["gone", "made again"])
def test_a_marker_under_way_to_what_is_deleted_holds_no_transaction(comes_again: bool) -> None:
    """The leader stands still with the marker, and the topic goes: the transaction completes all the same."""
    transaction = Transaction()
    made = transaction.made
    made.suffer(FaultKind.PAUSE, transaction.leader, away_ms=500)
    transaction.ends()
    deleted(made, by_name(TOPIC), node=transaction.coordinator)
    if comes_again:
        made.service.create_topic(TOPIC, 2)
    made.wait(600)

    assert "CompleteCommit" == transaction.state
    assert [] == made.violations


def test_nodes_come_back_to_fewer_topics() -> None:
    """A node that was down, and one that stood still, go on without what was deleted meanwhile."""
    made = bench()
    made.service.create_topic("other", 1)
    assert [ErrorCode.NONE] == errors(produced(made))
    made.suffer(FaultKind.CRASH, 1, away_ms=300)
    deleted(made, by_name(TOPIC))
    made.wait(300)
    made.suffer(FaultKind.PAUSE, 2, away_ms=20_000)
    made.wait(10_000)
    deleted(made, by_name("other"))
    made.wait(10_000)

    assert not made.service.topics.by_name
    assert not made.service.world.brokers.partitions
    assert [] == made.violations

"""What the benchmark of the server measures; how fast it is, no test says."""

import pytest

from model_tests.bench.serving import Load, messages, served, transactions


def test_a_load_is_reported_by_the_second_and_for_one() -> None:
    """The time that passed, and the nodes' own."""
    load = Load(count=1_000, passed=2.0, computed=0.5, grown=0.0)

    assert (500.0, 500.0) == (load.per_second, load.microseconds)


@pytest.mark.slow
def test_nodes_in_another_process_are_under_load() -> None:
    """Everything that was sent is acknowledged, and the nodes have computed for it."""
    pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")
    with served(1, judged=True) as nodes:
        loads = (messages(nodes, 1_000), transactions(nodes, 20))

    assert [1_000, 20] == [load.count for load in loads]
    assert all(load.computed > 0 for load in loads)

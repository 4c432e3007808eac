"""A pytest plugin: the fixture `kafka_cluster`, and the mark that says what cluster it is."""

from collections.abc import Iterator

import pytest

from model_tests.serve.cluster import Cluster


def pytest_configure(config: pytest.Config) -> None:
    """Name the mark, so that it may be used where marks are strict."""
    config.addinivalue_line("markers", "kafka_cluster(profile, nodes, transaction_version, topics): of the fixture")


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster for one test, as `@pytest.mark.kafka_cluster` says; the test fails if a step of it breaks a rule."""
    mark = request.node.get_closest_marker("kafka_cluster")
    cluster = Cluster(**({} if mark is None else mark.kwargs))
    with cluster:
        yield cluster

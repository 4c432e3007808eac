"""What is expected of records under a producer of others."""

from collections.abc import Iterator

from model_tests.unit.audit.written_cluster import WrittenCluster
from model_tests.unit.support.one_cause import two_producers


def spans_of(content: bytearray) -> Iterator[tuple[int, int]]:
    """Where each batch begins and ends."""
    start = 0
    while start < len(content):
        end = start + 12 + int.from_bytes(content[start + 8 : start + 12], "big")
        yield start, end
        start = end


def all_known(version: int) -> WrittenCluster:
    """Ids enough that their hashes leave no other coordinator's log, one without a transaction, and two with some."""
    cluster = WrittenCluster(version)
    for number in range(30):
        cluster.init(f"id-{number}", 100 + number)
    cluster.init("idle", 10)
    return two_producers(version, cluster)

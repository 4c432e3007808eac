"""A service answers whatever can be said in the protocol, and breaks no rule by it."""

import random
from contextlib import suppress
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.unit.serve.asking import Bench
from model_tests.unit.serve.random_messages import VERSIONS, random_fields
from reference.wire.codec import MalformedRequest
from spec.versions import PROFILES


@pytest.mark.parametrize("profile", ["0.11", "2.7", "3.9.0", "4.4"])
def test_every_request_is_answered_or_waits(profile: str) -> None:
    """Random fields in every api and version: every step is as the specification says.

    What a release cannot read closes the connection; nothing else is raised.
    """
    bench, chance = Bench(PROFILES[profile], nodes=2), random.Random(profile)
    bench.service.create_topic("a", 2)
    bench.service.create_topic("orders", 1)
    for turn in range(1_200):
        api, version = chance.choice(VERSIONS)
        fields = random_fields(chance, "request", api, version)
        if not _is_of_nobody(api, fields):
            with suppress(MalformedRequest):
                bench.send(api, version, fields, node=chance.randrange(2))
        if turn % 50 == 0:
            bench.wait(chance.choice((1, 1_000, 70_000)))

    assert [] == bench.violations


def _is_of_nobody(api: str, fields: dict[str, Any]) -> bool:
    """Whether offsets are committed in a transaction of no producer.

    Brokers that verify no partitions take them for a plain commit (`storeOffsets` of GroupMetadataManager, 0.11), which
    no client that follows the protocol asks for.
    """
    return api == "TxnOffsetCommit" and fields["producer_id"] == -1

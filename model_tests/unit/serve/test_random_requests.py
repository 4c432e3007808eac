"""A service answers whatever can be said in the protocol, and breaks no rule by it."""

import random
from contextlib import suppress
from typing import Any, Final

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.unit.serve.api_bench import Bench
from model_tests.unit.serve.random_messages import VERSIONS, random_fields
from reference.server.node_events import NODES, LongestTimes, NodeEvents
from reference.tape import Tape
from reference.wire.codec import MalformedRequest
from spec.versions import PROFILES


@pytest.mark.parametrize("profile", ["0.11", "2.7", "3.9.0", "4.4"])
def test_every_request_is_answered_or_waits(profile: str) -> None:
    """Random fields in every api and version: every step is as the specification says.

    What a release cannot read closes the connection; nothing else is raised.
    """
    bench, chance = _bench(profile, nodes=2), random.Random(profile)
    for turn in range(1_200):
        _asked(bench, chance)
        if turn % 50 == 0:
            bench.wait(chance.choice((1, 1_000, 70_000)))

    assert [] == bench.violations


@pytest.mark.parametrize("profile", ["0.11", "4.4"])
def test_every_request_is_answered_or_waits_while_nodes_fail(profile: str) -> None:
    """Leaders and coordinators move and load, nodes are down or stand still: no request is an error of the server."""
    bench, chance = _bench(profile, nodes=3), random.Random(profile)
    events, tape = NodeEvents(bench.service.nodes, LONGEST, bench.happens), Tape.seeded(len(profile))
    for turn in range(900):
        if turn % 10 == 0:
            tape.weighted([(event, event.weight) for event in NODES if event.ready(events)]).act(events, tape)
        running = bench.service.nodes.running
        if running:
            _asked(bench, chance, chance.choice(running))
        if turn % 15 == 0:
            bench.wait(chance.choice((1, 300, 12_000)))

    assert [] == bench.violations


LONGEST: Final = LongestTimes(away_ms=800, loading_ms=500, zombie_ms=400)


def _bench(profile: str, nodes: int) -> Bench:
    bench = Bench(PROFILES[profile], nodes)
    bench.service.create_topic("a", 2)
    bench.service.create_topic("orders", 1)
    return bench


def _asked(bench: Bench, chance: random.Random, node: int | None = None) -> None:
    """One random request to a node, to any if none is given."""
    api, version = chance.choice(VERSIONS)
    fields = random_fields(chance, "request", api, version)
    if not _is_of_nobody(api, fields):
        with suppress(MalformedRequest):
            bench.send(api, version, fields, node=chance.randrange(bench.nodes) if node is None else node)


def _is_of_nobody(api: str, fields: dict[str, Any]) -> bool:
    """Whether offsets are committed in a transaction of no producer.

    Brokers that verify no partitions take them for a plain commit (`storeOffsets` of GroupMetadataManager, 0.11), which
    no client that follows the protocol asks for.
    """
    return api == "TxnOffsetCommit" and fields["producer_id"] == -1

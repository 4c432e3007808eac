"""Each fault of a request does what its name says: seen by a client, and in the epochs of its transactional id."""

import asyncio
import struct
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.serve.command import wall
from reference.server.faults import PROFILES, Faults, RequestFaults
from reference.server.listener import Server
from reference.server.node_events import Suffer
from reference.server.nodes import Nodes
from reference.server.service import ServerSettings, Service
from reference.wire.codec import RequestHeader, encode_request, key_of
from spec.versions import NEWEST

PATIENCE_S = 30
ID = "app"


class OneRequest(Faults):
    """Faults of which only the first InitProducerId has any."""

    def __init__(self, faults: RequestFaults) -> None:
        super().__init__(PROFILES["gentle"], 0)
        self._faults: list[RequestFaults] = [faults]

    def of_request(self, api: str, version: int) -> RequestFaults:
        return self._faults.pop() if api == "InitProducerId" and self._faults else RequestFaults()

    def of_nodes(self, nodes: Nodes, suffer: Suffer) -> None:
        pass

    def closed(self, connections: Any) -> None:
        return None


def request(api: str, version: int, **fields: object) -> bytes:
    frame = encode_request(RequestHeader(key_of(api), api, version, 7, "test"), fields)
    return struct.pack(">i", len(frame)) + frame


async def outcome(faults: RequestFaults) -> tuple[bool, int]:
    """Whether a client's InitProducerId is answered, and how many were carried out in the end."""
    service = Service(ServerSettings(NEWEST, 1), wall)
    server = Server(service, faults=OneRequest(faults))
    await server.start("127.0.0.1", 0)
    host, _, port = server.bootstrap_servers.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request("ApiVersions", 0))
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    await reader.readexactly(size)
    writer.write(request("FindCoordinator", 1, key=ID, key_type=0))
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    await reader.readexactly(size)
    writer.write(request("InitProducerId", 1, transactional_id=ID, transaction_timeout_ms=60_000))
    answered = await reader.read(1) != b""
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    expected = 0 if faults.lost and not faults.stray_ms else 1 + faults.doubled
    while (done := carried_out(service)) < expected and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.005)
    writer.close()
    await server.close()
    return answered, done


def carried_out(service: Service) -> int:
    """How many InitProducerIds there were: each gives the next epoch, from 0 on."""
    entries = (entry for node in service.world.brokers.nodes for entry in node.transactions.states.entries())
    return max((entry.metadata.epoch + 1 for entry in entries if entry.transactional_id == ID), default=0)


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        (RequestFaults(), (True, 1)),
        (RequestFaults(lost=True), (False, 0)),
        (RequestFaults(lost=True, stray_ms=20), (False, 1)),
        (RequestFaults(late_ms=20), (True, 1)),
        (RequestFaults(doubled=True), (True, 2)),
        (RequestFaults(answer_lost=True), (False, 1)),
        (RequestFaults(answer_late_ms=20), (True, 1)),
    ],
    ids=["none", "lost", "stray", "late", "doubled", "answer lost", "answer late"],
)
def test_a_fault_of_a_request_does_what_its_name_says(faults: RequestFaults, expected: tuple[bool, int]) -> None:
    """What is lost is not carried out; what is doubled is twice; an answer is lost after the request has its effect."""
    assert expected == asyncio.run(outcome(faults))

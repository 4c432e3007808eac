"""One request on its way to a broker, and its answer on the way back.

Frames of a connection are read whole, by the length that they declare. Answers that name brokers by address are
changed: otherwise a client would bypass the proxy.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from model_tests.common.addresses import Address
from reference.server.connections import SIZE, Breakable
from reference.server.errors import ServerError
from reference.server.faults import NOTHING, RequestFaults
from reference.server.listener import LARGEST, UNNAMED
from reference.wire.codec import HEAD, RequestHeader, key_of, known_versions
from spec.vocabulary import Api, ErrorCode

# --- frames -----------------------------------------------------------------------------------------------------------


TLS: Final = (b"\x16\x03", b"\x15\x03")
"""The first bytes of a TLS handshake, and of a TLS alert."""

LEAST_ANSWER: Final = 4
"""Bytes of an answer: its correlation id."""


class BrokenConnection(Exception):
    """A connection cannot go on.

    Attributes:
        why: the reason in one line; empty if no reason needs to be reported.
    """

    def __init__(self, why: str = "") -> None:
        """A connection ends because of this."""
        super().__init__(why)
        self.why = why


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """The next frame of a client, without its length; empty at the end of the connection.

    Raises:
        BrokenConnection: what comes is no request.
    """
    return await _frame(reader, "the client", "request", HEAD.size)


async def read_answer(reader: asyncio.StreamReader) -> bytes:
    """The next frame of a broker, without its length; empty at the end of the connection.

    Raises:
        BrokenConnection: what comes is no answer.
    """
    return await _frame(reader, "the broker", "answer", LEAST_ANSWER)


async def _frame(reader: asyncio.StreamReader, who: str, what: str, least: int) -> bytes:
    try:
        head = await reader.readexactly(SIZE.size)
    except asyncio.IncompleteReadError as end:
        if end.partial:
            raise BrokenConnection(f"{who} ends within the length of a frame") from end
        return b""
    if head[:2] in TLS:
        raise BrokenConnection(f"{who} speaks TLS, which cannot be recorded: give it a plain listener")
    (size,) = SIZE.unpack(head)
    if not least <= size <= LARGEST:
        raise BrokenConnection(f"{who} sends no {what}: {size} bytes, where {least} to {LARGEST} are taken")
    try:
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError as end:
        raise BrokenConnection(f"{who} ends after {len(end.partial)} of the {size} bytes of a frame") from end


# --- answers that name brokers ----------------------------------------------------------------------------------------


SINCE: Final[Mapping[str, int]] = MappingProxyType(
    {Api.METADATA: 0, Api.FIND_COORDINATOR: 0, Api.DESCRIBE_CLUSTER: 0, Api.PRODUCE: 10, Api.FETCH: 16}
)
"""The apis whose answers have addresses, and from which version on: Produce and Fetch name the new leader (KIP-951)."""

SHARE_FETCH: Final = 78
SHARE_ACKNOWLEDGE: Final = 79
HIDDEN: Final = (SHARE_FETCH, SHARE_ACKNOWLEDGE)
"""The same apis for share groups. The codec lacks them, so they are hidden from clients."""

COORDINATORS_SINCE: Final = 4
"""First version of FindCoordinator that answers for several keys."""


def has_addresses(api: str, version: int) -> bool:
    """Whether an answer of a version has addresses."""
    return api in SINCE and version >= SINCE[api]


def is_readable(api: str, version: int) -> bool:
    """Whether the codec has a version of an api."""
    known = known_versions(api)
    return known is not None and known[0] <= version <= known[1]


def nodes_in(api: str, message: Any) -> Sequence[Any]:
    """The parts of an answer that have a host and a port; those of no node are left out."""
    if api == Api.FIND_COORDINATOR:
        found = message.coordinators if message.version >= COORDINATORS_SINCE else [message]
    elif api in (Api.PRODUCE, Api.FETCH):
        found = message.node_endpoints
    else:
        found = message.brokers
    return [each for each in found or () if each.host and each.port >= 0]


def limit_versions(message: Any) -> bool:
    """Remove from an answer to ApiVersions what would bypass the proxy; returns whether anything was removed."""
    before = [(each.api_key, each.min_version, each.max_version) for each in message.api_keys]
    newest = dict(_newest())
    kept = []
    for each in message.api_keys:
        each.max_version = min(each.max_version, newest.get(each.api_key, each.max_version))
        if each.api_key not in HIDDEN and each.min_version <= each.max_version:
            kept.append(each)
    message.api_keys = kept
    return before != [(each.api_key, each.min_version, each.max_version) for each in kept]


def _newest() -> Iterator[tuple[int, int]]:
    """For the apis whose answers the proxy must read, the newest version that it can."""
    for api in (*SINCE, Api.API_VERSIONS):
        known = known_versions(api)
        if known is not None:
            yield key_of(api), known[1]


_NAMES: Final = {int(code): code.name for kind in (ServerError, ErrorCode) for code in kind}


# --- the exchange -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Link(Breakable):
    """A client's connection to the proxy, with the one from there to a broker.

    Attributes:
        peer: address of the client.
        broker: the broker that it leads to.
        software: name and version of the client's software, or as it calls itself.
    """

    peer: str
    broker: Address
    software: str = UNNAMED


@dataclass(slots=True)
class Exchange:
    """A request and, once it is there, its answer.

    Attributes:
        link: the connections.
        header: of the request; None for a frame of SASL without one.
        size: bytes of the request.
        message: its body, with heads of batches in place of records; None if it cannot be read.
        faults: what goes wrong with it.
        dropped: a copy that the proxy has sent: the client gets no answer to it.
        answer: the body of the answer, likewise.
        followed: what the request began, kept by the module that follows it to its answer.
    """

    link: Link
    header: RequestHeader | None
    size: int
    message: Any = None
    faults: RequestFaults = NOTHING
    dropped: bool = False
    answer: Any = None
    followed: Any = field(default=None)

    @property
    def api(self) -> str:
        """Name of the api, or its number; empty for a frame without header."""
        if self.header is None:
            return ""
        return self.header.api or f"api {self.header.api_key}"


def error_name(code: int) -> str:
    """Kafka's name of an error, where it is known here."""
    return _NAMES.get(code, f"error {code}")


def errors_in(message: Any) -> Iterator[int]:
    """Every error code of an answer that is not 0."""
    version = message.version
    for name, made_of in message._struct.fields.items():
        if not made_of.for_version_q(version):
            continue
        value = getattr(message, name)
        if name.endswith("error_code"):
            if value:
                yield int(value)
        elif made_of.is_struct_array():
            for each in value or ():
                yield from errors_in(each)
        elif made_of.is_struct() and value is not None:
            yield from errors_in(value)

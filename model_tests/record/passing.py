"""One connection: its requests go to the broker as they come, answers come back, and nothing else changes than must."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from model_tests.common.addresses import Address
from model_tests.record import exchange as addresses
from model_tests.record.exchange import BrokenConnection, Exchange, Link, read_answer, read_request
from model_tests.record.recorder import TrafficRecorder
from reference.server.connections import SIZE
from reference.server.faults import NOTHING, Faults, RequestFaults
from reference.wire.codec import (
    CORRELATION,
    HEAD,
    LENGTH,
    MalformedRequest,
    RequestHeader,
    decode_body,
    decode_header,
    encode_again,
    encode_response,
    key_of,
    known_versions,
    response_body,
)
from spec.vocabulary import Api, ErrorCode

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
OpenPort: TypeAlias = Callable[[Address], Awaitable[int]]

STRAY_S: Final = 5.0
"""How long a request that arrives late may take to be answered, in seconds."""

PLAIN_SASL: Final = 0
"""The version of SaslHandshake after which tokens come without a header (before KIP-152)."""

LARGEST_KEY: Final = 1_000
LARGEST_VERSION: Final = 100
"""What is larger in the header of a frame is a token of SASL."""

UNANSWERED: Final = 0
"""The acks of a Produce to which there is no answer."""

TRANSACTIONAL_SINCE: Final = 3
"""First version of Produce in which the acks come behind a transactional id."""

UNSUPPORTED: Final = LENGTH.pack(int(ErrorCode.UNSUPPORTED_VERSION))
"""How an answer to ApiVersions begins whose version is not known; it is of version 0."""


@dataclass(slots=True)
class Passing:
    """What is on its way between a client and a broker.

    Attributes:
        link: the connections.
        recorder: takes whatever passes.
        faults: what goes wrong, nothing if none are given.
        client: where requests come from.
        broker: where they go to.
        host: that stands in answers in place of the brokers' own.
    """

    link: Link
    recorder: TrafficRecorder
    faults: Faults | None
    client: Streams
    broker: Streams
    host: str
    _waiting: deque[Exchange] = field(default_factory=deque)
    _settled: asyncio.Event = field(default_factory=asyncio.Event)
    _tokens: bool = False
    _deaf: bool = False
    _spared: bool = True

    async def run(self, open_port: OpenPort) -> None:
        """Until the client or the broker ends the connection.

        Raises:
            BrokenConnection: what comes over it cannot be passed on.
            ConnectionError: it is broken.
        """
        tasks = [asyncio.ensure_future(self._requests()), asyncio.ensure_future(self._answers(open_port))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            task.result()

    # --- requests ---------------------------------------------------------------------------------------------

    async def _requests(self) -> None:
        while frame := await read_request(self.client[0]):
            exchange = self._arrived(frame)
            if exchange.header is not None and self._answers_itself(exchange.header):
                await self._answer_itself(exchange.header)
                continue
            self.recorder.requested(exchange)
            faults = exchange.faults
            if faults.stray_ms:
                await self._stray(exchange, frame, faults.stray_ms)
            if faults.lost:
                raise BrokenConnection
            if faults.late_ms:
                await asyncio.sleep(faults.late_ms / 1_000)
            await self._send(exchange, frame)
            if faults.doubled:
                await self._send(replace(exchange, dropped=True, faults=NOTHING), frame)

    async def _send(self, exchange: Exchange, frame: bytes) -> None:
        if not _is_unanswered(exchange):
            self._waiting.append(exchange)
        self.broker[1].write(SIZE.pack(len(frame)) + frame)
        await self.broker[1].drain()

    async def _stray(self, exchange: Exchange, frame: bytes, milliseconds: int) -> None:
        """The client's connection breaks; the request arrives all the same, and its answer is lost."""
        self._deaf = True
        self.client[1].transport.abort()
        await asyncio.sleep(milliseconds / 1_000)
        await self._send(exchange, frame)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._until_settled(), STRAY_S)

    async def _until_settled(self) -> None:
        while self._waiting:
            self._settled.clear()
            await self._settled.wait()

    def _arrived(self, frame: bytes) -> Exchange:
        """The request in a frame, with what goes wrong with it.

        Raises:
            BrokenConnection: it is none, or one whose answer could not be read.
        """
        if self._tokens and not _has_header(frame):
            return Exchange(self.link, None, len(frame))
        self._tokens = False
        try:
            header, body = decode_header(frame)
        except MalformedRequest as malformed:
            raise BrokenConnection(f"no request: {malformed}") from malformed
        if header.api == "SaslHandshake" and header.version == PLAIN_SASL:
            self._tokens = True
        readable = addresses.is_readable(header.api, header.version)
        if not readable and addresses.has_addresses(header.api, header.version):
            raise BrokenConnection(
                f"{header.api} of version {header.version} names brokers by address, and cannot be read here"
            )
        exchange = Exchange(self.link, header, len(frame))
        if readable:
            try:
                exchange.message = decode_body("request", header.api, header.version, frame, body)
            except MalformedRequest as malformed:
                if header.api == Api.PRODUCE:
                    raise BrokenConnection(str(malformed)) from malformed
        elif header.api == Api.PRODUCE:
            exchange.followed = _acks_of_old(header, frame)
        exchange.faults = self._drawn(header)
        return exchange

    def _drawn(self, header: RequestHeader) -> RequestFaults:
        """The first exchange of a connection is spared, and so is what signs a client in."""
        spared, self._spared = self._spared, False
        if self.faults is None or spared or header.api.startswith("Sasl"):
            return NOTHING
        faults = self.faults.of_request(header.api, header.version)
        if faults != NOTHING:
            self.recorder.fault(self.link, faults)
        return faults

    def _answers_itself(self, header: RequestHeader) -> bool:
        """A version of ApiVersions that cannot be read is unknown to the proxy as it would be to an older broker."""
        return header.api == Api.API_VERSIONS and not addresses.is_readable(Api.API_VERSIONS, header.version)

    async def _answer_itself(self, header: RequestHeader) -> None:
        await self._until_settled()
        oldest, newest = known_versions(Api.API_VERSIONS) or (0, 0)
        known = {"api_key": key_of(Api.API_VERSIONS), "min_version": oldest, "max_version": newest}
        fields = {"error_code": int(ErrorCode.UNSUPPORTED_VERSION), "api_keys": [known]}
        await self._deliver(encode_response(Api.API_VERSIONS, 0, header.correlation, fields))

    # --- answers ----------------------------------------------------------------------------------------------

    async def _answers(self, open_port: OpenPort) -> None:
        while frame := await read_answer(self.broker[0]):
            if not self._waiting:
                raise BrokenConnection("the broker has sent an answer without a request")
            exchange = self._waiting[0]
            passed = await self._answered(exchange, frame, open_port)
            self.recorder.answered(exchange, len(frame))
            faults = exchange.faults
            if faults.answer_late_ms:
                await asyncio.sleep(faults.answer_late_ms / 1_000)
            if faults.answer_lost and not self._deaf:
                raise BrokenConnection
            if not exchange.dropped:
                await self._deliver(passed)
            self._waiting.popleft()
            self._settled.set()
        if self._waiting and not self._deaf:
            waiting = self._waiting[0].api or "a token of SASL"
            raise BrokenConnection(f"the broker ends before it has answered {waiting}")

    async def _deliver(self, frame: bytes) -> None:
        if not self._deaf:
            self.client[1].write(SIZE.pack(len(frame)) + frame)
            await self.client[1].drain()

    async def _answered(self, exchange: Exchange, frame: bytes, open_port: OpenPort) -> bytes:
        """The answer as the client gets it.

        Raises:
            BrokenConnection: it is not the answer to the request, or has addresses that cannot be changed.
        """
        header = exchange.header
        if header is None:
            return frame
        (correlation,) = CORRELATION.unpack_from(frame, 0)
        if correlation != header.correlation:
            raise BrokenConnection(f"the broker answers request {correlation} in place of {header.correlation}")
        if exchange.message is None:
            return frame
        has_addresses = addresses.has_addresses(header.api, header.version)
        version = _version_of(header, frame)
        try:
            body = response_body(header.api, version, frame)
            answer = decode_body("response", header.api, version, frame, body)
        except MalformedRequest as malformed:
            if has_addresses:
                raise BrokenConnection(f"the broker's answer cannot be read: {malformed}") from malformed
            self.recorder.counts.unread[f"{header.api} {header.version}"] += 1
            return frame
        exchange.answer = answer
        if header.api == Api.API_VERSIONS:
            changed = addresses.limit_versions(answer)
        else:
            changed = has_addresses and await self._readdress(header.api, answer, open_port)
        return frame[:body] + encode_again(answer) if changed else frame

    async def _readdress(self, api: str, answer: Any, open_port: OpenPort) -> bool:
        """Put the proxy's ports in place of brokers; whether there were any."""
        found = addresses.nodes_in(api, answer)
        for part in found:
            part.port = await open_port(Address(part.host, part.port))
            part.host = self.host
        return bool(found)


def _is_unanswered(exchange: Exchange) -> bool:
    if exchange.api != Api.PRODUCE:
        return False
    acks = exchange.followed if exchange.message is None else exchange.message.acks
    return bool(acks == UNANSWERED)


def _acks_of_old(header: RequestHeader, frame: bytes) -> int:
    """The acks of a Produce that is too old to be read; they come first.

    Raises:
        BrokenConnection: it is not so old, or ends before.
    """
    position = HEAD.size + LENGTH.size + len(header.client_id.encode())
    if header.version >= TRANSACTIONAL_SINCE or position + LENGTH.size > len(frame):
        raise BrokenConnection(f"a Produce of version {header.version} that cannot be read")
    (acks,) = LENGTH.unpack_from(frame, position)
    return int(acks)


def _has_header(frame: bytes) -> bool:
    """Whether a frame can be a request: tokens of SASL begin with text, or with a tag of ASN.1."""
    key, version, _ = HEAD.unpack_from(frame, 0)
    return bool(0 <= key < LARGEST_KEY and 0 <= version < LARGEST_VERSION)


def _version_of(header: RequestHeader, frame: bytes) -> int:
    """The version of an answer: that of the request, except where ApiVersions is not known in it (KIP-511)."""
    refused = header.api == Api.API_VERSIONS and frame[CORRELATION.size :].startswith(UNSUPPORTED)
    return 0 if refused else header.version

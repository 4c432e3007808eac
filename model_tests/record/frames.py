"""Frames of a connection: read whole, as long as their length says."""

import asyncio
from typing import Final

from reference.server.connections import SIZE
from reference.server.listener import LARGEST
from reference.wire.codec import HEAD

TLS: Final = (b"\x16\x03", b"\x15\x03")
"""Begin a handshake and an alert of TLS."""

LEAST_ANSWER: Final = 4
"""Bytes of an answer: its correlation id."""


class BrokenConnection(Exception):
    """A connection cannot go on.

    Attributes:
        why: in one line; empty where it need not be said.
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

"""Frames that no client sends: valid ones with damage, garbage, halves, lengths and versions that there are not.

Each goes over a connection of its own, whose sending side is closed behind it: whatever becomes of the frame, the
server then closes the connection, and nobody has to guess how long to wait.
"""

import random
import socket
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from model_tests.serve.cluster import Cluster
from model_tests.unit.serve.random_messages import random_fields
from reference.wire.codec import HEAD, RequestHeader, encode_request, key_of
from reference.wire.versions import ServedApi, served
from spec.versions import Profile

PATIENCE_S: Final = 60
NEVER_ANSWERED: Final = frozenset(
    key_of(api) for api in ("Produce", "Fetch", "JoinGroup", "SyncGroup", "DeleteRecords")
)
"""Apis whose requests may wait longer than their client is there, or want no answer (Produce with acks=0)."""

LENGTHS: Final = (2**31 - 1, 2**31 - 2, 100 * 2**20 + 1, 0, -1, -(2**31))


class Frames:
    """Frames from a seed, each with its length before it."""

    def __init__(self, profile: Profile, seed: int) -> None:
        """Frames for what a release announces."""
        self._chance = random.Random(seed)
        self._apis: list[ServedApi] = list(served(profile))
        self._kinds: tuple[Callable[[], bytes], ...] = (
            *(self._damaged,) * 12,
            *(self._valid,) * 4,
            self._garbage,
            self._half,
            self._length,
            self._unknown,
        )

    def __iter__(self) -> Iterator[bytes]:
        """Without end."""
        while True:
            yield self._chance.choice(self._kinds)()

    def _request(self) -> bytes:
        chance, api = self._chance, self._chance.choice(self._apis)
        version = chance.randint(api.oldest, api.newest)
        header = RequestHeader(api.key, api.api, version, chance.randrange(2**31), "fuzz")
        return encode_request(header, random_fields(chance, "request", api.api, version))

    def _valid(self) -> bytes:
        return framed(self._request())

    def _damaged(self) -> bytes:
        """A request with bytes changed, left out, put in or cut off behind the correlation id."""
        chance, data = self._chance, bytearray(self._request())
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            at = chance.randrange(HEAD.size, len(data) + 1)
            match chance.randrange(8):
                case 0 | 5 | 6 | 7:
                    data[at : at + 1] = chance.randbytes(1)
                case 1:
                    data[at : at + 4] = struct.pack(">I", chance.choice((0, 2**31 - 1, 2**31, 2**32 - 1)))
                case 2:
                    data[at:at] = chance.randbytes(chance.randrange(1, 9))
                case 3:
                    del data[at : at + chance.randrange(1, 9)]
                case 4:
                    del data[at:]
        return framed(bytes(data))

    def _garbage(self) -> bytes:
        return framed(self._chance.randbytes(self._chance.randrange(1, 200)))

    def _half(self) -> bytes:
        """The length and less than follows it."""
        data = framed(self._request())
        return data[: self._chance.randrange(1, len(data))]

    def _length(self) -> bytes:
        return struct.pack(">i", self._chance.choice(LENGTHS)) + self._chance.randbytes(self._chance.randrange(100))

    def _unknown(self) -> bytes:
        """An api or a version that there is not."""
        data = bytearray(self._request())
        key, version, correlation = HEAD.unpack_from(data, 0)
        if self._chance.random() < 0.5:
            key = self._chance.choice((-1, 4, 5, 6, 7, 52, 68, 76, 2**15 - 1, -(2**15)))
        else:
            version = self._chance.choice((-(2**15), -1, 30, 99, 2**15 - 1))
        HEAD.pack_into(data, 0, key, version, correlation)
        return framed(bytes(data))


def framed(data: bytes) -> bytes:
    """A frame with its length before it."""
    return struct.pack(">i", len(data)) + data


@dataclass
class FrameOutcomes:
    """What became of frames.

    Attributes:
        answered: frames that were.
        closed: those whose connection was closed with a line.
        waiting: those that waited, or wanted no answer, until their client was gone.
        wrong: those of which neither is true.
    """

    answered: int = 0
    closed: int = 0
    waiting: int = 0
    wrong: list[bytes] = field(default_factory=list)
    apis: Counter[int] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """All frames."""
        return self.answered + self.closed + self.waiting + len(self.wrong)


def throw(cluster: Cluster, frames: Iterator[bytes], count: int, outcomes: FrameOutcomes) -> None:
    """Send frames one after the other, each to its end.

    Args:
        cluster: of one node.
        frames: where they come from.
        count: how many.
        outcomes: that they are added to.
    """
    host, _, port = cluster.bootstrap_servers.rpartition(":")
    for _ in range(count):
        frame, lines = next(frames), len(cluster.notices)
        answer = _answer(host, int(port), frame)
        if answer:
            outcomes.answered += 1
        elif len(cluster.notices) == lines + 1:
            outcomes.closed += 1
        elif len(cluster.notices) == lines and _may_be_silent(frame):
            outcomes.waiting += 1
        else:
            outcomes.wrong.append(frame)
        if len(cluster.notices) > 1_000:
            cluster.notices.clear()


def _answer(host: str, port: int, frame: bytes) -> bytes:
    """What comes back until the connection ends."""
    with socket.create_connection((host, port), timeout=PATIENCE_S) as connection:
        received = bytearray()
        try:
            connection.sendall(frame)
            connection.shutdown(socket.SHUT_WR)
            while data := connection.recv(2**16):
                received += data
        except (ConnectionResetError, BrokenPipeError):
            pass
        return bytes(received)


def _may_be_silent(frame: bytes) -> bool:
    """Whether a frame may be a request that waits."""
    return len(frame) >= 6 and struct.unpack_from(">h", frame, 4)[0] in NEVER_ANSWERED

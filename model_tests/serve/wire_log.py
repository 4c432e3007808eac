"""The wire log: what a server was, what arrived and when, a line of JSON each, so that the run can be made again.

The first line says what the server was. A line with `bytes` is a frame that arrived (in Base64, without its length);
one without is a look at what was due by then.
"""

import base64
import binascii
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

from model_tests.common.reports import BadInput
from reference.server.handlers import handle
from reference.server.service import Call, Endpoint, Service, Settings
from reference.wire.codec import MalformedRequest, decode_header, decode_request
from spec.versions import PROFILES

WIRE_LOG: Final = "wire.ndjson"
"""The file in the directory of a recorded run."""

NOWHERE: Final = Endpoint("127.0.0.1", 9092)
"""Where the nodes of a repeated run say that they are; it changes no step."""


class WireLog:
    """Writes what arrives at a server."""

    __slots__ = ("_file",)

    def __init__(
        self, file: TextIO, settings: Settings, now: int, topics: Iterable[tuple[str, int]], *, recovered: bool = False
    ) -> None:
        """A log of a server that starts.

        Args:
            file: to write to.
            settings: of the server.
            now: milliseconds.
            topics: that it makes, each with so many partitions.
            recovered: whether it begins with what another run has left in its directory.
        """
        self._file = file
        profile = settings.profile
        version = {"profile": profile.name, "transaction_version": profile.transaction_version}
        begins = {"nodes": settings.nodes, "time": now, "topics": dict(topics), "recovered": recovered}
        self._write(version | begins)

    def frame(self, now: int, node: int, connection: int, frame: bytes) -> None:
        """A frame has arrived at a node.

        Args:
            now: milliseconds.
            node: its number.
            connection: number of the connection.
            frame: without its length.
        """
        encoded = base64.b64encode(frame).decode()
        self._write({"time": now, "node": node, "connection": connection, "bytes": encoded})

    def tick(self, now: int) -> None:
        """The nodes have looked at what was due by now, in milliseconds."""
        self._write({"time": now})

    def _write(self, said: dict[str, Any]) -> None:
        self._file.write(json.dumps(said) + "\n")


@dataclass(slots=True)
class Repeated:
    """A run that is made again.

    Attributes:
        service: the nodes.
        requests: how many came, by api and the client's software, which the log does not say.
    """

    service: Service
    requests: Counter[tuple[str, str]]
    _events: Iterator[dict[str, Any]]
    _now: list[int]

    def play(self) -> None:
        """Let everything arrive again, at the time at which it came.

        Raises:
            BadInput: a line is none of a wire log.
        """
        for event in self._events:
            try:
                self._now[0] = int(event["time"])
                call = _call_in(event)
            except (KeyError, TypeError, ValueError, binascii.Error, MalformedRequest) as damage:
                raise BadInput(f"a line of the wire log that no server wrote: {damage}") from damage
            if call is None:
                self.service.pass_time()
            else:
                self.requests[call.header.api, "as recorded"] += 1
                self.service.begin()
                handle(self.service, call)


def _call_in(event: dict[str, Any]) -> Call | None:
    """The request of a line; None where the line is a look at what was due."""
    if "bytes" not in event:
        return None
    frame = base64.b64decode(event["bytes"], validate=True)
    header, body = decode_header(frame)
    return Call(event["connection"], event["node"], header, decode_request(header, frame, body), lambda _: None)


def repeated(path: Path, directory: Path) -> Repeated:
    """The run of a wire log, before its first frame; the data of its nodes goes into a new directory.

    Raises:
        BadInput: there is no such file, it does not begin as a wire log does, or its run began with data that it does
            not have.
    """
    events = _lines(path)
    try:
        first = next(events)
        profile = PROFILES[first["profile"]].under(first["transaction_version"])
        now = [int(first["time"])]
        service = Service(Settings(profile, first["nodes"]), lambda: now[0], directory)
        service.endpoints += [NOWHERE] * first["nodes"]
        for name, partitions in first["topics"].items():
            service.create_topic(name, partitions)
    except (StopIteration, KeyError, TypeError, ValueError, AttributeError) as damage:
        raise BadInput(f"{path}: does not begin as the wire log of eos serve --record does") from damage
    if first.get("recovered"):
        raise BadInput(f"{path}: its run began with the data of an earlier one, which a wire log does not have")
    return Repeated(service, Counter(), events, now)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise BadInput(f"{path}: not a wire log, which has an object of JSON in every line") from error

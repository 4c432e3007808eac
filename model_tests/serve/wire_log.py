"""The wire log: what a server was, what arrived and when, a line of JSON each, so that the run can be made again.

The first line says what the server was. A line with `bytes` is a frame that arrived (in Base64, without its length),
one with `fault` a fault of a node, one with `wire` what went wrong with a connection, which changes no node, one with
`gone` the end of a connection on which something waited; one with a time alone is a look at what was due by then.
"""

import base64
import binascii
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

from model_tests.common.reports import BadInput
from reference.server.faults import RequestFaults
from reference.server.handlers import handle
from reference.server.listener import Server
from reference.server.nodes import FaultKind, NodeFault
from reference.server.service import ClientRequest, Endpoint, ServerSettings, Service
from reference.wire.codec import MalformedRequest, decode_header, decode_request
from spec.versions import PROFILES

WIRE_LOG: Final = "wire.ndjson"
"""The file in the directory of a recorded run."""

NOWHERE: Final = Endpoint("127.0.0.1", 9092)
"""Where the nodes of a repeated run say that they are; it changes no step."""

Line = Mapping[str, Any]
"""What a line of the log says."""


class WireSettings(NamedTuple):
    """What a wire log says of its run beside the server's settings.

    Attributes:
        defect: name of a defect that the nodes had, none if empty.
        faults: name of what went wrong, nothing if empty.
        seed: of these faults.
        recovered: whether it began with what another run had left in its directory.
        in_memory: whether its nodes kept their data in memory: a restart from memory has more of a batch than the
            snapshot of a producer has.
    """

    defect: str = ""
    faults: str = ""
    seed: int = 0
    recovered: bool = False
    in_memory: bool = False


SETTINGS: Final = tuple(each.name for each in fields(ServerSettings) if each.name != "profile")
"""The settings of a server that are in the first line as they are."""

PLAIN: Final = WireSettings()
"""Neither defect nor faults, and nothing before."""


class WireLog:
    """Writes what arrives at a server."""

    __slots__ = ("_file",)

    def __init__(
        self,
        file: TextIO,
        settings: ServerSettings,
        now: int,
        topics: Mapping[str, int],
        wire: WireSettings = PLAIN,
    ) -> None:
        """A log of a server that starts now.

        Args:
            file: to write to.
            settings: of the server.
            now: milliseconds.
            topics: that it makes, with the number of their partitions.
            wire: what else the run is made of.
        """
        self._file = file
        profile = settings.profile
        version = {"profile": profile.name, "transaction_version": profile.transaction_version}
        others = {name: getattr(settings, name) for name in SETTINGS}
        self._write({**version, **others, "time": now, "topics": dict(topics), **wire._asdict()})

    def follow(self, server: Server) -> None:
        """Write down whatever comes to a server that has not started."""
        server.on_frame, server.on_tick = self.frame, self.tick
        server.on_fault, server.on_wire_fault, server.on_gone = self.fault, self.wire_fault, self.gone

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

    def gone(self, now: int, connection: int) -> None:
        """A connection has ended while a request of it waited.

        Args:
            now: milliseconds.
            connection: its number.
        """
        self._write({"time": now, "gone": connection})

    def tick(self, now: int) -> None:
        """The nodes have looked at what was due by now, in milliseconds."""
        self._write({"time": now})

    def fault(self, now: int, fault: NodeFault) -> None:
        """A fault has happened to a node, at a time in milliseconds."""
        self._write({"time": now, "fault": fault._asdict()})

    def wire_fault(self, now: int, connection: int, faults: RequestFaults | None) -> None:
        """Something has gone wrong with a connection.

        Args:
            now: milliseconds.
            connection: its number.
            faults: of a request on it; None where it was closed without one.
        """
        drawn = {"closed": True} if faults is None else faults._asdict()
        self._write({"time": now, "connection": connection, "wire": drawn})

    def _write(self, values: Line) -> None:
        self._file.write(json.dumps(values) + "\n")


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """A run that can be made again.

    Attributes:
        head: the first line of its log.
        settings: of the server.
        wire: what else it was made of.
    """

    head: Line
    settings: ServerSettings
    wire: WireSettings

    @classmethod
    def of(cls, head: Line) -> "LoggedRun":
        """The run of a log that begins with this line.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it is no such line.
        """
        profile = PROFILES[head["profile"]].under(head["transaction_version"])
        settings = ServerSettings(profile, **{name: head[name] for name in SETTINGS})
        wire = WireSettings(head["defect"], head["faults"], head["seed"], head["recovered"], head["in_memory"])
        run = cls(head, settings, wire)
        run.begin()
        return run

    def begin(self, directory: Path | None = None) -> "Repeated":
        """The server before its first frame.

        Args:
            directory: a new one for its nodes' data; not used where the run kept its data in memory.
        """
        now = [int(self.head["time"])]
        service = Service(self.settings, lambda: now[0], None if self.wire.in_memory else directory)
        service.endpoints += [NOWHERE] * self.settings.nodes
        for name, partitions in self.head["topics"].items():
            service.create_topic(name, partitions)
        return Repeated(service, now)


@dataclass(slots=True)
class Repeated:
    """A run that is made again.

    Attributes:
        service: the nodes.
        requests: how many came, by api and the client's software, which the log does not say.
        suffered: how many faults there were, by name.
    """

    service: Service
    _now: list[int]
    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    suffered: Counter[str] = field(default_factory=Counter)

    def play(self, lines: Iterable[Line]) -> None:
        """Let everything arrive again, at the time at which it came.

        Raises:
            BadInput: a line is none of a wire log.
        """
        for line in lines:
            try:
                self._now[0] = int(line["time"])
                self._happens(line)
            except (KeyError, TypeError, ValueError, binascii.Error, MalformedRequest) as damage:
                raise BadInput(f"a line of the wire log that no server wrote: {damage}") from damage

    def _happens(self, line: Line) -> None:
        if "bytes" in line:
            call = call_in(line)
            self.requests[call.header.api, "as recorded"] += 1
            self.service.begin()
            handle(self.service, call)
        elif "fault" in line:
            fault = fault_in(line)
            self.service.nodes.check(fault)
            self.service.begin()
            self.service.suffer(fault)
            self.suffered[fault.kind.value] += 1
        elif "wire" in line:
            closed = line["wire"].get("closed")
            self.suffered.update(["connection closed"] if closed else RequestFaults(**line["wire"]).names())
        elif "gone" in line:
            self.service.forget(line["gone"])
        else:
            self.service.pass_time()


def call_in(line: Line) -> ClientRequest:
    """The request of a line with a frame; its answer goes nowhere.

    Raises:
        KeyError, ValueError, MalformedRequest: there is none in it.
    """
    frame = base64.b64decode(line["bytes"], validate=True)
    header, body = decode_header(frame)
    return ClientRequest(line["connection"], line["node"], header, decode_request(header, frame, body), lambda _: None)


def fault_in(line: Line) -> NodeFault:
    """The fault of a line with one.

    Raises:
        KeyError, TypeError, ValueError: there is none in it.
    """
    return NodeFault(**{**line["fault"], "kind": FaultKind(line["fault"]["kind"])})


def logged(path: Path) -> tuple[LoggedRun, Iterator[Line]]:
    """The run of a wire log, and the lines after the first.

    Raises:
        BadInput: there is no such file, it does not begin as a wire log does, or its run began with data that it does
            not have.
    """
    lines = _lines(path)
    try:
        run = LoggedRun.of(next(lines))
    except (StopIteration, KeyError, TypeError, ValueError, AttributeError) as damage:
        raise BadInput(f"{path}: does not begin as the wire log of eos serve --record does") from damage
    if run.wire.recovered:
        raise BadInput(f"{path}: its run began with the data of an earlier one, which a wire log does not have")
    return run, lines


def _lines(path: Path) -> Iterator[Line]:
    try:
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise BadInput(f"{path}: not a wire log, which has an object of JSON in every line") from error

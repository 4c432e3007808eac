"""A server without sockets: requests in bytes, answered at once unless they wait, at a time that the test says."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from model_tests.judging.check_report import StepViolation
from model_tests.monitor.monitor import Monitor
from reference.server.handlers import check_readable, handle
from reference.server.nodes import FaultKind, NodeFault
from reference.server.service import ClientRequest, Endpoint, Fields, ServerSettings, Service
from reference.wire.codec import RequestHeader, decode_body, decode_request, encode_body, encode_response, key_of
from spec.versions import NEWEST, Profile

START_MS = 1_700_000_000_000


@dataclass
class Bench:
    """A service, its clock, and its judge."""

    profile: Profile = NEWEST
    nodes: int = 1
    now: int = START_MS
    directory: Path | None = None
    coordinator_partitions: int = 50
    min_insync: int = 1
    violations: list[StepViolation] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        settings = ServerSettings(
            self.profile,
            self.nodes,
            coordinator_partitions=self.coordinator_partitions,
            min_insync=self.min_insync,
        )
        self.service = Service(settings, lambda: self.now, self.directory)
        self.service.endpoints += [Endpoint("127.0.0.1", 9092 + node) for node in range(self.nodes)]
        self.monitor = Monitor()
        self.service.world.observe(lambda row: self.violations.extend(self.monitor.judge(row)))

    def send(self, api: str, version: int, fields: Fields, node: int = 0) -> list[Any]:
        """Send a request; a list that has the decoded answer once there is one, None where none is ever given."""
        header = RequestHeader(key_of(api), api, version, 7, "test")
        frame = encode_body("request", api, version, fields)
        answers: list[Any] = []

        def reply(answer: Fields | None) -> None:
            if answer is None:
                answers.append(None)
                return
            data = encode_response(api, version, header.correlation, answer)
            answers.append(decode_body("response", api, version, data, len(data) - self._size(api, version, answer)))

        message = decode_request(header, frame, 0)
        check_readable(self.service, api, message)
        self.service.begin()
        handle(self.service, ClientRequest(1, node, header, message, reply, "127.0.0.1", self.closed.append))
        return answers

    def ask(self, api: str, version: int, fields: Fields, node: int = 0) -> Any:
        """The answer to a request that does not wait."""
        (answer,) = self.send(api, version, fields, node)
        return answer

    def suffer(self, kind: FaultKind, node: int, **fields: Any) -> None:
        """A fault happens to a node, if it can."""
        self.happens(NodeFault(kind, node, **fields))

    def happens(self, fault: NodeFault) -> None:
        """A fault happens, if it can."""
        self.service.nodes.check(fault)
        self.service.begin()
        self.service.suffer(fault)

    def judged_whole(self) -> list[StepViolation]:
        """The violations of the run, those of client histories included."""
        self.violations.extend(self.monitor.settle())
        return self.violations

    def wait(self, milliseconds: int) -> None:
        """Time passes, and whatever is due then happens."""
        self.now += milliseconds
        self.service.pass_time()

    def _size(self, api: str, version: int, answer: Fields) -> int:
        return len(encode_body("response", api, version, answer))

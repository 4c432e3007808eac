"""One request on its way to a broker, and its answer on the way back."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from model_tests.common.addresses import Address
from reference.server.connections import Breakable
from reference.server.errors import ServerError
from reference.server.faults import NOTHING, RequestFaults
from reference.server.listener import UNNAMED
from reference.wire.codec import RequestHeader
from spec.vocabulary import ErrorCode

_NAMES: Final = {int(code): code.name for kind in (ServerError, ErrorCode) for code in kind}


@dataclass(slots=True)
class Link(Breakable):
    """A client's connection to the proxy, with the one from there to a broker.

    Attributes:
        peer: address of the client.
        broker: that it is to.
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
        followed: what a request began, by whoever follows it to its answer.
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

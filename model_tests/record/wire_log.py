"""The wire log of a recording: every request and every answer, decoded, one line of JSON each.

The contents of records are left out, and so are all other bytes and the settings that clients change: passwords may be
among them.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO
from uuid import UUID

from model_tests.common.addresses import Address
from model_tests.common.reports import writing
from model_tests.record.batches import BatchHeads
from model_tests.record.exchange import Exchange, Link
from reference.server.faults import NOTHING, RequestFaults
from reference.wire.codec import fields_of

# --- a file that grows by a line of JSON at a time --------------------------------------------------------------------


class LinesFile:
    """Writes lines; other readers see them after `flush`."""

    __slots__ = ("_default", "_file", "_path")

    def __init__(self, path: Path, file: TextIO, default: Callable[[Any], Any] | None = None) -> None:
        """An open file, and a function that converts values that JSON does not have."""
        self._path, self._file, self._default = path, file, default

    def write(self, values: dict[str, Any]) -> None:
        """One line.

        Raises:
            BadInput: there is no room for it.
        """
        line = json.dumps(values, default=self._default)
        with writing(self._path):
            self._file.write(line + "\n")

    def flush(self) -> None:
        """Hand what was written to the system.

        Raises:
            BadInput: there is no room for it.
        """
        with writing(self._path):
            self._file.flush()


@contextmanager
def lines_file(path: Path, default: Callable[[Any], Any] | None = None) -> Iterator[LinesFile]:
    """A new file.

    Raises:
        BadInput: it cannot be made.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w", encoding="utf-8")
    try:
        yield LinesFile(path, file, default)
    finally:
        with writing(path):
            file.close()


# --- the log ----------------------------------------------------------------------------------------------------------


WIRE_LOG: Final = "wire.ndjson"
SECRET: Final = ("AlterConfigs", "AlterUserScramCredentials", "IncrementalAlterConfigs", "SaslAuthenticate")
"""Apis whose requests and answers are not written."""

Clock = Callable[[], int]
"""The time, milliseconds."""


class RecordedWire:
    """Writes every request and answer that passes.

    Attributes:
        file: that it is written to.
    """

    __slots__ = ("_clock", "file")

    def __init__(self, file: LinesFile, clock: Clock, upstream: Address, faults: str, seed: int) -> None:
        """A log that begins now.

        Args:
            file: to write to.
            clock: the time.
            upstream: the broker that was given.
            faults: name of what goes wrong, nothing if empty.
            seed: of these faults.
        """
        self.file, self._clock = file, clock
        self._write({"recorded": str(upstream), "faults": faults, "seed": seed})

    def opened(self, link: Link) -> None:
        """A client has connected."""
        self._write({"connection": link.number, "opened": link.peer, "broker": str(link.broker)})

    def closed(self, link: Link, why: str) -> None:
        """A connection has ended; why, if it was not its client who ended it."""
        self._write({"connection": link.number, "closed": why})

    def requested(self, exchange: Exchange) -> None:
        """A request has come."""
        header, link = exchange.header, exchange.link
        line: dict[str, Any] = {"connection": link.number, "broker": str(link.broker)}
        if header is None:
            self._write({**line, "sasl": exchange.size})
            return
        named = {"api": exchange.api, "version": header.version, "correlation": header.correlation}
        self._write({**line, **named, "client": header.client_id, "request": self._body(exchange, exchange.message)})

    def answered(self, exchange: Exchange, size: int) -> None:
        """An answer of so many bytes has come."""
        header, line = exchange.header, {"connection": exchange.link.number}
        if header is None:
            self._write({**line, "sasl answer": size})
            return
        named = {"api": exchange.api, "version": header.version, "correlation": header.correlation}
        dropped = {"dropped": True} if exchange.dropped else {}
        self._write({**line, **named, **dropped, "answer": self._body(exchange, exchange.answer)})

    def fault(self, link: Link, faults: RequestFaults | None) -> None:
        """Something goes wrong with the next request of a connection; None where it is closed without one."""
        if faults is None:
            drawn: dict[str, Any] = {"closed": True}
        else:
            drawn = {name: value for name, value in faults._asdict().items() if value != getattr(NOTHING, name)}
        self._write({"connection": link.number, "fault": drawn})

    def _body(self, exchange: Exchange, message: Any) -> Any:
        return None if message is None or exchange.api in SECRET else fields_of(message)

    def _write(self, values: dict[str, Any]) -> None:
        self.file.write({"time": self._clock(), **values})


def plain(value: Any) -> Any:
    """A value that JSON does not have: a head of a batch, an id, or a set; of any other bytes only their number."""
    if isinstance(value, BatchHeads):
        return value.to_json()
    if isinstance(value, UUID):
        return value.hex
    if isinstance(value, set | frozenset):
        return sorted(value)
    return f"{len(value)} bytes"

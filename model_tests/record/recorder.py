"""Whatever passes, given to the wire log, to the counts and to those who follow producers."""

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from model_tests.record.batches import shorten
from model_tests.record.counts import Counts
from model_tests.record.exchange import Exchange, Link
from model_tests.record.producers import Producers, Recent
from model_tests.record.wire_log import LinesFile, RecordedWire
from reference.server.faults import RequestFaults
from reference.server.listener import UNNAMED
from spec.vocabulary import Api

JOURNAL: Final = "journal"
MOST_TOPICS: Final = 100_000
SOFTWARE_SINCE: Final = 3
"""First version of ApiVersions in which a client says what it is."""

LONGEST_NAME: Final = 100
"""Characters of what a client calls itself that are kept."""

SAID: Final = (1, 10, 100, 1_000, 10_000)
"""How often the same has happened when it is said again."""


class TrafficRecorder:
    """One recording.

    Attributes:
        counts: of what has passed.
    """

    __slots__ = ("_files", "_producers", "_reasons", "_say", "_topics", "_wire", "counts")

    def __init__(self, wire: RecordedWire, journal: LinesFile, say: Callable[[str], None]) -> None:
        """A recording that begins.

        Args:
            wire: takes every request and answer.
            journal: file for the events of producers.
            say: takes a line for a person.
        """
        self.counts = Counts()
        self._wire, self._say = wire, say
        self._topics: Recent[str, str] = Recent(MOST_TOPICS)
        self._reasons: Recent[str, int] = Recent(MOST_TOPICS)
        self._files = (wire.file, journal)
        self._producers = Producers(journal.write, self.counts, self.topic_called)

    # --- connections ------------------------------------------------------------------------------------------

    def opened(self, link: Link) -> None:
        """A client has connected."""
        self.counts.connections += 1
        self._wire.opened(link)

    def closed(self, link: Link, why: str) -> None:
        """A connection has ended, because of what came over it if a reason is given."""
        self._wire.closed(link, why)
        if not why:
            return
        self.counts.closed += 1
        reason = f"{link.broker}: {why}"
        count = (self._reasons.get(reason) or 0) + 1
        self._reasons.put(reason, count)
        if count in SAID:
            times = f" ({count} times)" if count > 1 else ""
            self._say(f"connection {link.number} from {link.peer} to {reason}{times}")

    def fault(self, link: Link, faults: RequestFaults | None) -> None:
        """Something goes wrong with a request; None where a connection is closed without one."""
        self._wire.fault(link, faults)
        self.counts.faults.update(["connection closed"] if faults is None else faults.names())

    # --- requests and answers ---------------------------------------------------------------------------------

    def requested(self, exchange: Exchange) -> None:
        """A request is on its way to a broker."""
        header, message, link = exchange.header, exchange.message, exchange.link
        if header is not None:
            if header.api == Api.API_VERSIONS and message is not None and header.version >= SOFTWARE_SINCE:
                named = f"{message.client_software_name} {message.client_software_version}".strip()
                link.software = named[:LONGEST_NAME] or link.software
            if link.software == UNNAMED:
                link.software = header.client_id[:LONGEST_NAME] or UNNAMED
            if message is None:
                self.counts.unread[f"{exchange.api} {header.version}"] += 1
            elif header.api == Api.PRODUCE:
                shorten(header.api, message)
            self.counts.requested(exchange)
        self._wire.requested(exchange)
        self._producers.requested(exchange)

    def answered(self, exchange: Exchange, size: int) -> None:
        """An answer of so many bytes is on its way back."""
        answer = exchange.answer
        if answer is not None:
            if exchange.api == Api.FETCH:
                shorten(exchange.api, answer)
            elif exchange.api in (Api.CREATE_TOPICS, Api.METADATA):
                self._learn(answer)
        self.counts.answered(exchange)
        self._wire.answered(exchange, size)
        self._producers.answered(exchange)

    # --- topics -----------------------------------------------------------------------------------------------

    def _learn(self, answer: Any) -> None:
        """Ids of topics."""
        for topic in answer.topics or ():
            if topic.name and isinstance(topic.topic_id, UUID) and topic.topic_id.int:
                self._topics.put(topic.topic_id.hex, topic.name)

    def topic_called(self, part: Any) -> str:
        """The name of a topic that is named or has an id; empty if it is not known."""
        if part.name:
            return str(part.name)
        return self._topics.get(part.topic_id.hex) or "" if isinstance(part.topic_id, UUID) else ""

    # --- files ------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Hand what was written to the system."""
        for file in self._files:
            file.flush()

    def finish(self) -> None:
        """The recording ends."""
        self._producers.finish()
        self.flush()

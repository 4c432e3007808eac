"""What Kafka's system tests print: `VerifiableProducer` and `VerifiableConsumer`, a line of JSON an event.

Each file is what one program printed, and one process. What is no JSON, and events without records, are
passed over. `TransactionalMessageCopier` counts the records of the transactions that it committed, since it was started
or over all partitions that it ever had, and names neither topic, partition nor offset: that is said in its place.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from model_tests.histories.building import NOT_REPORTED, Building, reported_offset
from model_tests.histories.operations import OperationResult, Operations
from spec.judging.judge_clients import ReaderAssignment

_SUMMARIES: Final = "polls have no more than their first and last offset, and gaps between them"
_MOST_IN_ONE: Final = 10_000_000
"""Records of one poll; what claims more is damage."""

COPIER: Final = (
    "progress of a TransactionalMessageCopier: it counts the records that it committed and does not name them, "
    "so that no record can be compared with it"
)
_PASSED_OVER: Final = ("startup_complete", "shutdown_complete", "tool_data", "offsets_committed")


def from_tools(files: Iterable[tuple[str, Iterable[str]]]) -> Operations:
    """The history that programs printed, each with its name."""
    building = Building()
    for name, lines in files:
        program = _Program(building, name)
        for number, line in enumerate(lines, start=1):
            program.prints(number, line)
        program.polled()
    return building.built()


class _Program:
    """One program while its lines are read."""

    def __init__(self, building: Building, name: str) -> None:
        self._building = building
        self._process = building.process(name)
        self._line = 0
        self._taken: list[tuple[tuple[str, int], int, object]] = []
        self._events: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
            "producer_send_success": self._sent,
            "producer_send_error": self._not_sent,
            "record_data": self._was_given,
            "records_consumed": self._consumed,
            "partitions_assigned": self._moves,
            "partitions_revoked": self._moves,
        }

    def prints(self, number: int, line: str) -> None:
        """The next line."""
        self._line = number
        text = line.strip()
        if not text.startswith("{"):
            if text:
                self._building.passes_over("line that is no JSON")
            return
        try:
            self._event(json.loads(text))
        except json.JSONDecodeError as error:
            self._building.set_aside(f"not JSON ({error.msg})")
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            self._building.set_aside(f"not an event: {str(error).strip(chr(39))[:80]}")

    def polled(self) -> None:
        """A poll ends, and with it the records that it gave."""
        if self._taken:
            taken, self._taken = self._taken, []
            self._building.tick()
            operation = self._building.operation(self._process, self._line, OperationResult.OK, "poll", 0)
            for key, offset, value in taken:
                self._building.gives(operation, key, offset, value)

    def _event(self, event: Mapping[str, Any]) -> None:
        name = event.get("name", "")
        reported = self._events.get(name)
        if reported is not None:
            reported(event)
        else:
            what = name if name in _PASSED_OVER else "event of another kind"
            self._building.passes_over(COPIER if "totalProcessed" in event else what)

    def _sent(self, event: Mapping[str, Any]) -> None:
        key, offset, value = _partition(event), _offset(event["offset"]), event["value"]
        self._building.tick()
        operation = self._building.operation(self._process, self._line, OperationResult.OK, "send", 0, atomic=False)
        self._building.sends(operation, key, offset, value)

    def _not_sent(self, _event: Mapping[str, Any]) -> None:
        """It is not known whether it is written, nor in which partition."""
        self._building.tick()
        self._building.operation(self._process, self._line, OperationResult.INFO, "send", 0, atomic=False)

    def _was_given(self, event: Mapping[str, Any]) -> None:
        self._taken.append((_partition(event), _offset(event["offset"]), event["value"]))

    def _consumed(self, event: Mapping[str, Any]) -> None:
        """The end of a poll: a summary, behind the records themselves if they are printed at all."""
        reported = {key for key, _, _ in self._taken}
        summaries = [_summary(part) for part in event["partitions"]]
        for key, count, first, last in summaries:
            if key in reported:
                continue
            if count < last - first + 1:
                self._taken.append((key, first, NOT_REPORTED))
                self._building.partial[_SUMMARIES] = None
                self._breaks([key])
                first = last
            self._taken += ((key, offset, NOT_REPORTED) for offset in range(first, last + 1))
        self.polled()

    def _moves(self, event: Mapping[str, Any]) -> None:
        self._breaks([_partition(part) for part in event["partitions"]])

    def _breaks(self, keys: Sequence[tuple[str, int]]) -> None:
        """What follows need not go on behind what was given before."""
        self.polled()
        self._building.tick()
        self._building.breaks(self._process, ReaderAssignment.TRACKED, keys)


def _partition(event: Mapping[str, Any]) -> tuple[str, int]:
    topic, partition = event["topic"], event["partition"]
    if not isinstance(topic, str) or isinstance(partition, bool) or not isinstance(partition, int):
        raise ValueError("no topic and partition")
    return topic, partition


def _offset(offset: object) -> int:
    return reported_offset(offset)


def _summary(part: Mapping[str, Any]) -> tuple[tuple[str, int], int, int, int]:
    """Partition, records, first and last offset of a part of a poll."""
    count, first, last = part["count"], reported_offset(part["minOffset"]), reported_offset(part["maxOffset"])
    if isinstance(count, bool) or not isinstance(count, int) or not 0 < count <= min(_MOST_IN_ONE, last - first + 1):
        raise ValueError("a poll whose count and offsets do not agree")
    return _partition(part), count, first, last


def events(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """The objects among some lines; what is none is left out."""
    for line in lines:
        try:
            event = json.loads(line)
        except (json.JSONDecodeError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event

"""The one comparison: what a session recorded against what a side answered and shows, field by field.

It knows no session, no family and no build. What another run might have answered otherwise is marked in the
recording itself, and nothing else is left undecided.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from model_tests.conformance.answers import (
    Answer,
    Appended,
    Fetched,
    Initialized,
    Produced,
    SeenBatch,
    SeenPartition,
    SeenProducer,
)
from model_tests.conformance.fields import Json
from model_tests.conformance.requests import Named
from model_tests.conformance.sessions import Marks, Step
from model_tests.conformance.symbols import Symbols
from spec.vocabulary import ErrorCode

Name: TypeAlias = Callable[[int], Named]
"""The symbol of a producer id."""

MISSING: Final = "(missing)"
ERROR_FIELDS: Final = frozenset({"response.error", "response.error_code"})


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that is not as recorded."""

    where: str
    expected: object
    got: object


def differences(
    step: Step, answer: Answer, seen: Mapping[str, SeenPartition], symbols: Symbols
) -> tuple[Difference, ...]:
    """Every observable field of the answer and of the state after that is not as recorded."""
    found: list[Difference] = []
    response = as_recorded(answer, step.response, symbols.symbol)
    if response is not None and response != step.response:
        found.extend(_differences("response", step.response, response))
    if step.after is not None:
        found.extend(_state_differences(step.after, seen, symbols.symbol))
    return tuple(found)


def undecided(found: tuple[Difference, ...], marks: Marks, answer: Answer) -> str:
    """Why the recording itself says that these differences decide nothing; empty if it does not."""
    if marks.racy:
        return "racy: the markers of the transaction before were still on their way"
    only_the_error = all(difference.where in ERROR_FIELDS for difference in found)
    if only_the_error and _errors(answer) <= marks.accept_errors:
        return "racy_error: the name of the error depends on requests of other clients"
    return ""


def as_recorded(answer: Answer, recorded: Json, name: Name) -> Json | None:
    """The answer in the words of a recording; None if there is none."""
    match answer:
        case Produced():
            return _produced(answer, recorded)
        case Fetched():
            return _fetched(answer, name)
        case Initialized():
            identity = {"producer_id": name(answer.producer_id), "producer_epoch": answer.producer_epoch}
            return {**_error(answer.error), **identity}
    return None


def _errors(answer: Answer) -> set[str]:
    match answer:
        case Produced():
            return {part.error.name for part in answer.partitions.values()}
        case Fetched() | Initialized():
            return {answer.error.name}
    return set()


def _error(error: ErrorCode) -> dict[str, Any]:
    return {"error": error.name, "error_code": error.value}


def _produced(answer: Produced, recorded: Json) -> Json:
    parts = {partition: _appended(part) for partition, part in answer.partitions.items()}
    if not answer.several:
        return next(iter(parts.values()))
    return {**_error(_summary(answer, recorded.get("error"))), "partitions": parts}


def _summary(answer: Produced, recorded: object) -> ErrorCode:
    """The error over all partitions: the first one, in an order that the wire does not fix."""
    errors = [part.error for part in answer.partitions.values() if part.error is not ErrorCode.NONE]
    return next((error for error in errors if error.name == recorded), errors[0] if errors else ErrorCode.NONE)


def _appended(part: Appended) -> dict[str, Any]:
    return {
        **_error(part.error),
        "base_offset": part.base_offset,
        "log_append_time": "set" if part.append_time_told else -1,
        "log_start_offset": part.log_start_offset,
    }


def _fetched(answer: Fetched, name: Name) -> Json:
    aborted = answer.aborted
    return {
        **_error(answer.error),
        "hw": answer.hw,
        "lso": answer.lso,
        "log_start_offset": answer.log_start_offset,
        "aborted": None if aborted is None else [[name(producer), first] for producer, first in aborted],
        "batches": [_batch(batch, name) for batch in answer.batches],
        "delivered": [[offset, value] for offset, value in answer.delivered],
    }


def _batch(batch: SeenBatch, name: Name) -> dict[str, Any]:
    return {
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "producer_id": name(batch.producer_id),
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "transactional": batch.transactional,
        "control": batch.control,
        "values": list(batch.values),
    }


def _state_differences(after: Json, seen: Mapping[str, SeenPartition], name: Name) -> Iterator[Difference]:
    shown: dict[str, Any] = {
        "producers": {partition: _producers(view, name) for partition, view in seen.items()},
        "offsets": {partition: {"hw": view.hw, "lso": view.lso} for partition, view in seen.items()},
    }
    for part, recorded in after.items():
        expected = _by_producer(recorded) if part == "producers" else recorded
        got = shown.get(part, MISSING)
        if expected != got:
            yield from _differences(f"after.{part}", expected, got)


def _producers(view: SeenPartition, name: Name) -> dict[Named, Any]:
    return {name(producer.producer_id): _producer(producer, name) for producer in view.producers}


def _producer(producer: SeenProducer, name: Name) -> dict[str, Any]:
    return {
        "producer_id": name(producer.producer_id),
        "producer_epoch": producer.producer_epoch,
        "last_sequence": producer.last_sequence,
        "coordinator_epoch": producer.coordinator_epoch,
        "current_txn_start_offset": producer.current_txn_start_offset,
    }


def _by_producer(recorded: Any) -> Any:
    """The producers of each partition by their id: the order of a listing means nothing."""
    try:
        by_producer = {part: {entry["producer_id"]: entry for entry in listed} for part, listed in recorded.items()}
        lengths_kept = all(len(by_producer[part]) == len(listed) for part, listed in recorded.items())
    except (AttributeError, KeyError, TypeError):
        return recorded
    return by_producer if lengths_kept else recorded


def _differences(where: str, expected: Any, got: Any) -> Iterator[Difference]:
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in {**expected, **got}:
            yield from _differences(f"{where}.{key}", expected.get(key, MISSING), got.get(key, MISSING))
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for position, (left, right) in enumerate(zip(expected, got, strict=True)):
            yield from _differences(f"{where}[{position}]", left, right)
    elif expected != got:
        yield Difference(where, expected, got)

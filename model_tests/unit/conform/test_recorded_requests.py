from collections.abc import Iterator
from typing import Any

import pytest

from model_tests.conform.bundled import sample, sessions_in
from model_tests.conform.fields import SessionFields
from model_tests.conform.recorded_requests import REQUESTS, request_as_recorded, request_of, resolved
from model_tests.conform.requests import RecordedProduce, Request
from model_tests.conform.sessions import SessionStep
from model_tests.conform.symbols import Symbols


@pytest.fixture(scope="module")
def steps() -> dict[tuple[str, ...], tuple[int, SessionStep]]:
    """A step of every form that a request has in the bundled sessions, with its number."""
    found: dict[tuple[str, ...], tuple[int, SessionStep]] = {}
    for session in sessions_in(sample(20).lines):
        for number, step in enumerate(session.steps):
            found.setdefault((step.api, *sorted(step.recorded)), (number, step))
    return found


def again(step: SessionStep, request: dict[str, Any], number: int) -> Request:
    """What is read of a request in place of the recorded one."""
    values = {
        "version": getattr(step.request, "version", 0),
        "request": request,
        "response": step.response,
        "after": step.after,
    }
    return request_of(step.api, SessionFields("step", values), number)


def without_values(request: Request) -> Iterator[object]:
    """The parts of a request that do not depend on which step it was."""
    if isinstance(request, RecordedProduce):
        yield from (request.version, request.transactional_id, request.acks, request.several)
        for batch in request.batches:
            yield from (getattr(batch, name) for name in type(batch).__dataclass_fields__ if name != "values")
    else:
        yield request


def test_every_request_is_written_as_it_was_read(steps: dict[tuple[str, ...], tuple[int, SessionStep]]) -> None:
    """What is written of a bundled request says what the recording says, and is read as the same request."""
    assert set(REQUESTS) - {"_InjectTxnState"} <= {api for api, *_ in steps}
    for number, step in steps.values():
        api, written = request_as_recorded(step.request, lambda named: named)

        assert api == step.api
        assert {name: written[name] for name in step.recorded.keys() & written.keys()} == {
            name: step.recorded[name] for name in step.recorded.keys() & written.keys()
        }
        assert list(without_values(again(step, written, number))) == list(without_values(step.request))


def test_a_resolved_request_is_written_with_its_symbols(steps: dict[tuple[str, ...], tuple[int, SessionStep]]) -> None:
    """Numbers for symbols and back: a side works with its own numbers, and a recording has none of them."""
    for _, step in steps.values():
        symbols = Symbols()
        handled = resolved(step.request, symbols.number, symbols.member)

        assert "'pid" not in repr(handled).replace("transactional_id='pid", "")
        assert request_as_recorded(handled, symbols.symbol) == request_as_recorded(step.request, lambda named: named)

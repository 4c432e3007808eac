from collections.abc import Iterator
from typing import Any

import pytest

from model_tests.conform.compare import Symbols
from model_tests.conform.fields import SessionFields
from model_tests.conform.files import sample, sessions_in
from model_tests.conform.recorded_requests import REQUESTS, request_as_recorded, request_of, resolved
from model_tests.conform.requests import RecordedFetch, RecordedProduce, Request
from model_tests.conform.sessions import SessionStep


@pytest.fixture(scope="module")
def steps() -> dict[tuple[str, ...], tuple[int, SessionStep]]:
    """A step of every form that a request has in the bundled sessions, with its number."""
    found: dict[tuple[str, ...], tuple[int, SessionStep]] = {}
    for session in sessions_in(sample(10_000).lines):
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
    assert set(REQUESTS) - {"_InjectTxnState", "_BumpEpochs"} <= {api for api, *_ in steps}
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


def test_a_batch_means_what_most_batches_are_where_it_says_nothing() -> None:
    """One data batch, whose header agrees with its records: the rest is said where it is not so."""
    plain = {"partition": "t-0", "producer_id": "pid0", "producer_epoch": 0, "base_sequence": 5, "record_count": 3}
    request = {**plain, "transactional": False, "transactional_id": None, "acks": -1}
    step = {"version": 8, "request": request}

    read = request_of("Produce", SessionFields("step", step), 4)

    assert isinstance(read, RecordedProduce)
    batch = read.batches[0]
    assert (batch.last_offset_delta, batch.batch_count, batch.coordinator_epoch, batch.control) == (2, 1, -1, "")
    assert batch.values == ("s4r0", "s4r1", "s4r2")


@pytest.mark.parametrize(("isolation", "committed_only"), [("read_committed", True), ("read_uncommitted", False)])
def test_a_fetch_reads_what_its_isolation_lets_it(isolation: str, committed_only: bool) -> None:
    """Without a limit it takes everything from its offset on."""
    step = {"version": 4, "request": {"partition": "t-0", "offset": 7, "isolation": isolation}}

    read = request_of("Fetch", SessionFields("step", step), 0)

    assert read == RecordedFetch(4, "t-0", 7, committed_only)

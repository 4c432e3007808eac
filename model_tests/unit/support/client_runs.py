"""What some clients did, drawn at random, with something wrong in it; and the same as a file of each form."""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from model_tests.audit.options import AuditOptions
from model_tests.histories.operations import OperationResult

Place = tuple[str, int]
PLACES: Final[tuple[Place, ...]] = (("a", 0), ("a", 1), ("b", 0))
PRODUCERS: Final = 3


@dataclass(slots=True)
class ClientWrite:
    """One transaction, or one record outside of any, with the acknowledged offsets."""

    producer: int
    outcome: OperationResult
    offsets: dict[Place, list[int]]


@dataclass(slots=True)
class ClientRun:
    """Writes one after another, and what one reader was given of each partition from its start.

    Attributes:
        transactional: whether writes are transactions.
    """

    transactional: bool
    writes: list[ClientWrite] = field(default_factory=list)
    given: dict[Place, list[int]] = field(default_factory=dict)


def drawn(chance: random.Random, transactional: bool) -> ClientRun:
    """A run in which all that is committed is given, once and in order; in each partition the last is committed."""
    run, end = ClientRun(transactional), {place: chance.randrange(5) for place in PLACES}
    for number in range(14):
        last, outcome = number >= 10, OperationResult.OK
        if transactional and not last:
            outcome = chance.choice(
                (OperationResult.OK, OperationResult.OK, OperationResult.FAIL, OperationResult.INFO)
            )
        places = PLACES if last and transactional else [PLACES[number % 3]] if last else chance.choices(PLACES, k=3)
        offsets: dict[Place, list[int]] = {}
        for place in places if transactional else places[:1]:
            offsets.setdefault(place, []).append(end[place])
            end[place] += 1
        for place in offsets if transactional else ():
            end[place] += 1  # the marker
        run.writes.append(ClientWrite(number % PRODUCERS, outcome, offsets))
    for place in PLACES:
        visible = [one.offsets.get(place, []) for one in run.writes if one.outcome is OperationResult.OK]
        run.given[place] = sorted(offset for offsets in visible for offset in offsets)
    return run


# --- what goes wrong ------------------------------------------------------------------------------------------


def _drawn_place(run: ClientRun, chance: random.Random) -> tuple[Place, int]:
    """A partition, and the number of one of its given records that is neither the first nor the last."""
    place = chance.choice([place for place in PLACES if len(run.given[place]) > 2])
    return place, chance.randrange(1, len(run.given[place]) - 1)


def lost(run: ClientRun, chance: random.Random) -> None:
    """A committed record is not given."""
    place, number = _drawn_place(run, chance)
    del run.given[place][number]


def given_again(run: ClientRun, chance: random.Random) -> None:
    """A record is given once more."""
    place, number = _drawn_place(run, chance)
    run.given[place].insert(number + 1, run.given[place][number])


def given_early(run: ClientRun, chance: random.Random) -> None:
    """Two records change places."""
    place, number = _drawn_place(run, chance)
    own = run.given[place]
    own[number], own[number + 1] = own[number + 1], own[number]


def aborted_and_given(run: ClientRun, chance: random.Random) -> None:
    """The client of a committed transaction gets the answer that it is aborted."""
    chance.choice([one for one in run.writes if one.outcome is OperationResult.OK]).outcome = OperationResult.FAIL


PLANTED: Final[Mapping[Callable[[ClientRun, random.Random], None], str]] = {
    lost: "repl.committed_survives",
    given_again: "lso.read_committed",
    given_early: "lso.read_committed",
    aborted_and_given: "txn.client_verdict",
}
"""What goes wrong, and the rule that it breaks."""

ALSO_OUTSIDE: Final = (lost, given_again, given_early)
"""What goes wrong without transactions, too."""


# --- as files -------------------------------------------------------------------------------------------------


def _value(place: Place, offset: int) -> int:
    return PLACES.index(place) + len(PLACES) * offset


def _key(place: Place) -> str:
    return f'"{place[0]}-{place[1]}"'


def edn(run: ClientRun, directory: Path) -> AuditOptions:
    """As Jepsen's workload writes it."""
    called, lines = ("txn" if run.transactional else "send"), list[str]()

    def add(kind: str, f: str, value: str, process: int, more: str = "") -> None:
        lines.append(f"{{:type :{kind}, :f :{f}, :value {value}, :process {process}, :index {len(lines)}{more}}}\n")

    for one in run.writes:
        sends = [
            (f"[:send {_key(place)} {_value(place, at)}]", f"[:send {_key(place)} [{at} {_value(place, at)}]]")
            for place, offsets in one.offsets.items()
            for at in offsets
        ]
        add("invoke", called, f"[{' '.join(before for before, _ in sends)}]", one.producer)
        add(one.outcome.name.lower(), called, f"[{' '.join(after for _, after in sends)}]", one.producer)
    add("ok", "assign", f"[{' '.join(map(_key, run.given))}]", PRODUCERS, ", :seek-to-beginning? true")
    for place, offsets in run.given.items():
        pairs = " ".join(f"[{offset} {_value(place, offset)}]" for offset in offsets)
        add("ok", "poll", f"[[:poll {{{_key(place)} [{pairs}]}}]]", PRODUCERS)
    path = directory / "history.edn"
    path.write_text("".join(lines))
    return AuditOptions(history=str(path))


def journal(run: ClientRun, directory: Path) -> AuditOptions:
    """As a journal, a line for each record."""
    return _journal(run, directory, "journal.ndjson", counted=False)


def recorded(run: ClientRun, directory: Path) -> AuditOptions:
    """As `eos record` writes a journal: a line for each batch, with its records counted."""
    return _journal(run, directory, "journal", counted=True)


def _journal(run: ClientRun, directory: Path, name: str, *, counted: bool) -> AuditOptions:
    events: list[dict[str, Any]] = [
        {"ev": "producer", "p": f"p{number}", "tid": f"t{number}" if run.transactional else None}
        for number in range(PRODUCERS)
    ]
    ends = {OperationResult.OK: ("commit", True), OperationResult.FAIL: ("abort", True)}
    for number, one in enumerate(run.writes):
        whose = {"p": f"p{one.producer}", "txn": number if run.transactional else None}
        events += [{"ev": "begin", **whose, "ok": True}] if run.transactional else []
        for (topic, partition), offsets in one.offsets.items():
            ack = {"ev": "ack", **whose, "topic": topic, "part": partition}
            for first, count in _batches(offsets) if counted else [(offset, None) for offset in offsets]:
                events.append({**ack, "off": first, **({} if count is None else {"count": count})})
        ended, ok = ends.get(one.outcome, ("commit", False))
        events += [{"ev": ended, **whose, "ok": ok}] if run.transactional else []
    (directory / name).write_text("".join(json.dumps(event) + "\n" for event in events))
    received = [[*place, offset] for place, offsets in run.given.items() for offset in offsets]
    (directory / f"{name}.received").write_text("".join(json.dumps(line) + "\n" for line in received))
    return AuditOptions(history=str(directory / name), received=str(directory / f"{name}.received"))


def _batches(offsets: list[int]) -> list[tuple[int, int]]:
    """First offset and records of each run of offsets that follow each other."""
    found: list[tuple[int, int]] = []
    for offset in offsets:
        if found and offset == sum(found[-1]):
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((offset, 1))
    return found


def tools(run: ClientRun, directory: Path) -> AuditOptions:
    """As Kafka's system tests print it; they name no transactions."""
    folder = directory / "tools"
    folder.mkdir()
    printed: dict[str, list[dict[str, Any]]] = {}
    for one in run.writes:
        for (topic, partition), offsets in one.offsets.items():
            for at in offsets:
                place = {
                    "topic": topic,
                    "partition": partition,
                    "offset": at,
                    "value": str(_value((topic, partition), at)),
                }
                printed.setdefault(f"producer{one.producer}", []).append({"name": "producer_send_success", **place})
    moves = [{"topic": topic, "partition": partition} for topic, partition in run.given]
    consumer: list[dict[str, Any]] = [{"name": "partitions_assigned", "partitions": moves}]
    for (topic, partition), offsets in run.given.items():
        place = {"topic": topic, "partition": partition}
        consumer += (
            {"name": "record_data", **place, "offset": at, "value": str(_value((topic, partition), at))}
            for at in offsets
        )
        summary = {**place, "count": len(offsets), "minOffset": min(offsets), "maxOffset": max(offsets)}
        if len(set(offsets)) == len(offsets):  # no poll has a record twice
            consumer.append({"name": "records_consumed", "count": len(offsets), "partitions": [summary]})
    for name, lines in {**printed, "consumer": consumer}.items():
        (folder / f"{name}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return AuditOptions(history=str(folder))

"""Client histories as places: small stories of what can be wrong with a record or a transaction, many in one history.

Each story has partitions and processes of its own. A history of all stories is judged as it is, with a line missing,
and with readers that see everything; and journals are held against logs in which every answer meets every fate.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Final, TypeAlias

import numpy as np

from model_tests.audit.history_judge import TalliedLog, judge_history
from model_tests.audit.history_log import AttemptTally
from model_tests.histories.anomalies import MEANINGS
from model_tests.histories.as_journal import Acknowledged, ClientJournal, JournalTransaction, ReportedEnd
from model_tests.histories.building import Building
from model_tests.histories.log_order import log_order
from model_tests.histories.operations import OperationResult, Operations
from model_tests.histories.report import judge
from model_tests.mutants.decisions.call_sites import JudgedCall
from spec.judging.judge_clients import ReaderAssignment, RecordFate

Record: TypeAlias = tuple[str, int, int]
"""Key, offset and value."""

OK, INFO, FAIL = OperationResult.OK, OperationResult.INFO, OperationResult.FAIL


@dataclass(slots=True)
class ClientStory:
    """A history while one story after another is added to it."""

    building: Building
    name: str = ""

    def operation(
        self,
        process: str,
        sends: tuple[Record, ...] = (),
        given: tuple[Record, ...] = (),
        outcome: OperationResult = OK,
        atomic: bool = True,
    ) -> None:
        """An operation of a process of the story; keys are of the story, too."""
        began = self.building.tick()
        self.building.tick()
        number = self.building.process(f"{self.name} {process}")
        done = self.building.operation(number, began, outcome, ":txn", began, atomic=atomic)
        for add, records in ((self.building.sends, sends), (self.building.gives, given)):
            for key, offset, value in records:
                add(done, f"{self.name} {key}", offset, f"{self.name} {value}")

    def reader(self, process: str, how: ReaderAssignment, *keys: str, at_start: bool = False) -> None:
        """A reader comes to partitions of the story."""
        number = self.building.process(f"{self.name} {process}")
        if how in (ReaderAssignment.ASSIGN, ReaderAssignment.SUBSCRIBE):
            self.building.begins_anew(number, how, [f"{self.name} {key}" for key in keys], at_start=at_start)
        else:
            self.building.breaks(number, how, ())


def _rows(key: str, *offsets: int) -> tuple[Record, ...]:
    """Records of which the value is the offset."""
    return tuple((key, offset, offset) for offset in offsets)


def sound(story: ClientStory) -> None:
    """All that was sent was given."""
    story.reader("r", ReaderAssignment.ASSIGN, "a", at_start=True)
    story.operation("w", _rows("a", 0, 1))
    story.operation("w", _rows("a", 2, 4))
    story.operation("r", given=_rows("a", 0, 1))
    story.operation("r", given=_rows("a", 2, 4))


def values(story: ClientStory) -> None:
    """A value lies at two offsets: sent once, sent twice, and sent by nobody."""
    story.reader("r", ReaderAssignment.ASSIGN, "a", "b", "c", at_start=True)
    for key in ("a", "b", "b"):
        story.operation("w", ((key, -1, 7),))
    for key in ("a", "b", "c"):
        story.operation("r", given=((key, 1, 7), (key, 2, 8)))
        story.operation("q", given=((key, 3, 7),))


def places(story: ClientStory) -> None:
    """Two readers are given other values at one offset."""
    story.reader("r", ReaderAssignment.ASSIGN, "a", at_start=True)
    story.operation("r", given=_rows("a", 0, 1, 2))
    story.operation("q", given=(("a", 1, 9),))


def acknowledged(story: ClientStory) -> None:
    """Another record is read where one was acknowledged, which is read elsewhere, or there too, or nowhere."""
    story.operation("w", (("a", 1, 5), ("b", 1, 5), ("c", 1, 5), ("d", 1, 5)))
    story.operation("r", given=(("a", 1, 6), ("a", 3, 5), ("b", 1, 6), ("b", 2, 7)))
    story.operation("r", given=(("c", 0, 6), ("c", 3, 5)))
    story.operation("r", given=(("d", 1, 6), ("d", 3, 5)))
    story.operation("q", given=(("d", 1, 5),))


def passed(story: ClientStory) -> None:
    """Records that nobody was given: before, between and behind what was read, and just at its ends."""
    story.operation("w", _rows("a", 0, 2, 4, 6))
    story.operation("r", given=_rows("a", 1, 3, 5))
    story.operation("w", (("b", 1, 1), ("b", 3, 3), ("b", 2, 2)))
    story.operation("r", given=(("b", 1, 11), ("b", 2, 2), ("b", 3, 13)))
    story.reader("s", ReaderAssignment.ASSIGN, "c", at_start=True)
    story.operation("w", _rows("c", 0, 1))
    story.operation("s", given=_rows("c", 1))
    story.operation("w", _rows("d", 0, 1, 2, 3))
    story.operation("r", given=_rows("d", 0, 3))
    story.operation("f", given=_rows("d", 1), outcome=FAIL)
    story.operation("f", given=_rows("d", 2), outcome=INFO)
    story.operation("w", (("e", 1, 1), ("e", -1, 2)), outcome=INFO)
    story.operation("w", (("e", 1, 3), ("e", -1, 4)), outcome=FAIL)
    story.operation("w", (("e", -1, 5), ("e", 9, 6)))


def passed_over(story: ClientStory) -> None:
    """What a group passed over after an abort: with no reader outside of it, and with one before and one behind."""
    for key in ("a", "b", "c"):
        story.reader(key, ReaderAssignment.SUBSCRIBE, key)
        story.operation("w", _rows(key, 0, 1, 2, 3, 4))
        story.operation(key, ((f"out {key}", 0, 100),), _rows(key, 0))
        story.operation(key, ((f"out {key}", -1, 101),), _rows(key, 1, 2), FAIL)
        story.operation(key, ((f"out {key}", 1, 102),), _rows(key, 4))
        story.operation("o", given=((f"out {key}", 0, 100), (f"out {key}", 1, 102)))
    story.operation("q", given=_rows("b", 0, 1))
    story.operation("q", given=_rows("c", 0, 4))
    story.reader("d", ReaderAssignment.SUBSCRIBE, "d")
    story.operation("w", _rows("d", 0, 1, 2))
    story.operation("d", given=_rows("d", 0, 2))
    story.reader("e", ReaderAssignment.SUBSCRIBE, "e")
    story.operation("w", _rows("e", 0, 1, 2, 3, 4))
    story.operation("e", (("out e", -1, 101),), _rows("e", 1, 2), FAIL)
    story.operation("e", (("out e", -1, 102),), _rows("e", 4), FAIL)
    story.operation("e", (("out e", 1, 103),), _rows("e", 3))
    story.operation("o", given=(("out e", 1, 103),))


def aborted(story: ClientStory) -> None:
    """Records of aborted transactions are given: their own, or one that another sent too; to readers that fail."""
    story.operation("w", _rows("a", -1, -1), outcome=FAIL)
    story.operation("w", (("a", -1, 1), ("a", -1, 2), ("a", -1, 3)), outcome=FAIL)
    story.operation("v", (("a", -1, 2),))
    story.operation("u", (("a", -1, 5),), outcome=INFO)
    story.operation("r", given=_rows("a", 1, 2, 5))
    story.operation("f", given=_rows("a", 3), outcome=FAIL)
    story.operation("w", (("b", 0, 0),), (("b", 0, 0),))
    story.operation("w", (("b", 1, 1),), (("b", 0, 0),), atomic=False)


def order(story: ClientStory) -> None:
    """What a process sends lies side by side, apart, before, or at one place; in one operation and in two."""
    for key, pair in {"a": (1, 2), "b": (1, 3), "c": (2, 1), "d": (1, 1)}.items():
        story.operation("o", given=_rows(key, 1, 2, 3))
        story.operation(
            "w", tuple((key, offset, offset if at == 0 or key != "d" else 77) for at, offset in enumerate(pair))
        )
        story.operation(key, ((f"{key}2", pair[0], pair[0]),))
        story.operation(key, ((f"{key}2", pair[1], pair[1] if key != "d" else 77),))
        story.operation("o", given=_rows(f"{key}2", 1, 2, 3))


def reads(story: ClientStory) -> None:
    """What a process is given goes on, skips and goes back, however it came to the partition."""
    for how in ReaderAssignment:
        for name, pair in {"on": (1, 2), "past": (1, 3), "back": (2, 1), "again": (1, 1)}.items():
            key = f"{how.name} {name}"
            story.operation("w", _rows(key, 0, 1, 2, 3, 4))
            story.operation("o", given=_rows(key, 0, 1, 2, 3, 4))
            story.reader(key, how, key)
            story.operation(key, given=_rows(key, pair[0]))
            story.operation(key, given=_rows(key, pair[1]))
            story.reader(f"{key} at once", how, key)
            story.operation(f"{key} at once", given=_rows(key, *pair))
        key = f"{how.name} resumed"
        story.reader(key, how, key)
        story.operation("o", given=_rows(key, 0, 1, 2, 3))
        story.operation(key, given=_rows(key, 0))
        story.operation(key, given=_rows(key, 1, 2), outcome=FAIL)
        story.operation(key, given=_rows(key, 3))


def torn(story: ClientStory) -> None:
    """A part of a transaction is given: committed, aborted, of unknown outcome, and of none."""
    for name, outcome, atomic in (
        ("committed", OK, True),
        ("unknown", INFO, True),
        ("aborted", FAIL, True),
        ("none", OK, False),
    ):
        story.reader(f"r {name}", ReaderAssignment.ASSIGN, name, at_start=True)
        story.operation("w", _rows(name, 0, 1), outcome=outcome, atomic=atomic)
        story.operation("v", _rows(name, 2))
        story.operation(f"r {name}", given=_rows(name, 0, 2))
    story.operation("w", _rows("whole", 0, 1), outcome=FAIL)
    story.operation("r", given=_rows("whole", 0, 1))
    story.operation("w", _rows("unseen", 1, 2))
    story.operation("r", given=_rows("unseen", 1))


def outputs(story: ClientStory) -> None:
    """The output of a transaction is lost that consumed for a group, alone, or not at all."""
    for name, how in (("group", ReaderAssignment.SUBSCRIBE), ("alone", ReaderAssignment.ASSIGN)):
        story.reader("o", ReaderAssignment.ASSIGN, f"out {name}", at_start=True)
        story.operation("w", _rows(name, 0, 1, 2))
        story.reader(name, how, name)
        story.operation(name, _rows(f"out {name}", 0), _rows(name, 0))
        story.operation(name, _rows(f"out {name}", 1), _rows(name, 1), FAIL)
        story.operation(name, _rows(f"out {name}", 2), _rows(name, 1))
        story.operation(name, _rows(f"out {name}", 3), _rows(name, 2))
        story.operation("o", given=_rows(f"out {name}", 2, 3))


def consumed(story: ClientStory) -> None:
    """Transactions of a group consume the same record, its neighbour, or one of them a record twice."""
    story.operation("w", _rows("a", 0, 1, 2, 3, 4))
    story.reader("g", ReaderAssignment.SUBSCRIBE, "a")
    story.operation("g", (("out", 0, 100),), _rows("a", 0, 1))
    story.operation("g", (("out", 1, 101),), _rows("a", 1, 2))
    story.operation("g", (("out", 2, 102),), _rows("a", 3, 3, 4, 4))
    story.operation("o", given=(("out", 0, 100), ("out", 1, 101), ("out", 2, 102)))


STORIES: Final[tuple[Callable[[ClientStory], None], ...]] = (
    *(sound, values, places, acknowledged, passed, passed_over, aborted, order, reads, torn, outputs, consumed),
)


def all_stories() -> Operations:
    """One history with every story."""
    story = ClientStory(Building())
    for add in STORIES:
        story.name = add.__name__
        add(story)
    return story.building.built()


# --- answers that are held against logs ---------------------------------------------------------------------------


HANGING: Final = 8
"""The producer id of which it is known already that its data hangs."""


def held_against_logs() -> frozenset[tuple[object, ...]]:
    """Every answer with every fate in one log, and every two in two logs; two answers for one offset, and for two."""
    fates = [
        (one, other, producer) for one in RecordFate for other in (None, *RecordFate) for producer in (7, HANGING, 9)
    ]
    attempts, tallies = list[JournalTransaction](), (list[AttemptTally](), list[AttemptTally]())
    for answer in ReportedEnd:
        for one, other, producer in fates:
            number = len(attempts)
            attempts.append(JournalTransaction("p", "t" if producer != HANGING else "", number, number, answer))
            for log, fate in enumerate((one, other)):
                if fate is not None:
                    tallies[log].append(AttemptTally(number, fate.value, producer, 10 * number, 10 * number, 1))
    logs = [TalliedLog(log, f"a-{log}", "a", log, tuple(own)) for log, own in enumerate(tallies)]
    acknowledged = {}
    for number, (first, second, distance) in enumerate(product(ReportedEnd, ReportedEnd, (0, 1))):
        pair = np.arange(len(attempts), len(attempts) + 2)
        attempts += [
            JournalTransaction("p", "t", n, 0, end) for n, end in zip(pair.tolist(), (first, second), strict=True)
        ]
        acknowledged["b", number] = Acknowledged(np.array([5, 5 + distance]), pair, np.arange(2))
        logs.append(TalliedLog(len(logs), f"b-{number}", "b", number, ()))
    journal = ClientJournal(tuple(attempts), acknowledged)
    _, found = judge_history(journal, logs, {"t": frozenset({7})}, {(0, HANGING), (1, HANGING)})
    return frozenset((one.rule.id, str(one.severity), log, one.offset) for log, one in found)


# --- places -------------------------------------------------------------------------------------------------------


class ClientsCase:
    """A history, and what is found in it without a mutant."""

    def __init__(self, found: Callable[[], frozenset[tuple[object, ...]]]) -> None:
        """The history is judged when the place is first judged."""
        self._found = found
        self._true: frozenset[tuple[object, ...]] | None = None

    def __call__(self) -> tuple[str, ...]:
        """The rules that are named where they hold, or no longer named where they do not."""
        found = self._found()
        if self._true is None:
            self._true = found
        return tuple(sorted({str(rule) for rule, *_ in found ^ self._true}))


def reported(history: Operations) -> frozenset[tuple[object, ...]]:
    """Rule, class and severity of each case, by its number in the class."""
    return frozenset(
        (MEANINGS[kind].rule.id, kind, number, severity)
        for kind, cases in judge(log_order(history)).items()
        for number, severity in enumerate(cases.severity.tolist())
    )


def client_places() -> Iterator[JudgedCall]:
    """The histories, and the journals that are held against logs."""
    whole = all_stories()
    for name, history in {
        "whole": whole,
        "with a line missing": replace(whole, partial=("a line is missing",)),
        "of readers of everything": replace(whole, read_committed=False),
    }.items():
        yield JudgedCall(f"client history, {name}", ClientsCase(partial(reported, history)))
    yield JudgedCall("journals beside logs", ClientsCase(held_against_logs))

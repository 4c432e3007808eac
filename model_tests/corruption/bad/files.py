"""The bad traces as they are kept: files of one trace each, and what is expected of them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from model_tests.corruption.bad.catalogue import BAD, Bad
from model_tests.corruption.bad.made import MadeTrace, numbered, violations
from model_tests.traces.schema import Row, complete, text_of, write_ndjson

HERE: Final = Path(__file__).parent
TRACES: Final = HERE / "traces"
TWINS: Final = HERE / "twins"
EXPECTED: Final = HERE / "expected.json"

FIRST: Final = 900_000
"""Number of the first bad trace; twins are numbered so much further on."""
TWIN: Final = 1_000  # a twin has the number of its bad trace and so much more; there are fewer bad traces


@dataclass(frozen=True, slots=True)
class ExpectedVerdict:
    """What a check must say of one bad trace.

    Attributes:
        how: what was done.
        origin: the seed that it is from.
        step: the first step that is found false by this rule, and its guard.
    """

    rule: str
    trace: int
    step: int
    guard: str
    how: str
    origin: str

    @property
    def file(self) -> Path:
        """The bad trace."""
        return TRACES / f"{self.rule}.ndjson.gz"

    @property
    def twin(self) -> Path:
        """The true trace."""
        return TWINS / f"{self.rule}.ndjson.gz"


def expected() -> tuple[ExpectedVerdict, ...]:
    """What is expected, rule by rule."""
    return tuple(ExpectedVerdict(**each) for each in json.loads(EXPECTED.read_text(encoding="utf-8")))


def rows_of(file: Path) -> list[Row]:
    """The rows of a file; columns that were added since are absent."""
    with text_of(file) as lines:
        return [complete(json.loads(line)) for line in lines]


def make_all(only: Sequence[str] = ()) -> Iterator[ExpectedVerdict]:
    """Make the bad traces anew and write them, all or those of some rules; then what is expected of all."""
    kept = {each.rule: each for each in expected()} if EXPECTED.exists() else {}
    for directory in (TRACES, TWINS):
        directory.mkdir(exist_ok=True)
    for number, bad in enumerate(BAD):
        if bad.rule.id in only or not only or bad.rule.id not in kept:
            kept[bad.rule.id] = _write(bad, bad.make(bad.rule), FIRST + number)
            _note([kept[other.rule.id] for other in BAD if other.rule.id in kept])
            yield kept[bad.rule.id]
    (HERE / "README.md").write_text(readme(), encoding="utf-8")


def _note(known: Sequence[ExpectedVerdict]) -> None:
    reported = json.dumps([asdict(each) for each in known], indent=1, ensure_ascii=False)
    EXPECTED.write_text(f"{reported}\n", encoding="utf-8")


def _write(bad: Bad, made: MadeTrace, number: int) -> ExpectedVerdict:
    false, true = numbered(made.rows, number), numbered(made.true, number + TWIN)
    found = [violation for violation in violations(false) if violation.rule == bad.rule.id]
    if not found or violations(true):
        raise ValueError(f"{bad.rule.id}: the trace or its twin is not judged as it should be")
    reported = ExpectedVerdict(bad.rule.id, number, found[0].step, found[0].guard, bad.how, made.origin)
    write_ndjson(false, reported.file)
    write_ndjson(true, reported.twin)
    return reported


def readme() -> str:
    """The text beside the files."""
    lines = (HERE / "about.md").read_text(encoding="utf-8")
    rows = (
        f"| `{each.rule}` | {each.trace} | {each.step} | `{each.guard}` | {each.how} | {each.origin} |"
        for each in expected()
    )
    head = "| rule | trace | step | guard | what was done | from |\n| --- | --- | --- | --- | --- | --- |"
    return "\n".join((lines.rstrip(), "", head, *rows, ""))

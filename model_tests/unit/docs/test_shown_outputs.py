"""What the front page and the guides show of a command's output is what the command prints."""

import io
import lzma
from itertools import chain
from pathlib import Path
from typing import Final

import pytest
from rich.console import Console
from typer.testing import CliRunner

from model_tests.audit.recorded import unpacked
from model_tests.audit.run import run
from model_tests.cli import app
from model_tests.unit.docs.consoles import blocks, not_printed, output_of
from model_tests.unit.docs.extensions import DOCS
from model_tests.unit.source_files import ROOT
from spec import rules
from spec.algebra import negate
from spec.bugs.catalogue import BUGS
from spec.protocol import blocks as claims
from spec.protocol.guards import Guard
from spec.versions import Profile
from spec.vocabulary import ErrorCode

README: Final = ROOT / "README.md"
TUTORIAL: Final = DOCS / "tutorial.md"
GUIDES: Final = DOCS / "howto"
RECORDINGS: Final = "model_tests/conform/recordings"
EOS: Final = ".venv/bin/eos"


def printed(*words: str) -> str:
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "100"}).output


@pytest.mark.parametrize(("page", "bug"), [(README, "KAFKA-15784"), (TUTORIAL, "KAFKA-17754")])
def test_what_is_shown_of_a_bug_is_printed(page: Path, bug: str) -> None:
    """The counterexample, and what the reference does."""
    shown = output_of(page, f"{EOS} bugs {bug}")

    assert shown
    assert [] == not_printed(shown, printed("bugs", bug))


def test_what_is_shown_of_a_scenario_is_printed() -> None:
    """What must come of it, and what came."""
    name = "lost-acknowledgement-idempotent"
    shown = output_of(README, f"{EOS} scenarios {name}")

    assert shown
    assert [] == not_printed(shown, printed("scenarios", name))


def test_what_is_shown_of_sessions_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many steps of a family agree."""
    monkeypatch.chdir(ROOT)
    shown = [output_of(page, f"{EOS} conform {RECORDINGS} --family P") for page in (README, TUTORIAL)]

    assert all(shown)
    assert [] == not_printed(chain(*shown), printed("conform", RECORDINGS, "--family", "P"))


def test_what_is_shown_of_an_audit_is_printed() -> None:
    """The finding on the front page, and what the tutorial shows, are of a bundled log."""
    shown = [output_of(README, f"{EOS} audit /var/lib/kafka/data"), output_of(TUTORIAL, f"{EOS} audit build/log")]
    console = Console(file=io.StringIO(), width=80)

    with unpacked() as directory:
        run([str(directory / "kafka-4.0-tv2")]).print(console)

    assert all(shown)
    assert isinstance(console.file, io.StringIO)
    assert [] == not_printed(chain(*shown), console.file.getvalue())


def test_the_tutorial_unpacks_a_log_that_is_there() -> None:
    """The file that it names is among the recordings."""
    [unpacking] = [line for block in blocks(TUTORIAL) for line in block.splitlines() if line.startswith("$ tar ")]

    assert (ROOT / unpacking.split()[3]).is_file()


def test_the_command_for_a_rule_prints_it() -> None:
    """The rule that the front page names is there, with the evidence shown, and so is that of the tutorial."""
    assert output_of(README, f"{EOS} rules seq.duplicate_window") == []
    reported = printed("rules", "seq.duplicate_window")
    shown = output_of(TUTORIAL, f"{EOS} rules txn.no_crosstalk")
    assert shown
    assert [] == not_printed(shown, printed("rules", "txn.no_crosstalk"))

    assert all(word in reported for word in ("statement", "source", "domain", "evidence"))


def test_the_front_page_counts_the_bugs_that_are_found() -> None:
    """The number on the front page is that of the catalogue."""
    assert f"**{len(BUGS)} known bugs" in README.read_text(encoding="utf-8")


def test_a_changed_answer_disagrees_as_the_guide_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide's own session, and what is reported when the broker is wrong."""
    page, session = GUIDES / "own-traces.md", tmp_path / "session.ndjson"
    recorded = ROOT / RECORDINGS / "3.9-tv0-A.ndjson.xz"
    with lzma.open(recorded, "rt") as lines:
        first = next(lines)
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    agreed, _, disagreed = text.partition("Now let the broker be wrong.")

    for part, written in ((agreed, first), (disagreed, first.replace('"producer_epoch":0', '"producer_epoch":1', 1))):
        session.write_text(written)
        (tmp_path / "part.md").write_text(part)
        shown = output_of(tmp_path / "part.md", f"{EOS} conform session.ndjson")
        assert shown
        assert [] == not_printed(shown, printed("conform", "session.ndjson"))


def test_steps_written_by_hand_are_judged_as_the_guide_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide's own two steps, and what is reported when the second one's error is taken away."""
    text = (GUIDES / "own-traces.md").read_text(encoding="utf-8")
    written = text.partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    exec(written, {})  # the page's own code
    steps = tmp_path / "steps.ndjson"
    refused, _, broken = text.partition("Let the broker answer the second batch")

    for part, error in ((refused, 45), (broken, 0)):
        steps.write_text(steps.read_text().replace('"error":45', f'"error":{error}'))
        (tmp_path / "part.md").write_text(part)
        shown = output_of(tmp_path / "part.md", f"{EOS} replay steps.ndjson")
        assert len(shown) == 2
        assert [] == not_printed(shown, printed("replay", "steps.ndjson"))


def test_the_proof_fails_as_the_guide_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the comparison of versions two brokers hand out the same id, in the steps that are shown."""

    def without_version(
        record: claims.BlockRecord, read: claims.BlockRecord, size: int, profile: Profile, largest: int
    ) -> tuple[Guard, ...]:
        exhausted, _ = guards(record, read, size, profile, largest)
        again = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS.value
        return exhausted, Guard("raced", rules.IDS_UNIQUE, negate(read.first >= 0), again)

    guards = claims.guards
    monkeypatch.setattr(claims, "guards", without_version)
    reported = " ".join(printed("prove", "ids.unique").split())

    text = (GUIDES / "failed-proof.md").read_text(encoding="utf-8")
    shown = text.partition("```text\n")[2].partition("```")[0].split("ids.unique: ")
    lines = [" ".join(line.split()) for part in shown for line in part.partition(" ...")[0].split("\nburnt")]
    assert "no_id_twice is violated after" in " ".join(lines)
    assert [] == [line for line in lines if line not in reported]
    assert "burnt is never reached" in reported

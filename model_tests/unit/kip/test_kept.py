"""The verdicts that the pages show are those of the command: kept beside each variant, and found again here."""

import json
from typing import Any, Final

import pytest

from model_tests.kip.command import KipReport, run
from model_tests.unit.kip.variants import IN_ONE_WORKER, KIPS, found_in, shown
from spec.systems.transactions.controls import CONTROLS

pytestmark = IN_ONE_WORKER

NAMES: Final = sorted(file.stem for file in KIPS.glob("*.py"))
RENEW: Final = "run eos kip docs/kips/NAME.py --json docs/kips/NAME.json again"


def kept(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((KIPS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def test_there_are_variants_with_a_page_and_a_verdict_each() -> None:
    """None is left out, and no verdict or page is of nothing."""
    assert len(NAMES) > 5
    assert NAMES == sorted(file.stem for file in KIPS.glob("*.json"))
    assert NAMES == sorted(file.stem for file in KIPS.glob("*.md"))


@pytest.mark.parametrize("name", NAMES)
def test_the_kept_searches_are_found_again(name: str) -> None:
    """Verdicts, numbers of states, and every run."""
    variant = shown(name)
    results = tuple(found_in(name, each.name) for each in variant.instances)

    again = KipReport(variant, None, None, results, None).to_json()

    assert kept(name)["instances"] == json.loads(json.dumps(again["instances"])), RENEW
    assert (kept(name)["sentence"], kept(name)["compared_with"]) == (again["sentence"], again["compared_with"])


def test_each_rests_on_every_control() -> None:
    """A control of the release is one of every variant."""
    names = [each.name for each in CONTROLS]

    assert all(names == [each["name"] for each in kept(name)["controls"]] for name in NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_whole_verdict_is_found_again(name: str) -> None:
    """Facts, proof and controls, too: every part that is kept."""
    parts = {"facts": "facts", "proof": "proof", "instances": "searches", "controls": "controls"}
    requested = ",".join(part for key, part in parts.items() if kept(name)[key] is not None)

    report = run(KIPS / f"{name}.py", only=requested)

    assert kept(name) == json.loads(json.dumps(report.to_json())), RENEW

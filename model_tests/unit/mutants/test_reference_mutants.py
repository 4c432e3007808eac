"""Every defect planted in the reference is caught by the rule that it breaks, and the true reference is not."""

import pytest

from model_tests.machines.idempotence import IDEMPOTENCE_RULES
from model_tests.mutants import on_spark
from model_tests.mutants.defects.planted import Patch, Planted
from model_tests.mutants.part import caught, survival, true_reference
from model_tests.mutants.reference import PLANTED, hunt
from model_tests.unit.mutants.few import few
from reference.log.producer_append import ProducerAppend
from spec import rules


@pytest.mark.parametrize("planted", few(PLANTED, 5))
def test_a_defect_is_caught_by_its_rule(planted: Planted) -> None:
    """An invariant of the rule that the defect breaks sees it."""
    found = hunt(planted)

    assert caught(found), survival(found)


def test_the_true_reference_survives() -> None:
    """Where the defects are caught, nothing is wrong without them."""
    _, failures = true_reference(runs=25)

    assert () == failures


def test_every_rule_has_a_defect_that_breaks_it() -> None:
    """An invariant that no defect can break shows nothing."""
    assert set() == set(IDEMPOTENCE_RULES) - {planted.rule for planted in PLANTED}


def test_names_are_unique() -> None:
    """A survivor is found by its name."""
    names = [planted.name for planted in PLANTED]

    assert sorted(set(names)) == sorted(names)


def test_a_defect_is_gone_afterwards() -> None:
    """Planting leaves nothing behind, even after an error."""
    before = ProducerAppend.evict
    planted = Planted("nothing", rules.SEQ_FIRST, (Patch(ProducerAppend, "evict", None),))

    with pytest.raises(ZeroDivisionError), planted.in_place():
        raise ZeroDivisionError

    assert before is ProducerAppend.evict


def test_a_survivor_is_reported_by_name() -> None:
    """A change that breaks nothing is reported as a survivor."""
    found = hunt(Planted("harmless", rules.SEQ_ORDER, ()), range(3))

    assert not caught(found)
    assert "mutant survives: harmless breaks seq.order, which did not see it; seen by nothing" == survival(found)


def test_a_guard_that_no_reading_sees_broken_has_not_been_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reading that stays green makes the broken guard a survivor."""
    monkeypatch.setattr(on_spark, "MACHINE_RUNS", 2)

    blind = on_spark.broken_guard(Planted("nothing", rules.SEQ_SUCCESSOR, ()), on_spark=False)

    assert not blind.killed

import random

import pytest
import z3

from spec.algebra import all_of, any_of, choose, implies, negate
from spec.engines.reading_z3 import (
    INTEGERS,
    WIDE,
    Numbers,
    evaluate,
    evaluate_record,
    fitted,
    symbolic,
    without_integers,
)
from spec.protocol.append import append
from spec.protocol.records import AppendRequest, ProducerEntry, build, flatten, scalars
from spec.versions import NEWEST
from spec.vocabulary import MAX_SEQUENCE

READINGS = pytest.mark.parametrize("numbers", [INTEGERS, WIDE], ids=["integers", "bit-vectors"])


def drawn(chance: random.Random, name: str, kind: type) -> bool | int:
    if kind is bool:
        return chance.random() < 0.2
    if name in ("origin", "record_count", "batch_count"):
        return 1 if name != "origin" else 0
    return chance.choice([-1, 0, 1, 2, 5, MAX_SEQUENCE - 1, MAX_SEQUENCE])


@READINGS
def test_the_decision_is_the_same_in_the_solver_as_in_python(numbers: Numbers) -> None:
    """Random records, with the largest sequence and sentinels among them, get the same answer and entry."""
    terms = append(symbolic(ProducerEntry, numbers), symbolic(AppendRequest, numbers), NEWEST)
    names = {**dict(scalars(ProducerEntry)), **dict(scalars(AppendRequest))}
    chance = random.Random(7)

    for _ in range(20):
        values = {name: drawn(chance, name, bool if kind is bool else int) for name, kind in names.items()}
        entry, request = build(ProducerEntry, values.__getitem__), build(AppendRequest, values.__getitem__)
        expected = append(entry, request, NEWEST)

        assert expected.entry == evaluate_record(terms.entry, values, numbers)
        assert bool(expected.reply.appended) == evaluate(terms.reply.appended, values, numbers)
        assert expected.branch == evaluate(terms.branch, values, numbers)


def test_the_connectives_take_terms() -> None:
    """Connectives of facts of the solver are facts of the solver."""
    p, q = z3.Bools("p q")

    formula = implies(all_of(p, q), any_of(p, negate(q)))

    assert evaluate(formula, {"p": True, "q": False}) is True
    assert evaluate(choose(p, 1, 2), {"p": False}) == 2


def test_a_python_value_is_its_own_value() -> None:
    """A decision folded to a constant needs no solver."""
    assert evaluate(True, {}) is True
    assert evaluate(3, {}) == 3


def test_a_term_with_unknown_constants_has_no_value() -> None:
    """An unassigned constant is an error, not a guess."""
    with pytest.raises(ValueError, match="not a literal"):
        evaluate(z3.Int("x") + 1, {})


def test_a_symbolic_record_has_a_constant_for_each_scalar() -> None:
    """Names are those of the trace schema after the prefix."""
    request = symbolic(AppendRequest, prefix="asked.")

    assert ["asked." + name for name, _ in scalars(AppendRequest)] == [str(term) for _, term in flatten(request)]


def test_a_choice_of_numbers_takes_the_width_of_what_it_stands_beside() -> None:
    """Python's numbers have none of their own."""
    first, second, wide = z3.Bool("first"), z3.Bool("second"), z3.BitVec("wide", 5)

    mixed = choose(first, wide, choose(second, 2, 3))

    assert z3.BitVecSort(5) == mixed.sort()
    assert z3.BitVecSort(5) == fitted(choose(first, 1, 0), wide.sort()).sort()
    assert z3.BitVecSort(5) == fitted(choose(first, 1, choose(second, 2, 3)) + 1, wide.sort()).sort()
    assert wide is fitted(wide, wide.sort())


@pytest.mark.parametrize("compared", [lambda a, b: a == b, lambda a, b: a < b, lambda a, b: a >= b])
def test_comparing_choices_is_choosing_comparisons(compared: object) -> None:
    """The formula has no integer left, and is the same for every value of the conditions."""
    facts = [z3.Bool(name) for name in "abc"]
    left, right = choose(facts[0], 1000, choose(facts[1], -1, 4)), choose(facts[2], choose(facts[0], 4, 7), -1)
    summed = compared(left + 1, 2 - right + left)  # type: ignore[operator]
    formula = any_of(compared(left, right), all_of(facts[1], left == 4), all_of(facts[2], summed))  # type: ignore[operator]

    (rewritten,) = without_integers([formula])

    solver = z3.Solver()
    solver.add(negate(rewritten == formula))
    assert z3.unsat == solver.check()
    assert "1000" not in str(rewritten)

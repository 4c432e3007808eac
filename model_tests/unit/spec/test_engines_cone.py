import z3

from spec.engines.bmc import Relation, narrowed, simplified

STILL, COUNTED, COPIED, UNASKED = (z3.BitVec(name, 5) for name in ("still", "counted", "copied", "unasked"))
NUMBER = [z3.BitVecVal(number, 5) for number in range(4)]


def relation(request: object) -> Relation:
    """`still` stays 1 as it only ever adds itself less 1; `counted` counts on by it; `copied` follows `counted`."""
    return Relation(
        guard=COUNTED < 9,
        before=[STILL, COUNTED, COPIED, UNASKED],
        initial=[NUMBER[1], NUMBER[0], NUMBER[0], NUMBER[0]],
        after=[STILL + STILL - 1, COUNTED + STILL, COUNTED, UNASKED + COPIED],
        claims=[request],
    )


def test_what_never_changes_has_its_value_and_what_nothing_asks_about_is_gone() -> None:
    """The guard speaks of one scalar, and the question of none that depends on another."""
    seen = narrowed(relation(COUNTED == 7))

    assert [COUNTED] == list(seen.before)
    assert [NUMBER[0]] == list(seen.initial)
    assert seen.after[0].eq(z3.simplify(COUNTED + 1))


def test_what_is_asked_about_keeps_what_it_depends_on() -> None:
    """Through any number of steps."""
    seen = narrowed(relation(z3.And(UNASKED == 7, STILL == 1)))

    assert [COUNTED, COPIED, UNASKED] == list(seen.before)
    assert seen.claims[0].eq(z3.simplify(UNASKED == 7))


def test_terms_are_simplified_together() -> None:
    """Each is what it would be alone, in the same order."""
    terms = [STILL + 0, COUNTED <= COUNTED, STILL + COUNTED]

    one, two, three = simplified(terms, [(STILL, NUMBER[2])])

    assert one.eq(NUMBER[2])
    assert z3.is_true(two)
    assert three.eq(z3.simplify(COUNTED + 2))

from model_tests.conformance.symbols import STRANGERS, Symbols


def test_an_id_that_no_broker_handed_out_gets_a_number_of_its_own() -> None:
    """A symbol that first appears in a request is an id that the client made up."""
    symbols = Symbols()

    first, again, other = symbols.number("pid0"), symbols.number("pid0"), symbols.number("pid1")

    assert first == again == STRANGERS
    assert other != first
    assert symbols.symbol(first) == "pid0"


def test_none_stays_none() -> None:
    """-1 is no id."""
    symbols = Symbols()

    symbols.meet("pid0", -1)

    assert symbols.number(-1) == -1
    assert symbols.symbol(-1) == -1


def test_symbols_and_numbers_are_one_to_one() -> None:
    """A number handed out twice keeps its first symbol, so that the second is a difference."""
    symbols = Symbols()

    symbols.meet("pid0", 7)
    symbols.meet("pid1", 7)
    symbols.meet("pid0", 8)

    assert symbols.symbol(7) == "pid0"
    assert symbols.symbol(8) == 8

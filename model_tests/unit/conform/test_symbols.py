from model_tests.conform.compare import STRANGERS, Symbols


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

    symbols.meet(-1)

    assert symbols.number(-1) == -1
    assert symbols.symbol(-1) == -1


def test_ids_are_named_in_the_order_of_their_appearance() -> None:
    """What a client made up counts too; an id handed out twice keeps its first symbol."""
    symbols = Symbols()

    symbols.meet(7)
    made_up = symbols.number("pid1")
    symbols.meet(9)
    symbols.meet(7)

    assert [symbols.symbol(number) for number in (7, made_up, 9)] == ["pid0", "pid1", "pid2"]
    assert symbols.number("pid2") == 9


def test_a_symbol_that_is_taken_is_given_to_no_other() -> None:
    """An id for which there is no symbol in order stays a bare number, which no recording has."""
    symbols = Symbols()
    symbols.number("pid1")

    symbols.meet(7)

    assert symbols.symbol(7) == 7

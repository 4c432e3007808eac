"""Producer ids by their symbols: a recording knows ids only by equality, each side has its own numbers."""

from typing import Final

from model_tests.conformance.requests import Named

STRANGERS: Final = 1 << 40
"""Number of the first id that no broker handed out: a client made it up."""


class Symbols:
    """Which number stands for which symbol, one to one, for one side of one session."""

    def __init__(self) -> None:
        """Nothing is named yet."""
        self._numbers: dict[str, int] = {}
        self._symbols: dict[int, str] = {}

    def number(self, named: Named) -> int:
        """The number of a symbol; one that was never handed out stands for an id that a client made up."""
        if isinstance(named, int):
            return named
        if named not in self._numbers:
            self._name(named, STRANGERS + len(self._numbers))
        return self._numbers[named]

    def symbol(self, number: int) -> Named:
        """The symbol of a number; the number itself if it has none, and -1 for none."""
        return self._symbols.get(number, number)

    def meet(self, number: int) -> None:
        """Give an id that a side has just handed out the next symbol, if it is a new one.

        Symbols count the ids of a session in the order in which they appeared, in requests and answers.
        """
        symbol = f"pid{len(self._numbers)}"
        if number >= 0 and number not in self._symbols and symbol not in self._numbers:
            self._name(symbol, number)

    def _name(self, symbol: str, number: int) -> None:
        self._numbers[symbol] = number
        self._symbols[number] = symbol

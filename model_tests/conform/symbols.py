"""Producer and member ids by their symbols: a recording knows ids only by equality, each side has its own."""

from typing import Final

from model_tests.conform.requests import Named

STRANGERS: Final = 1 << 40
"""Number of the first id that no broker handed out: a client made it up."""


class Symbols:
    """Which number stands for which symbol, one to one, for one side of one session."""

    def __init__(self) -> None:
        """Nothing is named yet."""
        self._numbers: dict[str, int] = {}
        self._members: dict[str, str] = {}
        self._symbols: dict[Named, str] = {}

    def number(self, named: Named) -> int:
        """The number of a symbol; one that was never handed out stands for an id that a client made up."""
        if isinstance(named, int):
            return named
        if named not in self._numbers:
            self._name(named, STRANGERS + len(self._numbers))
        return self._numbers[named]

    def member(self, symbol: str) -> str:
        """The member id that a symbol stands for; one that was never handed out is the id itself."""
        return self._members.get(symbol, symbol)

    def symbol(self, known: Named) -> Named:
        """The symbol of a number or of a member id; itself if it has none, and -1 for none."""
        return self._symbols.get(known, known)

    def meet(self, number: int) -> None:
        """Give an id that a side has just handed out the next symbol, if it is a new one.

        Symbols count the ids of a session in the order in which they appeared, in requests and answers.
        """
        symbol = f"pid{len(self._numbers)}"
        if number >= 0 and number not in self._symbols and symbol not in self._numbers:
            self._name(symbol, number)

    def meet_member(self, member: str) -> None:
        """Give a member id that a side has just handed out the next symbol, if it is a new one."""
        if member and member not in self._symbols:
            self._symbols[member] = f"member{len(self._members)}"
            self._members[self._symbols[member]] = member

    def _name(self, symbol: str, number: int) -> None:
        self._numbers[symbol] = number
        self._symbols[number] = symbol

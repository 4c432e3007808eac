"""The tape of choices: the one source of all chance, so that a run is rebuilt from its tape alone.

Every choice is an integer below a bound. Where the integers come from is the reel's business: a seed, a recorded
list, or Hypothesis (which can then shrink them). The choices of a `ScriptedTape` are values that a script names. The
tape keeps what was drawn.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from struct import Struct
from typing import Final, Generic, Protocol, TypeVar

from reference.errors import Impossible

Choice = TypeVar("Choice")

_WORD: Final = 2**64
_GAMMA: Final = 0x9E3779B97F4A7C15
"""The increment of SplitMix64: 2**64 divided by the golden ratio, made odd."""

_BLOCK: Final = 256
_LANES: Final = Struct("<" + "Q8x" * _BLOCK)
"""So many words in one integer, each in a lane of 128 bits, so that a product with another word stays in its lane."""

_ONES: Final = sum(1 << (128 * lane) for lane in range(_BLOCK))
_LOW: Final = _ONES * (_WORD - 1)  # the word in each lane, without the upper half of a product
_STEPS: Final = sum(((lane + 1) * _GAMMA % _WORD) << (128 * lane) for lane in range(_BLOCK))


class Reel(Protocol):
    """Where a tape's integers come from."""

    def below(self, bound: int) -> int:
        """An integer in 0 .. bound-1."""
        ...


class SeededReel:
    """SplitMix64: the same numbers from the same seed under every Python version and hash seed."""

    __slots__ = ("_word",)

    def __init__(self, seed: int) -> None:
        """A reel of the numbers that follow from `seed`."""
        self._word = chain.from_iterable(_blocks(seed % _WORD)).__next__

    def below(self, bound: int) -> int:
        """An integer in 0 .. bound-1, by multiplying the next 64 bits into the range."""
        return (self._word() * bound) >> 64


def _blocks(state: int) -> Iterator[tuple[int, ...]]:
    """The words of SplitMix64 that follow from a state, a block at a time: every lane is mixed at once."""
    while True:
        mixed = (_STEPS + state * _ONES) & _LOW
        mixed = ((mixed ^ (mixed >> 30 & _LOW)) * 0xBF58476D1CE4E5B9) & _LOW
        mixed = ((mixed ^ (mixed >> 27 & _LOW)) * 0x94D049BB133111EB) & _LOW
        mixed ^= mixed >> 31 & _LOW
        yield _LANES.unpack(mixed.to_bytes(_LANES.size, "little"))
        state = (state + _BLOCK * _GAMMA) % _WORD


class RecordedReel:
    """Plays a recorded list; past its end every choice is 0, so that a shortened tape still plays."""

    __slots__ = ("_choices", "_position")

    def __init__(self, choices: Sequence[int]) -> None:
        """A reel that plays `choices`."""
        self._choices = choices
        self._position = 0

    def below(self, bound: int) -> int:
        """The next recorded integer, brought into the range if the run has changed."""
        if self._position == len(self._choices):
            return 0
        self._position += 1
        return self._choices[self._position - 1] % bound


class DrawnReel:
    """Asks a function, as `lambda bound: data.draw(st.integers(0, bound - 1))` of a Hypothesis test."""

    __slots__ = ("_draw",)

    def __init__(self, draw: Callable[[int], int]) -> None:
        """A reel of what `draw` answers."""
        self._draw = draw

    def below(self, bound: int) -> int:
        """What the function answers for `bound`."""
        return self._draw(bound)


class NumberReel:
    """One number, taken apart into as many small choices as are wanted; 0 is the simplest."""

    __slots__ = ("_left",)

    def __init__(self, number: int) -> None:
        """A reel of the choices in `number`; once it is used up they are 0."""
        self._left = number

    def below(self, bound: int) -> int:
        """The remainder of what is left, by `bound`."""
        self._left, choice = divmod(self._left, bound)
        return choice


class Tape:
    """Choices in the order in which a run makes them; `drawn` is the recorded tape."""

    __slots__ = ("_next", "drawn")

    def __init__(self, reel: Reel) -> None:
        """A tape that takes its integers from `reel`."""
        self._next = reel.below
        self.drawn: list[int] = []

    @classmethod
    def seeded(cls, seed: int) -> "Tape":
        """A tape generated from `seed`."""
        return cls(SeededReel(seed))

    @classmethod
    def of_number(cls, number: int) -> "Tape":
        """A tape of the choices that one number is taken apart into."""
        return cls(NumberReel(number))

    @classmethod
    def recorded(cls, choices: Sequence[int]) -> "Tape":
        """A tape that plays `choices` again."""
        return cls(RecordedReel(choices))

    @classmethod
    def drawing(cls, draw: Callable[[int], int]) -> "Tape":
        """A tape whose integers below a bound come from `draw(bound)`."""
        return cls(DrawnReel(draw))

    def below(self, bound: int) -> int:
        """An integer in 0 .. bound-1; 0 is the simplest choice."""
        if bound <= 1:
            return 0
        choice = self._next(bound)
        self.drawn.append(choice)
        return choice

    def between(self, low: int, high: int) -> int:
        """An integer in low .. high."""
        return low + self.below(high - low + 1)

    def pick(self, options: Sequence[Choice]) -> Choice:
        """One of the options; the first is the simplest."""
        return options[self.below(len(options))]

    def happens(self, per_thousand: int) -> bool:
        """Whether something happens that happens `per_thousand` times in a thousand; 0 on the tape is no."""
        return per_thousand > 0 and self.below(1000) >= 1000 - per_thousand

    def weighted(self, options: Sequence[tuple[Choice, int]]) -> Choice:
        """One of the options, each as likely as its weight says."""
        left = self.below(sum(weight for _, weight in options))
        for option, weight in options:
            if left < weight:
                return option
            left -= weight
        return options[-1][0]


class ImpossibleChoice(Impossible):
    """A choice made by hand is not among those that there are."""


class ScriptedTape(Tape):
    """A tape whose choices are made by hand, as values: each draw takes the next one.

    A draw with one option takes none. What happens by chance happens only where the script says so. `drawn` is the
    tape that plays the same choices again.
    """

    __slots__ = ("_choices", "_happening", "_unused")

    def __init__(self, choices: Sequence[object], happening: Sequence[int] = ()) -> None:
        """A tape of choices.

        Args:
            choices: the values, in the order of the draws: options, and integers below a bound or in a range.
            happening: rates, per thousand, of what happens by chance.
        """
        super().__init__(self)
        self._choices = list(choices)
        self._happening = frozenset(happening)
        self._unused = set(happening)

    def below(self, bound: int) -> int:
        """The next choice, an integer in 0 .. bound-1.

        Raises:
            ImpossibleChoice: it is not.
        """
        return self.pick(range(bound))

    def between(self, low: int, high: int) -> int:
        """The next choice, an integer in low .. high.

        Raises:
            ImpossibleChoice: it is not.
        """
        return self.pick(range(low, high + 1))

    def pick(self, options: Sequence[Choice]) -> Choice:
        """The option that is the next choice.

        Raises:
            ImpossibleChoice: it is none of the options, or there is no choice left.
        """
        place = 0
        if self._choices and self._choices[0] in options:
            place = options.index(self._choices.pop(0))
        elif len(options) != 1:
            chosen = repr(self._choices[0]) if self._choices else "nothing"
            raise ImpossibleChoice(f"{chosen} is chosen, which is none of {list(options)}")
        if len(options) > 1:
            self.drawn.append(place)
        return options[place]

    def happens(self, per_thousand: int) -> bool:
        """Whether the script says that what has this rate happens."""
        happens = per_thousand in self._happening
        self._unused.discard(per_thousand)
        if per_thousand > 0:
            self.drawn.append(999 if happens else 0)
        return happens

    def end(self) -> None:
        """All choices have been taken.

        Raises:
            ImpossibleChoice: one is left, or nothing had its rate.
        """
        if self._choices or self._unused:
            raise ImpossibleChoice(f"nothing was to be chosen for {[*self._choices, *sorted(self._unused)]}")


class Weighted(Generic[Choice]):
    """Options with weights that stay as they are, so that a choice among them is one draw and one search.

    Attributes:
        total: the sum of the weights.
    """

    __slots__ = ("_options", "_sums", "total")

    def __init__(self, options: Iterable[tuple[Choice, int]]) -> None:
        """The options with a weight above zero, the simplest first."""
        likely = [(option, weight) for option, weight in options if weight > 0]
        self._options = tuple(option for option, _ in likely)
        self._sums = tuple(accumulate(weight for _, weight in likely))
        self.total = self._sums[-1]

    def pick(self, tape: Tape) -> Choice:
        """One of the options, each as likely as its weight says."""
        return self._options[bisect_right(self._sums, tape.below(self.total))]

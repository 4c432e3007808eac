from hypothesis import given
from hypothesis import strategies as st

from reference.tape import SeededReel, Tape, Weighted


def test_a_seed_gives_the_same_numbers_everywhere() -> None:
    """The generator is SplitMix64, whose first outputs for seed 0 are published."""
    reel = SeededReel(0)

    assert [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4] == [reel.below(2**64), reel.below(2**64)]


@given(st.integers())
def test_words_that_are_mixed_together_are_those_that_are_mixed_alone(seed: int) -> None:
    """The generator by its definition, past the end of a block."""
    reel, word = SeededReel(seed), 2**64

    for place in range(1, 600):
        alone = (seed + place * 0x9E3779B97F4A7C15) % word
        alone = (alone ^ (alone >> 30)) * 0xBF58476D1CE4E5B9 % word
        alone = (alone ^ (alone >> 27)) * 0x94D049BB133111EB % word
        assert alone ^ (alone >> 31) == reel.below(word)


@given(st.integers(), st.lists(st.integers(1, 1000), max_size=30))
def test_a_recorded_tape_makes_the_same_choices(seed: int, bounds: list[int]) -> None:
    """What a tape drew, played again, is the same run."""
    tape = Tape.seeded(seed)
    first = [tape.below(bound) for bound in bounds]

    again = Tape.recorded(tape.drawn)

    assert first == [again.below(bound) for bound in bounds]


def test_past_its_end_a_tape_makes_the_simplest_choice() -> None:
    """A tape cut short still plays: first option, no fault."""
    tape = Tape.recorded([])

    assert "first" == tape.pick(["first", "second"])
    assert not tape.happens(999)
    assert "a" == tape.weighted([("a", 1), ("b", 5)])


@given(st.data())
def test_hypothesis_can_be_the_tape(data: st.DataObject) -> None:
    """Choices drawn by Hypothesis stay within their bounds."""
    tape = Tape.drawing(lambda bound: data.draw(st.integers(0, bound - 1)))

    assert 3 <= tape.between(3, 9) <= 9


def test_options_are_chosen_by_their_weights() -> None:
    """Each as often as its weight; one without weight never, and the first is the simplest."""
    options = Weighted([("often", 30), ("never", 0), ("seldom", 10)])
    tape = Tape.seeded(5)

    chosen = [options.pick(tape) for _ in range(2000)]

    assert {"often", "seldom"} == set(chosen)
    assert 1400 < chosen.count("often") < 1600
    assert ("often", 40) == (options.pick(Tape.recorded([])), options.total)

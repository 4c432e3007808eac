"""A failing tape is made small while it fails, and never past its time."""

from collections.abc import Sequence

from model_tests.monitor.runs import Failure, Size, run_of, shrunk
from model_tests.mutants.reference import PLANTED
from model_tests.simulate.simulate import WORKLOADS
from reference.tape import Tape

GAP = next(planted for planted in PLANTED if planted.name == "gap of one accepted")
MISCOUNTED = next(planted for planted in PLANTED if planted.name == "miscounted batch accepted")


def fails_on_seven_then_three(choices: Sequence[int]) -> Failure | None:
    """Each choice is a step; it fails at the first 3 or more after a 7 or more."""
    seven = next((at for at, choice in enumerate(choices) if choice >= 7), len(choices))
    end = next((at for at in range(seven + 1, len(choices)) if choices[at] >= 3), None)
    return None if end is None else Failure.of(choices[: end + 1], range(1, end + 2))


def test_what_does_not_matter_is_left_out_and_what_does_is_lowered() -> None:
    """Of a hundred choices the two that matter are left, each as low as it may be."""
    failure = fails_on_seven_then_three([0, 5, 2] * 30 + [900, 1, 1, 1, 80, 4])
    assert failure is not None

    smallest = shrunk(failure, fails_on_seven_then_three)

    assert ((7, 3), Size(steps=2, choices=2, total=10)) == (smallest.choices, smallest.size)


def test_choices_that_must_be_alike_are_made_simple_together() -> None:
    """Where no single choice can be lowered, a piece of the tape still can."""

    def fails_where_alike(choices: Sequence[int]) -> Failure | None:
        alike = len(choices) == 5 and choices[0] == choices[1] and choices[2] == choices[3] and choices[4] == 1
        return Failure.of(choices, [5]) if alike else None

    smallest = shrunk(Failure.of((6, 6, 9, 9, 1), [5]), fails_where_alike)

    assert (0, 0, 0, 0, 1) == smallest.choices


def test_what_is_no_smaller_is_not_tried_for_ever() -> None:
    """An attempt that fails as before is no progress."""
    failure, tried = Failure.of((5, 5, 5), [1, 2, 3]), list[Sequence[int]]()

    def fails_the_same_way(choices: Sequence[int]) -> Failure | None:
        tried.append(choices)
        return failure

    assert failure == shrunk(failure, fails_the_same_way, seconds=5)
    assert len(tried) < 50


def test_shrinking_ends_with_its_time() -> None:
    """Without time the failure stays what it is, and nothing smaller is tried."""
    failure, tried = Failure.of([9] * 50, ()), list[Sequence[int]]()

    def fails_at_once(choices: Sequence[int]) -> Failure:
        tried.append(choices)
        return Failure.of((), ())

    assert failure == shrunk(failure, fails_at_once, seconds=0)
    assert not tried


def test_zeros_at_the_end_of_a_tape_say_nothing() -> None:
    """A recorded tape plays 0 past its end."""
    assert (0, 4) == Failure.of((0, 4, 0, 0), (4,)).choices


def test_a_planted_defect_shrinks_to_the_two_batches_that_show_it() -> None:
    """A gap of one sequence needs a batch and the one after the gap; the tape alone shows it again."""
    with GAP.in_place():
        runs = (run_of(seed) for seed in range(0, 300, len(WORKLOADS)))
        run, played = next((run, played) for run in runs if (played := run.play()).violations)
        smallest = run.shrunk(played, seconds=30)
        again = run.play(Tape.recorded(smallest.choices))

    assert len(played.rows) > 2
    assert ["Produce", "Produce"] == [row["api"] for row in smallest.rows]
    assert [0, 2] == [row["base_sequence"] for row in smallest.rows]
    assert "seq.successor" in smallest.rules
    assert smallest.rows == again.rows
    assert {run.command} == {violation.replay for violation in smallest.violations}


def test_another_rule_is_not_what_was_looked_for() -> None:
    """With a second defect that a single step shows, the trace still shrinks to the first."""
    with GAP.in_place(), MISCOUNTED.in_place():
        runs = (run_of(seed) for seed in range(0, 300, len(WORKLOADS)))
        run, played = next((run, played) for run in runs if (played := run.play()).rules == {"seq.successor"})
        smallest = run.shrunk(played, seconds=30)

    assert {"seq.successor"} == smallest.rules


def test_a_run_that_holds_is_not_shrunk() -> None:
    """There is nothing to look for."""
    run = run_of(0)
    played = run.play()

    assert played is run.shrunk(played)

"""What is expected of the layers: a decision that too few see broken, or a layer that names no rule, is a failure."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from model_tests.mutants.decisions import kept as kept_results
from model_tests.mutants.decisions import states
from model_tests.mutants.decisions import tried as tried_mutants
from model_tests.mutants.decisions.__main__ import main
from model_tests.mutants.decisions.call_sites import JudgedCall
from model_tests.mutants.decisions.crossing import CrossingCell, Sight
from model_tests.mutants.decisions.expected import FEW, MOST_GAPS, UNNAMED, shortcomings
from model_tests.mutants.decisions.hunting import HuntResult, MutantFate
from model_tests.mutants.decisions.kept import kept, try_all
from model_tests.mutants.decisions.layers import NAMING, SEARCHES, SESSIONS, TRACES
from model_tests.mutants.decisions.made import DecisionMutant, by_name, mutants
from model_tests.mutants.decisions.mutation_loop import Layers, MutationResults
from model_tests.mutants.decisions.tried import SAMPLE, TriedMutants, blind, sample, try_sample, unseen
from model_tests.verify.results import RunEffort
from spec.protocol import lso

SMALLER = "lso.smaller: left < right becomes left <= right"
LARGER = "lso.smaller: left < right becomes left < right - 1"
BOUNDS = "lso.bounds"
BLIND = "traces see no decision of the sample broken"
NAMES = tuple(dict.fromkeys(mutant.decision for mutant in mutants()))


def of(name: str) -> str:
    """A decision of this name, or the first of this family."""
    return name if name in NAMES else next(each for each in NAMES if each.partition(".")[0] == name)


def as_expected() -> MutationResults:
    """Every mutant is detected, and every layer sees every decision broken, but where it is said why not."""
    found = MutationResults()
    found.fates = {each.name: HuntResult(each.name, each.kind, MutantFate.KILLED, SESSIONS) for each in mutants()}
    found.cells = {(name, layer): CrossingCell(name, layer, Sight.SEEN) for name in NAMES for layer in NAMING}
    for name, layer in UNNAMED:
        found.cells[of(name), layer] = CrossingCell(of(name), layer, Sight.UNSEEN)
    return found


def test_results_as_expected_have_no_shortcomings() -> None:
    """What is excepted, with a reason, is none."""
    assert shortcomings(as_expected()) == ()


@pytest.mark.parametrize(
    ("layers", "sight", "lines"),
    [
        pytest.param(NAMING, Sight.UNREAD, ["lso.smaller: fewer than 2 layers see it broken, "], id="no layer sees it"),
        pytest.param(
            [TRACES],
            Sight.UNSEEN,
            ["lso.smaller: traces name no rule where mutants decide otherwise, "],
            id="not named",
        ),
        pytest.param([SEARCHES], Sight.UNSEEN, [], id="of a layer that asks about something in particular"),
        pytest.param([TRACES], Sight.UNREAD, [], id="five layers see it"),
    ],
)
def test_a_decision_that_is_not_seen_as_expected_is_a_line(layers: list[str], sight: Sight, lines: list[str]) -> None:
    """It names the decision, and the layer."""
    found = as_expected()
    found.cells |= {("lso.smaller", layer): CrossingCell("lso.smaller", layer, sight) for layer in layers}

    said = shortcomings(found)

    assert [line[: len(begun)] for line, begun in zip(said, lines, strict=True)] == lines


def test_a_reason_that_is_not_needed_is_a_line() -> None:
    """The layer names a rule after all."""
    name, layer = next(iter(UNNAMED))
    found = as_expected()
    found.cells[of(name), layer] = CrossingCell(of(name), layer, Sight.SEEN)

    assert shortcomings(found) == (f"{name}: {layer} name a rule, but a reason is given why they do not",)


def test_exceptions_are_of_decisions_that_there_are() -> None:
    """Or of their families."""
    known = {*NAMES, *(name.partition(".")[0] for name in NAMES)}

    assert {*FEW, *(name for name, _ in UNNAMED)} - known == set()


def test_a_mutant_that_was_not_tried_is_counted() -> None:
    """A run that was interrupted proves nothing."""
    found = as_expected()
    del found.fates[SMALLER]

    assert shortcomings(found) == (f"1 of {len(mutants()):,} mutants have not been tried in every layer",)


def test_a_few_gaps_are_allowed_and_no_more() -> None:
    """Of all mutants as many as were measured, and a little more."""
    most = int(MOST_GAPS * len(mutants()))
    found = as_expected()
    for each in mutants()[:most]:
        found.fates[each.name] = replace(found.fates[each.name], fate=MutantFate.GAP)
    allowed = shortcomings(found)
    found.fates[SMALLER] = replace(found.fates[SMALLER], fate=MutantFate.GAP)

    assert allowed == ()
    assert shortcomings(found) == (f"{most + 1} of {len(mutants()):,} mutants are detected by nothing, more than 2%",)


def test_a_sample_is_of_whole_decisions_and_the_same_every_time() -> None:
    """Every mutant of each."""
    chosen = sample(SAMPLE[RunEffort.QUICK])
    names = {mutant.decision for mutant in chosen}

    assert chosen == sample(SAMPLE[RunEffort.QUICK])
    assert len(names) == SAMPLE[RunEffort.QUICK]
    assert chosen == [mutant for mutant in mutants() if mutant.decision in names]
    assert names != {mutant.decision for mutant in sample(SAMPLE[RunEffort.QUICK], seed=1)}


def offsets(*, names_the_rule: bool) -> Callable[[], Iterator[JudgedCall]]:
    """A layer that asks for the smaller of two offsets, and names a rule where it is wrong, or does not."""

    def violated() -> tuple[str, ...]:
        return (BOUNDS,) if lso.smaller(4, 5) != 4 and names_the_rule else ()

    return lambda: iter([JudgedCall("4 and 5", violated)])


@pytest.mark.parametrize(
    ("named_by", "left"),
    [((), {"lso.smaller": (SESSIONS, TRACES)}), ((TRACES,), {}), ((SESSIONS, TRACES), {})],
    ids=["by none", "by one", "by both"],
)
def test_a_sampled_decision_is_seen_broken_by_some_layer(
    named_by: tuple[str, ...], left: dict[str, tuple[str, ...]]
) -> None:
    """A mutant that none detects is not known to be undetected: other layers have not tried it."""
    layers = {name: offsets(names_the_rule=name in named_by) for name in (SESSIONS, TRACES)}
    chosen = [by_name()[LARGER], by_name()[SMALLER]]

    found = try_sample(chosen, layers)

    fates = [each.fate for each in found.fates_of(chosen)]
    assert unseen(found) == left
    assert fates == [MutantFate.KILLED if named_by else MutantFate.UNTRIED, MutantFate.UNTRIED]


@pytest.mark.parametrize(
    ("in_some", "in_all", "failures"),
    [
        (True, True, ()),
        (False, True, (BLIND,)),
        (False, False, (BLIND, "lso.smaller: its mutants decide otherwise in traces, and no rule is named there")),
    ],
    ids=["in some places", "in all places", "nowhere"],
)
def test_a_decision_that_is_not_seen_broken_in_some_places_is_tried_in_all(
    in_some: bool, in_all: bool, failures: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no rule is named there either, the run fails; and so it does where a layer sees nothing of the sample."""
    chosen = [mutant for mutant in mutants() if mutant.decision == "lso.smaller"]
    monkeypatch.setattr(tried_mutants, "sample", lambda _: chosen)
    monkeypatch.setattr(tried_mutants, "try_sample", partial(_tried_in, offsets(names_the_rule=in_some)))
    monkeypatch.setattr(tried_mutants, "LAYERS", {TRACES: offsets(names_the_rule=in_all)})

    found = tried_mutants.tried(RunEffort.QUICK)

    assert found.failures == failures
    assert len(found.fates) == len(chosen)


def _tried_in(
    some: Callable[[], Iterator[JudgedCall]], chosen: list[DecisionMutant], layers: Layers | None = None
) -> MutationResults:
    return try_sample(chosen, layers or {TRACES: some})


def test_what_a_rule_has_detected_is_a_planted_defect_of_the_report() -> None:
    """With the layer, the rule and the place; what only a test or a search's goal has detected is not."""
    found = TriedMutants(
        [
            HuntResult(LARGER, "edit", MutantFate.KILLED, SEARCHES, "4 and 5", ("a goal never happens", BOUNDS)),
            HuntResult(SMALLER, "edit", MutantFate.KILLED, "tests", "test_lso.py", ("test_lso.py::test",)),
        ],
        (),
    )

    (only,) = found.detected

    assert (only.name, only.rule.id, only.killed) == (f"decision {LARGER}", BOUNDS, True)
    assert only.killed_by == (f"searches {BOUNDS} in 4 and 5",)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two mutants and two layers, in a folder of their own."""
    layers = {name: offsets(names_the_rule=True) for name in (SESSIONS, SEARCHES)}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kept_results, "mutants", lambda: (by_name()[LARGER], by_name()[SMALLER]))
    monkeypatch.setattr(kept_results, "LAYERS", layers)
    monkeypatch.setattr(kept_results, "NAMING", layers)
    monkeypatch.setattr(states, "count", lambda mutant, _: states.MutantCounts(mutant.name))


@pytest.mark.usefixtures("few")
def test_what_is_kept_is_not_tried_again() -> None:
    """All three kinds of results; a decision that is named is tried again."""
    first, said = MutationResults(), list[str]()
    try_all(first)
    try_all(kept(), said.append)
    again = kept(["lso.smaller"])

    assert kept() == first
    assert [each.fate for each in first.fates_of([by_name()[LARGER], by_name()[SMALLER]])] == [
        MutantFate.KILLED,
        MutantFate.EQUIVALENT,
    ]
    assert first.counts.keys() == {LARGER, SMALLER}
    assert said == ["solver: 0 mutants undetected"]
    assert again == MutationResults()


@pytest.mark.usefixtures("few")
def test_a_run_of_all_reports_what_is_not_as_expected(capsys: pytest.CaptureFixture[str]) -> None:
    """One line each, and the code is 1: nothing is known of the mutants that are not tried here."""
    code = main([])

    *progress, last = capsys.readouterr().out.splitlines()
    assert code == 1
    assert progress[0] == "recorded sessions: 1 places, 2 mutants undetected"
    assert last == f"{len(mutants()) - 2:,} of {len(mutants()):,} mutants have not been tried in every layer"


@pytest.mark.parametrize("made", [iter, lambda _: iter([JudgedCall("asks nothing", lambda: ())])])
def test_a_layer_whose_calls_are_not_noted_is_no_success(
    made: Callable[[tuple[()]], Iterator[JudgedCall]],
) -> None:
    """Without places, or where these ask no decision, nothing is unseen; but the layer is named."""
    found = try_sample([by_name()[LARGER]], {TRACES: lambda: made(())})

    assert (unseen(found), blind(found)) == ({}, (BLIND,))


def test_a_decision_that_there_is_not_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is tried."""
    assert main(["lso.smalle"]) == 2
    assert capsys.readouterr().out == (
        "no decision is called 'lso.smalle'; they are called as in spec/protocol, for example append.guards\n"
    )

"""The mutants of the decisions: every decision has some, each kind of edit is seen, and what survives is explained."""

from functools import partial
from pathlib import Path

import pytest

from model_tests.conform.files import sample, sessions_in
from model_tests.mutants.decisions.call_sites import JudgedCall, Occasions, watched
from model_tests.mutants.decisions.crossing import Sight
from model_tests.mutants.decisions.equivalence import Examples, Sameness, equivalent, passes
from model_tests.mutants.decisions.functions import COMPOSED, decisions
from model_tests.mutants.decisions.hunting import HuntResult, MutantFate, hunt
from model_tests.mutants.decisions.made import by_name, mutants, tables
from model_tests.mutants.decisions.mutation_loop import MutationResults, try_mutants
from model_tests.mutants.decisions.mutations import MutationKind
from model_tests.mutants.decisions.places import of_sessions
from model_tests.mutants.decisions.table import page, read, write
from model_tests.mutants.defects.planted import Planted
from model_tests.mutants.on_spark import BROKEN, on_traces
from spec import rules
from spec.protocol import coordinator, electing, fence, lso, verification
from spec.protocol.coordinator import TransactionEntry
from spec.protocol.electing import ProposalDecision
from spec.protocol.guards import PASSED
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.versions import NEWEST
from spec.vocabulary import TransactionState

FAMILIES = ("A", "EB")
"""Sessions of appends, and of transactions of version 2."""

KNOWN = {
    MutationKind.DROP_GUARD: ("append.guards: guard successor dropped", "seq.successor"),
    MutationKind.SWAP_GUARDS: ("ending.guards: guards producer_other and epoch_other swapped", "fence.stale_epoch"),
    MutationKind.FLIP: ("ending.guards: outcome == _WAIT becomes outcome != _WAIT", "txn.one_outcome"),
    MutationKind.OFF_BY_ONE: ("ending.is_retry: request.producer_epoch + 1 with one more", "fence.stale_epoch"),
    MutationKind.SKIP: ("append._reply: request.base_offset is never chosen where appended", "seq.first"),
    MutationKind.DROP_OPERAND: ("append.guards: refused_as_stale dropped of all_of (2)", "fence.stale_epoch"),
    MutationKind.NEGATE: ("ids._malformed: negate(bounded) becomes bounded", "txn.timeout"),
    MutationKind.CELL: ("ending.WITHOUT_BUMP: cell (5, 1) says 51", "txn.one_outcome"),
    MutationKind.SIBLING: (
        "append._entry_after: request.producer_epoch becomes request.coordinator_epoch",
        "seq.first",
    ),
    MutationKind.CARRIED: ("ending.raised: producer_epoch gets ABSENT, as last_epoch does", "txn.one_outcome"),
}
"""A mutant of each kind, and the rule that recorded sessions name."""

STALE = "fence.is_stale: request.producer_epoch < entry.epoch becomes request.producer_epoch <= entry.epoch"
SMALLER = "lso.smaller: left < right becomes left <= right"
LARGER = "lso.smaller: left < right becomes left < right - 1"
AT_THE_HIGH_WATERMARK = "lso.is_replicated: marker_offset < high_watermark becomes marker_offset <= high_watermark"
BOUNDS = "lso.bounds"


@pytest.fixture(scope="module")
def recorded() -> Occasions:
    """The calls of the decisions in a few recorded sessions."""
    return watched(of_sessions(sessions_in(sample(10_000, FAMILIES).lines)))


def offset_calls() -> Occasions:
    """One call of the smaller of two offsets."""
    return watched([JudgedCall("two offsets", lambda: () if lso.smaller(3, 5) == 3 else (BOUNDS,))])


@pytest.mark.parametrize("kind", MutationKind)
def test_a_session_sees_a_mutant_of_each_kind(kind: MutationKind, recorded: Occasions) -> None:
    """And names the rule."""
    name, rule = KNOWN[kind]

    found = hunt(HuntResult(name, kind), by_name()[name], "recorded sessions", recorded)

    assert found.fate is MutantFate.KILLED
    assert rule in found.rules


def test_every_decision_has_mutants() -> None:
    """A new decision has some by itself; one that has none only hands its arguments on, and is listed."""
    without = {decision.name for decision in decisions()} - {mutant.of.name for mutant in mutants()}

    assert without - set(COMPOSED) == set()


def test_every_table_has_mutants() -> None:
    """A table decides cell by cell."""
    of_tables = {
        mutant.name.partition(":")[0].rpartition(".")[2] for mutant in mutants() if mutant.kind is MutationKind.CELL
    }

    assert of_tables == {name for _, name, _ in tables()}


def test_every_mutant_has_a_name_of_its_own() -> None:
    """By which it is found in the table."""
    names = [mutant.name for mutant in mutants()]

    assert len(names) >= 200
    assert len(set(names)) == len(names)


def test_a_mutant_is_met_by_whatever_name_the_decision_is_bound() -> None:
    """And is gone afterwards."""
    entry, request = ProducerEntry(epoch=3), AppendRequest(0, producer_id=1, producer_epoch=3)

    with by_name()[STALE].in_place():
        mutated = (fence.is_stale(entry, request), verification.is_refused_unasked(entry, request, NEWEST))

    assert mutated == (True, True)
    assert not verification.is_refused_unasked(entry, request, NEWEST)


def test_the_solver_reports_which_mutant_is_the_same_for_all_inputs() -> None:
    """Of two equal offsets either is the smaller one."""
    examples = Examples()
    examples.learn(offset_calls())

    proved = equivalent(by_name()[SMALLER], examples), equivalent(by_name()[LARGER], examples)

    assert proved == (Sameness(("lso.smaller",), questions=1), None)


def test_calls_are_noted_as_they_are_made() -> None:
    """Each argument by its place or its name, with defaults; decisions answer as ever, and afterwards are as before."""
    entry = TransactionEntry(state=TransactionState.ONGOING.value)
    proposal = ProposalDecision(branch=PASSED, error=0)

    def place() -> tuple[str, ...]:
        ongoing = coordinator.is_in(entry, TransactionState.EMPTY, TransactionState.ONGOING)
        epoch = electing.leader_epoch_after(3, shrinks=False, elects=True)
        return () if (ongoing, epoch, proposal.granted) == (True, 4, True) else ("other answers",)

    before = {each: (each.function.__code__, set(vars(each.module))) for each in decisions()}
    calls = {of.name: list(of_one) for of, of_one in watched([JudgedCall("three calls", place)]).calls.items()}

    assert calls["coordinator.is_in"] == [((entry, TransactionState.EMPTY, TransactionState.ONGOING), ())]
    ((positional, named),) = calls["electing.leader_epoch_after"]
    assert (positional, named[:2]) == ((3,), (("elects", True), ("shrinks", False)))
    assert [(name, value.value) for name, value in named[2:]] == [("profile", NEWEST)]
    assert calls["electing.ProposalDecision.granted"] == [((proposal,), ())]
    assert before == {each: (each.function.__code__, set(vars(each.module))) for each in decisions()}


def test_what_no_place_reports_apart_is_not_killed() -> None:
    """A layer reports nothing of a mutant that decides alike in all of its places."""
    found = hunt(HuntResult(SMALLER, MutationKind.FLIP), by_name()[SMALLER], "offsets", offset_calls())

    assert (found.fate, found.met) == (MutantFate.UNTRIED, 0)


def test_few_places_are_judged_as_they_are_made_however_long_they_take() -> None:
    """So that a hunt says the same on every machine."""
    places = [JudgedCall(f"{left} and 5", partial(_smaller_of, left)) for left in (4, 3)]
    occasions = watched(places)
    occasions.seconds = dict(zip(places, (9.0, 0.1), strict=True))

    found = hunt(HuntResult(LARGER, MutationKind.OFF_BY_ONE), by_name()[LARGER], "searches", occasions)

    assert (found.place, found.rules) == ("4 and 5", (BOUNDS,))


def _smaller_of(left: int) -> tuple[str, ...]:
    return () if (lso.smaller(left, 5), lso.smaller(4, 5)) == (left, 4) else (BOUNDS,)


def smaller_and_replicated() -> JudgedCall:
    """A place that asks two decisions about 4 and 5, and names a rule where one answers otherwise."""
    return JudgedCall("4 and 5", lambda: () if (lso.smaller(4, 5), lso.is_replicated(4, 5)) == (4, True) else (BOUNDS,))


LISTED = (LARGER, SMALLER, AT_THE_HIGH_WATERMARK)


def test_the_loop_reports_the_fate_of_each() -> None:
    """Detected, equivalent for all inputs, or not distinguished by any input of a search."""
    listed, results = [by_name()[name] for name in LISTED], MutationResults()

    turns = list(try_mutants(listed, {"searches": lambda: iter([smaller_and_replicated()])}, results))

    assert turns == ["searches"]
    found = results.fates_of(listed)
    assert [each.fate for each in found] == [MutantFate.KILLED, MutantFate.EQUIVALENT, MutantFate.UNREACHABLE]
    assert found[0].rules == (BOUNDS,)
    assert results.cells == {}


def test_the_loop_crosses_decisions_with_the_layers_that_it_should() -> None:
    """A layer that has not detected a mutant first tries it all the same."""
    listed, results = [by_name()[name] for name in LISTED], MutationResults()
    layers = {name: lambda: iter([smaller_and_replicated()]) for name in ("searches", "audit", "tests")}

    list(try_mutants(listed, layers, results, crossed=("searches", "audit")))

    seen = [(each.decision, each.layer, each.sight, each.rules) for each in results.cells_of(listed, layers)]
    assert seen == [
        ("lso.smaller", "searches", Sight.SEEN, (BOUNDS,)),
        ("lso.is_replicated", "searches", Sight.ALIKE, ()),
        ("lso.smaller", "audit", Sight.SEEN, (BOUNDS,)),
        ("lso.is_replicated", "audit", Sight.ALIKE, ()),
        ("lso.smaller", "tests", Sight.UNTRIED, ()),
        ("lso.is_replicated", "tests", Sight.UNTRIED, ()),
    ]


def test_what_is_known_is_not_tried_again() -> None:
    """Neither the layers nor the solver are asked where nothing is missing; a resumed run asks for the rest."""
    listed, results = [by_name()[name] for name in LISTED], MutationResults()
    layers = {name: lambda: iter([smaller_and_replicated()]) for name in ("searches", "audit")}
    first = next(try_mutants(listed, layers, results, crossed=layers))
    done = {name: each for name, each in results.fates.items() if each.fate is MutantFate.KILLED}

    resumed = MutationResults(dict(done), dict(results.cells))
    turns = list(try_mutants(listed, layers, resumed, crossed=layers))

    assert (first, turns, list(try_mutants(listed, layers, resumed, crossed=layers))) == ("searches", list(layers), [])
    assert resumed.fates[LARGER] is done[LARGER]
    assert [each.fate for each in resumed.fates_of(listed)][1:] == [MutantFate.EQUIVALENT, MutantFate.UNREACHABLE]


def test_the_page_names_whom_nothing_reports_apart() -> None:
    """With the count of every fate."""
    table = [
        HuntResult(LARGER, MutationKind.OFF_BY_ONE, MutantFate.KILLED, "searches", "4 and 5", (BOUNDS,)),
        HuntResult(SMALLER, MutationKind.FLIP, MutantFate.GAP),
    ]

    reported = page(table)

    assert "| killed by searches | 1 |" in reported
    assert f"- `{SMALLER}`: no check distinguishes it" in reported


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    """The places and rules too; without a table there is nothing."""
    table = (HuntResult(LARGER, MutationKind.OFF_BY_ONE, MutantFate.KILLED, "searches", "4 and 5", (BOUNDS,), 1, 0.5),)

    write(table, tmp_path / "table.json")

    assert read(tmp_path / "table.json") == table
    assert read(tmp_path / "another.json") == ()


@pytest.mark.parametrize(
    ("at", "kept"),
    [("lso.smaller", True), ("lso.bounds", False)],
    ids=["the decision itself", "another decision that does not use it"],
)
def test_an_equivalence_is_kept_while_nothing_else_uses_the_decision(at: str, kept: bool, tmp_path: Path) -> None:
    """A decision that uses it since may decide otherwise under the mutant."""
    same = HuntResult(SMALLER, MutationKind.FLIP, MutantFate.EQUIVALENT, place=str(Sameness((at,), questions=1)))

    write([same], tmp_path / "table.json")

    assert read(tmp_path / "table.json") == ((same,) if kept else ())


def test_a_decision_passes_through_all_that_uses_it() -> None:
    """By way of both users, or as itself; one of them is not enough, and none is not either."""
    raised = by_name()["ending.raised: entry is never chosen"].of

    by_way_of = (("ending.end", "ending.guards"), ("ending.raised",), ("ending.end",), ())

    assert [passes(raised, names) for names in by_way_of] == [True, True, False, False]


def test_a_place_that_is_red_by_itself_is_refused() -> None:
    """Red would say nothing of a mutant."""
    with pytest.raises(ValueError, match="with nothing broken"):
        watched([JudgedCall("always red", lambda: (BOUNDS,))])


QUICK = ("resends are not recognised",)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(
    "mutant",
    [pytest.param(m, id=m.name, marks=[] if m.name in QUICK else [pytest.mark.slow]) for m in BROKEN],
)
def test_the_trace_check_sees_a_broken_guard(mutant: Planted) -> None:
    """A guard broken in the specification is broken in Spark's columns, and the rule is named."""
    assert mutant.rule.id in on_traces(mutant)


@pytest.mark.xdist_group("spark")
def test_the_trace_check_is_not_red_by_itself() -> None:
    """With nothing broken no rule is named, so that red means the broken guard."""
    assert on_traces(Planted("nothing", rules.SEQ_SUCCESSOR, ())) == frozenset()

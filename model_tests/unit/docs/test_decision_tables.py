"""Decision tables on the page: formulas in words, every guard, the differences between releases."""

from dataclasses import replace

import pytest

from model_tests.unit.docs.extensions import extension
from spec.algebra import all_of, any_of, choose, negate
from spec.protocol import append
from spec.protocol.guards import Guard
from spec.versions import NEWEST, PROFILES
from spec.vocabulary import ErrorCode

formulas = extension("formulas")
tables = extension("decision_tables")
outcomes = extension("outcome_tables")

STATE = formulas.symbol("entry", "state")
EPOCH = formulas.symbol("entry", "epoch")
SENT = formulas.symbol("batch", "epoch")
OPEN = formulas.symbol("entry", "open")


@pytest.mark.parametrize(
    ("fact", "reported"),
    [
        (EPOCH < SENT, "entry.epoch < batch.epoch"),
        (negate(EPOCH < SENT), "entry.epoch ≥ batch.epoch"),
        (negate(negate(EPOCH == SENT)), "entry.epoch = batch.epoch"),
        (EPOCH == -1, "entry.epoch absent"),
        (negate(EPOCH >= 0), "entry.epoch absent"),
        (STATE == 1, "entry.state = ONGOING"),
        (any_of(STATE == 2, STATE == 3), "entry.state ∈ {PREPARE_COMMIT, PREPARE_ABORT}"),
        (negate(any_of(STATE == 2, STATE == 3)), "entry.state ∉ {PREPARE_COMMIT, PREPARE_ABORT}"),
        (
            all_of(any_of(OPEN, EPOCH < SENT), negate(OPEN)),
            "(entry.open or entry.epoch < batch.epoch) and not entry.open",
        ),
        (negate(all_of(OPEN, EPOCH < SENT)), "not (entry.open and entry.epoch < batch.epoch)"),
        (all_of(OPEN, EPOCH < SENT, OPEN), "entry.open and entry.epoch < batch.epoch"),
        (all_of(True, OPEN), "entry.open"),
        (choose(OPEN, EPOCH + 1, EPOCH) == SENT, "(entry.epoch + 1 if entry.open else entry.epoch) = batch.epoch"),
        (choose(OPEN, EPOCH, EPOCH), "entry.epoch"),
        (choose(OPEN, EPOCH < SENT, False), "entry.open and entry.epoch < batch.epoch"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_formula_is_reported_as_it_is_read(fact: object, reported: str) -> None:
    """Brackets stand where they change the meaning, constants are gone, numbers of states have their names."""
    assert reported == formulas.worded(fact)


def test_every_check_of_the_append_is_a_row() -> None:
    """The page leaves none out and keeps their order."""
    rows = tables.rows(tables.DECISIONS["append"])

    assert list(append.names(NEWEST)[1:]) == [row.guard.name for row in rows]


@pytest.mark.parametrize("name", tables.DECISIONS)
def test_a_row_says_when_the_check_applies(name: str) -> None:
    """No formula is a constant, and none is too long to read."""
    rows = tables.rows(tables.DECISIONS[name])

    assert rows
    assert [] == [row.guard.name for row in rows if row.formula in ("always", "never") or len(row.formula) > 400]


def test_a_check_of_some_releases_names_them() -> None:
    """A guard that a release does not have lists those that have it, and an answer that differs, where."""
    by_name = {row.guard.name: row for row in tables.rows(tables.DECISIONS["append"])}

    assert "4.2 to 4.4" == by_name["marker_not_bumped"].releases
    assert "2.0 to 2.4" == by_name["sequence_forgotten"].releases
    assert "split-out-of-order" == by_name["behind"].releases
    assert "INVALID_PRODUCER_EPOCH" == by_name["stale_epoch"].answers
    of_coordinator = {row.guard.name: row for row in tables.rows(tables.DECISIONS["end-txn"])}
    assert "PRODUCER_FENCED; INVALID_PRODUCER_EPOCH (0.11 to 2.5)" == of_coordinator["epoch_other"].answers


def test_another_order_of_checks_is_reported() -> None:
    """Before 2.4 a commit gets the error of a rebalance before it is checked against the group."""
    orders = tables.other_orders(tables.DECISIONS["offset-commit"])

    assert orders["0.11 to 2.0"].startswith("group_unknown, group_dead, assignment_awaited, ")


def test_a_broken_check_changes_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is of the decision itself: one that never refuses a stale epoch has no such row."""
    true_guards = append.guards

    def without_fence(*given: object) -> tuple[Guard, ...]:
        checks = true_guards(*given)  # type: ignore[arg-type]
        return tuple(replace(g, applies=False) if g.name == "stale_epoch" else g for g in checks)

    monkeypatch.setattr(append, "guards", without_fence)
    assert "stale_epoch" not in {row.guard.name for row in tables.rows(tables.DECISIONS["append"])}


@pytest.mark.parametrize("name", outcomes.TABLES)
def test_a_table_shows_every_cell(name: str) -> None:
    """Every state has a row, every other part of the key a column, and every cell a word."""
    cells, epochs = outcomes.TABLES[name]
    columns = outcomes._columns(epochs)

    keys = {(state, *key) for state in {cell[0] for cell in cells} for _, key in columns}
    assert set(cells) == keys
    assert {"prepares", "answered again"} <= {outcomes.cell_text(value) for value in cells.values()}


@pytest.mark.parametrize("request_name", outcomes.RENAMED_ERRORS)
def test_errors_that_are_reported_otherwise_are_listed_by_version(request_name: str) -> None:
    """A row holds in every version that it names, and in no other."""
    event = outcomes.RENAMED_ERRORS[request_name]

    for met, reported, versions in outcomes.reported_otherwise(event):
        oldest = event(ErrorCode[met].value, 0)
        assert (oldest == ErrorCode[reported].value) == (versions == "all" or versions.startswith("up to"))


def test_releases_are_reported_as_stretches() -> None:
    """Neighbours are joined; a proposal is named only where no release has what it has."""
    assert "0.11, 2.4 to 2.7" == tables.spans({"0.11", "2.4", "2.5", "2.7"})
    assert "0.11 to 4.4" == tables.spans(set(PROFILES))

"""Steps that no run has shown: true ones of which one column was changed, and random ones with random answers."""

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

from model_tests.check.samples import answered, random_steps
from model_tests.judging.coordinator_verdicts import NEEDED as NEEDED_OF_COORDINATORS
from model_tests.simulate.simulate import trace_of
from model_tests.traces.schema import BY_NAME, STEP_PARTS, Row, columns_of, complete
from reference.recording.trace import ColumnType
from spec.versions import PROFILES

APPEND_COLUMNS = tuple(dict.fromkeys((*columns_of(*STEP_PARTS), "verification_refused")))


def random_appends(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Random appends of every profile, answered as decided; in every second one a column is changed."""
    chance = Random(seed)  # test data
    table = random_steps(count, seed)
    for name, profile in PROFILES.items():
        mine = {column: values[table["profile"] == name] for column, values in table.items()}
        whole = {column: np.asarray(values).tolist() for column, values in answered(mine, profile).items()}
        for at in range(len(whole["profile"])):
            row = complete({column: values[at] for column, values in whole.items()})
            yield changed(row, APPEND_COLUMNS, chance) if at % 2 else row


def changed_traces(seeds: range, share: float) -> Iterator[dict[str, Any]]:
    """Simulated traces in which this share of the steps has a column that is changed; all can be judged.

    An append of which the origin is not said would be set aside, with all links of its trace.
    """
    of_appends = tuple(name for name in APPEND_COLUMNS if name != "origin")
    for seed in seeds:
        chance = Random(seed)  # test data
        for row in trace_of(seed):
            columns = of_appends if row["origin"] >= 0 else _changeable_of_coordinators()
            yield changed(row, columns, chance) if chance.random() < share else dict(row)


def changed(row: Row, columns: tuple[str, ...], chance: Random) -> dict[str, Any]:
    """The row with another value in one of the columns."""
    column = chance.choice(columns)
    value = row[column]
    if BY_NAME[column].kind is ColumnType.BOOLEAN:
        return {**row, column: not value}
    return {**row, column: max(-1, value + chance.choice((-2, -1, 1, 2)))}


def _changeable_of_coordinators() -> tuple[str, ...]:
    return tuple(name for name in NEEDED_OF_COORDINATORS if BY_NAME[name].kind is not ColumnType.TEXT)

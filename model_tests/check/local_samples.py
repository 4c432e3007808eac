"""Random samples for another judge, in this process: steps for the solver itself, traces for the reference."""

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from model_tests.check.sample_judges import COLUMNS, REFERENCE, SOLVER, VERDICT, made_again, sample_of, solved
from model_tests.check.sample_judges import VERDICT_COLUMNS as OF_VERDICTS
from model_tests.judging.check_report import JudgeSample
from model_tests.judging.local_steps import LocalSteps
from model_tests.judging.step_table import filled, rows_in
from model_tests.judging.verdicts import append_results
from model_tests.traces.schema import BY_NAME
from spec.readings.formulas import Sheet
from spec.readings.formulas_on_arrays import Array, ArrayProgram
from spec.versions import PROFILES


def samples(steps: LocalSteps, z3_sample: int, reference_sample: int, seed: int = 0) -> Iterator[JudgeSample]:
    """The samples that are wanted; fewer steps or traces if there are no more.

    Args:
        steps: every step that was read.
        z3_sample: number of appends for the solver.
        reference_sample: number of traces for the reference.
        seed: of the choice.
    """
    chance = np.random.default_rng(seed)
    if z3_sample:
        appends = np.flatnonzero(steps.fit & (steps.columns.values["origin"] >= 0))
        rows = _with_verdicts(steps, chance.permutation(appends)[:z3_sample])
        yield sample_of(SOLVER, z3_sample, solved(rows))
    if reference_sample:
        traces = np.unique(steps.columns.values["trace"][steps.fit])
        wanted = steps.among("trace", chance.permutation(traces)[:reference_sample].tolist())
        again = groupby(rows_in(steps.table(wanted, BY_NAME)), key=lambda row: int(row["trace"]))
        yield sample_of(REFERENCE, reference_sample, [made_again(list(rows)) for _, rows in again])


def _with_verdicts(steps: LocalSteps, places: Array) -> list[dict[str, object]]:
    """Appends with the verdict that the formulas give on each."""
    results = append_results(Sheet(), PROFILES)
    verdicts = ArrayProgram(results[name] for name in VERDICT).run(steps.columns.only(places))
    columns = list(dict.fromkeys(("trace", "step", *COLUMNS, *OF_VERDICTS)))
    table = filled(steps.steps.select(columns).take(places).append_column("place", [list(range(len(places)))]))
    return [
        {**row, **{name: verdict[row["place"]].item() for name, verdict in zip(VERDICT, verdicts, strict=True)}}
        for row in rows_in(table)
    ]

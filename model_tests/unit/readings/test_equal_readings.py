from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from model_tests.check.sample_judges import disagreements
from model_tests.check.samples import Table, random_steps, undecided
from model_tests.judging.judged_column import evaluate
from model_tests.judging.verdicts import by_behaviour
from model_tests.spark.session import session
from model_tests.unit.readings.tables import RECORDS, SEED, by_profile, differing, rows, with_numpy, with_python
from spec.algebra import Term
from spec.engines.reading_z3 import INTEGERS, WIDE, Numbers
from spec.protocol.append import append, names
from spec.protocol.records import flatten
from spec.readings.formulas import Merge, Sheet
from spec.versions import NEWEST, PROFILES, Profile
from spec.vocabulary import MAX_EPOCH, MAX_SEQUENCE


def test_python_and_numpy_agree_on_every_record() -> None:
    """On random records the two readings give the same branch, reply and entry."""
    found = {profile.name: differing(with_python(t, profile), with_numpy(t, profile)) for profile, t in by_profile()}

    assert {key: [] for key in PROFILES} == found


@pytest.mark.xdist_group("spark")
def test_spark_and_numpy_agree_on_every_record(tmp_path: Path) -> None:
    """On the same records Spark's columns, one formula merged for all profiles, give the same."""
    spark = with_spark(random_steps(RECORDS, SEED), tmp_path / "steps.parquet")
    found = {
        profile.name: differing(with_numpy(table, profile), of_profile(spark, profile))
        for profile, table in by_profile()
    }

    assert {key: [] for key in PROFILES} == found


def of_profile(table: Table, profile: Profile) -> Table:
    mine = table["profile"] == profile.name
    return {name: values[mine] for name, values in table.items()}


def with_spark(table: Table, file: Path) -> Table:
    pq.write_table(pa.table({**table, "row": np.arange(len(table["profile"]))}), file)
    sheet, behaviours = Sheet(), dict(by_behaviour(PROFILES))
    outcomes = [on_sheet(sheet, profile) for profile in behaviours]
    merged = Merge(sheet, tuple(behaviours.values())).results(outcomes)
    judged = evaluate(session().read.parquet(str(file)), ("row", "profile"), merged).orderBy("row").toArrow()
    return {name: judged[name].to_numpy() for name in judged.column_names}


def on_sheet(sheet: Sheet, profile: Profile) -> dict[str, Term]:
    entry, request, verification = undecided(sheet.column)
    decision = append(entry, request, profile, verification)
    after = {f"after_{name}": value for name, value in flatten(decision.entry)}
    return {"branch": decision.branch, **dict(flatten(decision.reply)), **after}


def test_the_records_reach_every_branch() -> None:
    """The comparison is about every guard: each decides some record."""
    hit = {int(branch) for profile, table in by_profile() for branch in np.unique(with_numpy(table, profile)["branch"])}

    assert set(range(len(names(NEWEST)))) == hit


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("before_cached_0_last_sequence", MAX_SEQUENCE),
        ("base_sequence", 0),
        ("producer_epoch", MAX_EPOCH),
        ("producer_id", -1),
        ("before_epoch", -1),
        ("origin", 3),
    ],
)
def test_the_records_hold_the_ends_of_the_ranges(column: str, value: int) -> None:
    """Sentinels, the last sequence and the last epoch are among the records."""
    assert (random_steps(RECORDS, SEED)[column] == value).any()


@pytest.mark.parametrize("numbers", [INTEGERS, WIDE], ids=["integers", "bit-vectors"])
def test_the_solver_agrees_on_a_sample(numbers: Numbers) -> None:
    """On every hundredth of the records the solver decides as Python does; the deep trace part puts all of them."""
    sample = [row for _, table in by_profile() for row in list(rows(table))[::100]]

    assert [] == disagreements(sample, numbers)

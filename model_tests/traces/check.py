"""The trace check on Spark: every append step against the decision, and against the step before it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Final

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, Row

from model_tests.reports import BadInput
from model_tests.traces import links, trace_files, verdicts
from model_tests.traces.check_report import BranchCount, CheckReport, RuleCount, Violation
from model_tests.traces.explain import explain_link, explain_step
from model_tests.traces.session import LOCAL, session
from model_tests.traces.trace_files import REASON, Quarantined
from spec.protocol.append import names
from spec.rules import RULES, Circumstances, Rule
from spec.versions import NEWEST, PROFILES, Profile

LISTED: Final = 100
"""Violating steps that are explained; all are counted."""


@dataclass(frozen=True, slots=True)
class _Survey:
    traces: int
    steps: int
    profiles: Mapping[str, Profile]
    quarantined: tuple[Quarantined, ...]


def run(path: str, master: str = LOCAL) -> CheckReport:
    """Judge the traces at a path: a file or directory of Parquet or NDJSON.

    Raises:
        BadInput: there is nothing to judge.
    """
    started = perf_counter()
    found = trace_files.read(session(master), str(path))
    report = check(found.steps, path=str(path))
    return replace(report, seconds=perf_counter() - started, quarantined=(*found.files, *report.quarantined))


def check(steps: DataFrame, path: str = "traces") -> CheckReport:
    """Judge steps as they were read."""
    started = perf_counter()
    survey = _survey(steps)
    if not survey.steps:
        raise BadInput(f"{path}: the trace files hold no step")
    good = trace_files.judgeable(steps)
    chains = trace_files.of_whole_traces(good) if survey.quarantined else good
    judged = judge_steps(good, chains, survey.profiles).persist()  # few bytes a step; and no filter is pushed below
    try:
        return _report(survey, good, judged, started)
    finally:
        judged.unpersist()


def _report(survey: _Survey, steps: DataFrame, judged: DataFrame, started: float) -> CheckReport:
    counts = _counted(judged)
    return CheckReport(
        traces=survey.traces,
        steps=survey.steps,
        seconds=perf_counter() - started,
        rules=tuple(_rule_counts(counts)),
        branches=tuple(_branch_counts(counts)),
        violations=tuple(_explained(steps, judged)) if any(row["violated"] for row in counts) else (),
        quarantined=survey.quarantined,
    )


def judge_steps(steps: DataFrame, chains: DataFrame, profiles: Mapping[str, Profile]) -> DataFrame:
    """Row verdicts on the append steps, and link verdicts on those steps whose traces are whole."""
    linked = links.link_verdicts(chains)
    return linked.union(verdicts.row_verdicts(steps.where(verdicts.APPEND), profiles)) if profiles else linked


def _survey(steps: DataFrame) -> _Survey:
    """What there is: how many traces and steps, of which profiles, and what must be set aside."""
    groups = steps.groupBy(trace_files.is_judgeable().alias("fit"), F.expr(verdicts.APPEND).alias("append"), "profile")
    rows = groups.count().collect()
    present = {row["profile"] for row in rows if row["fit"] and row["append"]}
    return _Survey(
        traces=steps.select("trace").distinct().count(),
        steps=sum(row["count"] for row in rows),
        profiles={name: profile for name, profile in PROFILES.items() if name in present},
        quarantined=() if all(row["fit"] for row in rows) else tuple(_set_aside(steps)),
    )


def _set_aside(steps: DataFrame) -> Iterator[Quarantined]:
    unfit = trace_files.with_reason(steps.where(~trace_files.is_judgeable()))
    first = F.min(F.struct("trace", "step")).alias("first")
    for row in unfit.groupBy(REASON).agg(F.count("*").alias("count"), first).collect():
        where = f"first: trace {row['first']['trace']}, step {row['first']['step']}"
        yield Quarantined(row[REASON], row["count"], where)


def _counted(judged: DataFrame) -> list[Row]:
    return judged.groupBy("kind", "profile", "branch", "judged", "violated").count().collect()


def _rule_counts(counts: Iterable[Row]) -> Iterator[RuleCount]:
    judged, violated, known = Counter[Rule](), Counter[Rule](), Counter[Rule]()
    for row in counts:
        circumstances = circumstances_of(PROFILES[row["profile"]])
        for rule in verdicts.rules_in(row["judged"]):
            judged[rule] += row["count"]
        for rule in verdicts.rules_in(row["violated"]):
            (violated if rule.claimed_in(circumstances) else known)[rule] += row["count"]
    return (RuleCount(rule.id, judged[rule], violated[rule], known[rule]) for rule in RULES.values() if judged[rule])


def circumstances_of(profile: Profile) -> Circumstances:
    """What a profile says about the circumstances of a run."""
    return Circumstances(
        transaction_version=profile.transaction_version,
        marker_epoch_checked=profile.marker_epoch_strict,
        partition_verification=profile.partition_verification,
    )


def _branch_counts(counts: Iterable[Row]) -> Iterator[BranchCount]:
    hits = Counter[int]()
    for row in counts:
        if row["kind"] == verdicts.ROW:
            hits[row["branch"]] += row["count"]
    return (BranchCount("append", name, hits[number]) for number, name in enumerate(names(NEWEST)))


def _explained(steps: DataFrame, judged: DataFrame) -> Iterator[Violation]:
    """The first violations of each kind and set of rules, with why."""
    bad = judged.where("violated != 0")
    firsts = bad.groupBy("kind", "violated").agg(F.min(F.struct("trace", "step")).alias("first"))
    places = bad.select("kind", "violated", F.struct("trace", "step").alias("first"))
    some = places.orderBy("first").limit(LISTED)
    rows = firsts.union(some).distinct().orderBy("first", "kind").collect()
    at_row = _rows_at(steps, [row["first"] for row in rows if row["kind"] == verdicts.ROW])
    in_traces = F.col("trace").isin([row["first"]["trace"] for row in rows if row["kind"] == verdicts.LINK])
    chained = links.with_previous(steps.where(in_traces))
    at_link = _rows_at(chained, [row["first"] for row in rows if row["kind"] == verdicts.LINK])
    for row in rows:
        for rule in verdicts.rules_in(row["violated"]):
            if row["kind"] == verdicts.ROW:
                yield explain_step(at_row[row["first"]].asDict(), rule)
            else:
                link = next(link for link in links.LINKS if link.rule is rule)
                yield explain_link(at_link[row["first"]].asDict(), link)


def _rows_at(steps: DataFrame, places: list[Row]) -> dict[Row, Row]:
    if not places:
        return {}
    in_trace, at_step = ({place[name] for place in places} for name in ("trace", "step"))
    near = steps.where(F.col("trace").isin(in_trace) & F.col("step").isin(at_step))
    rows = {Row(trace=row["trace"], step=row["step"]): row for row in near.collect()}
    return {place: rows[place] for place in places}

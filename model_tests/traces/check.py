"""The trace check on Spark: every step of logs and coordinators against its decision and the steps before it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Final

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, Row

from model_tests.reports import BadInput
from model_tests.traces import coordinator_links, coordinator_verdicts, links, trace_files, verdicts
from model_tests.traces.check_report import BranchCount, CheckReport, RuleCount, Violation
from model_tests.traces.coordinator_links import ID_LINK
from model_tests.traces.explain import explain_coordinator, explain_link, explain_step
from model_tests.traces.session import LOCAL, session
from model_tests.traces.trace_files import REASON, Quarantined
from spec.protocol.append import names
from spec.protocol.coordinator_steps import DECISIONS
from spec.rules import RULES, Circumstances, Rule
from spec.versions import NEWEST, PROFILES, Profile

LISTED: Final = 100
"""Violating steps that are explained; all are counted."""


@dataclass(frozen=True, slots=True)
class _Survey:
    traces: int
    steps: int
    profiles: Mapping[str, Profile]
    coordinated: Mapping[str, Profile]
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
    judged = judge_steps(good, chains, survey).persist()  # few bytes a step; and no filter is pushed below
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


def judge_steps(steps: DataFrame, chains: DataFrame, survey: _Survey) -> DataFrame:
    """Row verdicts on the steps of logs and of coordinators, and link verdicts on steps of traces that are whole."""
    judged = links.link_verdicts(chains)
    if survey.profiles:
        judged = judged.union(verdicts.row_verdicts(steps.where(verdicts.APPEND), survey.profiles))
    if survey.coordinated:
        judged = judged.union(coordinator_verdicts.all_coordinator_verdicts(steps, survey.coordinated))
        judged = judged.union(coordinator_links.id_link_verdicts(chains))
    return judged


def _survey(steps: DataFrame) -> _Survey:
    """What there is: how many traces and steps, of which profiles, and what must be set aside."""
    kinds = [
        trace_files.is_judgeable().alias("fit"),
        F.expr(verdicts.APPEND).alias("append"),
        F.expr(coordinator_verdicts.IS_COORDINATORS).alias("coordinators"),
    ]
    rows = steps.groupBy(*kinds, "profile").count().collect()
    return _Survey(
        traces=steps.select("trace").distinct().count(),
        steps=sum(row["count"] for row in rows),
        profiles=_present(rows, "append"),
        coordinated=_present(rows, "coordinators"),
        quarantined=() if all(row["fit"] for row in rows) else tuple(_set_aside(steps)),
    )


def _present(rows: Iterable[Row], kind: str) -> Mapping[str, Profile]:
    present = {row["profile"] for row in rows if row["fit"] and row[kind]}
    return {name: profile for name, profile in PROFILES.items() if name in present}


def _set_aside(steps: DataFrame) -> Iterator[Quarantined]:
    unfit = trace_files.with_reason(steps.where(~trace_files.is_judgeable()))
    first = F.min(F.struct("trace", "step")).alias("first")
    for row in unfit.groupBy(REASON).agg(F.count("*").alias("count"), first).collect():
        where = f"first: trace {row['first']['trace']}, step {row['first']['step']}"
        yield Quarantined(row[REASON], row["count"], where)


def _counted(judged: DataFrame) -> list[Row]:
    return judged.groupBy("kind", "profile", "transaction_version", "branch", "judged", "violated").count().collect()


def _rule_counts(counts: Iterable[Row]) -> Iterator[RuleCount]:
    judged, violated, known = Counter[Rule](), Counter[Rule](), Counter[Rule]()
    for row in counts:
        circumstances = circumstances_of(PROFILES[row["profile"]].under(row["transaction_version"]))
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
    hits = Counter[tuple[str, int]]()
    for row in counts:
        hits[row["kind"], row["branch"]] += row["count"]
    yield from (BranchCount("append", name, hits[verdicts.ROW, at]) for at, name in enumerate(names(NEWEST)))
    met = {kind for kind, _ in hits}
    for api in (api for api in DECISIONS if api in met):
        branches = enumerate(coordinator_verdicts.branch_names(api))
        yield from (BranchCount(api, name, hits[api, at]) for at, name in branches)


def _explained(steps: DataFrame, judged: DataFrame) -> Iterator[Violation]:
    """The first violations of each kind and set of rules, with why."""
    bad = judged.where("violated != 0")
    firsts = bad.groupBy("kind", "violated").agg(F.min(F.struct("trace", "step")).alias("first"))
    places = bad.select("kind", "violated", F.struct("trace", "step").alias("first"))
    some = places.orderBy("first").limit(LISTED)
    rows = firsts.union(some).distinct().orderBy("first", "kind").collect()
    places_of = {kind: [row["first"] for row in rows if row["kind"] in kinds] for kind, kinds in _TABLES.items()}
    at_row = _rows_at(steps, places_of["steps"])
    at_link = _rows_at(links.with_previous(_traces_of(steps, places_of["links"])), places_of["links"])
    of_ids = _traces_of(steps, places_of["id links"])
    at_id_link = _rows_at(coordinator_links.with_previous(of_ids), places_of["id links"])
    for row in rows:
        for rule in verdicts.rules_in(row["violated"]):
            match row["kind"]:
                case verdicts.ROW:
                    yield explain_step(at_row[row["first"]].asDict(), rule)
                case verdicts.LINK:
                    link = next(link for link in links.LINKS if link.rule is rule)
                    yield explain_link(at_link[row["first"]].asDict(), link)
                case coordinator_links.ID_LINK:
                    id_link = next(link for link in coordinator_links.ID_LINKS if link.rule is rule)
                    yield explain_link(at_id_link[row["first"]].asDict(), id_link)
                case _:
                    yield explain_coordinator(at_row[row["first"]].asDict(), rule)


_TABLES: Final = {
    "steps": (verdicts.ROW, *DECISIONS),
    "links": (verdicts.LINK,),
    "id links": (ID_LINK,),
}
"""The kinds of verdicts on steps alone, and on steps with what came before them."""


def _traces_of(steps: DataFrame, places: list[Row]) -> DataFrame:
    return steps.where(F.col("trace").isin([place["trace"] for place in places]))


def _rows_at(steps: DataFrame, places: list[Row]) -> dict[Row, Row]:
    if not places:
        return {}
    in_trace, at_step = ({place[name] for place in places} for name in ("trace", "step"))
    near = steps.where(F.col("trace").isin(in_trace) & F.col("step").isin(at_step))
    rows = {Row(trace=row["trace"], step=row["step"]): row for row in near.collect()}
    return {place: rows[place] for place in places}

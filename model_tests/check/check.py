"""The trace check: every step of logs and coordinators against its decision and the steps before it.

One plan: steps are judged where they are read, laid out by trace, become rows of chains that are compared with the step
before, and are counted. Only what is found wrong is read again, to be explained. Small traces are judged in this
process (`local_plan`), large ones on Spark (`on_spark`); the formulas, and all that follows the counts, are the same.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Final

from model_tests.check.client_histories import JudgedHistories, summed
from model_tests.check.executors import CheckExecutor, executor_for
from model_tests.common.reports import BadInput
from model_tests.histories.as_trace import READ
from model_tests.judging import chains, coordinator_verdicts, verdicts
from model_tests.judging.branch_coverage import BranchTally, coverage
from model_tests.judging.check_report import BranchCount, CheckReport, Counted, KnownCount, RuleCount, StepViolation
from model_tests.judging.explain import explain, explain_replication
from model_tests.judging.explain_history import explain_history
from model_tests.judging.fault_scope import violations_counted
from model_tests.judging.history_links import HISTORY
from model_tests.judging.step_assumptions import Fault, lacking
from model_tests.judging.step_table import DUPLICATE, LATE, UNFIT, StepTable, rows_in
from model_tests.judging.trace_slice import to_explain, to_judge_again
from model_tests.judging.unjudged_steps import counted_in, is_of_history
from model_tests.monitor.replay_command import with_commands
from model_tests.traces.schema import HISTORY_APIS, Quarantined, Row
from spec.protocol.append import names
from spec.protocol.coordinator_steps import DECISIONS
from spec.rules import RULES, Rule
from spec.versions import NEWEST, PROFILES

NOTHING_APART: Final = 2**62
"""More than the number of any trace."""

LISTED: Final = 100
"""Violating steps that are explained; all are counted."""

LOOKED_THROUGH: Final = 2_000
"""Violating traces in which it is looked for how far faults reach; in others they reach everything."""


def run(path: str, master: str = "", z3_sample: int = 0, reference_sample: int = 0) -> CheckReport:
    """Judge the traces at a path: a file or directory of Parquet or NDJSON.

    Args:
        path: of the traces.
        master: where Spark judges; empty for this process where the traces are so small that to start Spark would take
            longer, and else the Spark of this machine.
        z3_sample: number of random appends that the solver itself judges.
        reference_sample: number of random traces that the reference makes again from their seeds.

    Raises:
        BadInput: there is nothing to judge.
    """
    executor = executor_for(str(path), master)
    report, _ = executor.judging(partial(_judged, executor, str(path), NOTHING_APART))
    return replace(report, samples=tuple(executor.samples(z3_sample, reference_sample)))


def run_apart(path: str, apart: int, master: str = "") -> tuple[CheckReport, CheckReport]:
    """Judge all traces at a path at once, and report on those that are numbered `apart` or more by themselves.

    Raises:
        BadInput: there is nothing to judge.
    """
    executor = executor_for(str(path), master)
    return executor.judging(partial(_judged, executor, str(path), apart))


def _judged(executor: CheckExecutor, path: str, apart: int) -> tuple[CheckReport, CheckReport]:
    started = perf_counter()
    counts = executor.counted(apart)
    if not counts:
        raise BadInput(f"{path}: the trace files hold no step")
    steps = executor.steps
    counts = _as_far_as_faults_reach(steps, _without_links_over_gaps(counts))
    histories = _histories(steps, counts)
    together, separate = (
        _report(
            steps,
            [row for row in counts if row["apart"] is side],
            JudgedHistories(row for row in histories if (row["trace"] >= apart) is side),
            path,
        )
        for side in (False, True)
    )
    whole = replace(together, seconds=perf_counter() - started, quarantined=(*executor.files, *together.quarantined))
    return whole, separate


def _histories(steps: StepTable, counts: Iterable[Counted]) -> list[Row]:
    """The rows of client histories, where there are any."""
    found = any(is_of_history(row["kind"]) for row in counts)
    return rows_in(steps.table(steps.among("api", HISTORY_APIS), READ)) if found else []


def _without_links_over_gaps(counts: Sequence[Counted]) -> list[Counted]:
    """The counts without links in traces with a gap, if steps were set aside whose trace is not known."""
    unknown = any(row["unfit"] == UNFIT for row in counts)
    return [row for row in counts if row["complete"] or row[chains.CHAIN] <= chains.ITSELF or not unknown]


def _as_far_as_faults_reach(steps: StepTable, counts: list[Counted]) -> list[Counted]:
    """The counts, with the client events of violating traces judged again: which faults of the trace reach them."""
    looked_through = set(sorted({row["trace"] for row in counts if _is_doubtful(row)})[:LOOKED_THROUGH])
    if not looked_through:
        return counts
    again, kept = list[Counted](), list[Counted]()
    for row in counts:
        (again if _is_doubtful(row) and row["trace"] in looked_through else kept).append(row)
    of_trace = {row["trace"]: {**row, "unclean": False} for row in again}
    return kept + [
        {**of_trace[trace], **counted}
        for trace, needed in to_judge_again(steps, again)
        for counted in violations_counted(needed)
    ]


def _is_doubtful(row: Counted) -> bool:
    """A client event violates a rule, in its domain or out of it."""
    return bool(row["kind"] == HISTORY and row["violated"])


def _report(steps: StepTable, counts: Sequence[Counted], histories: JudgedHistories, path: str) -> CheckReport:
    seen = [row for row in counts if row[chains.CHAIN] == chains.ITSELF]
    return CheckReport(
        traces=sum(row["traces"] for row in seen),
        steps=sum(row["count"] for row in seen),
        seconds=0.0,
        rules=tuple(summed(_rule_counts(counts), histories.rules)),
        branches=tuple(_branch_counts(counts)),
        violations=with_commands((*_explained(steps, counts), *histories.violations), path),
        quarantined=(*_set_aside(steps, seen), *histories.unread),
        known=tuple(_known_counts(counts)),
        passed_over=counted_in((row["kind"], row["count"]) for row in seen),
        coverage=coverage(BranchTally(row["kind"], row["profile"], row["branch"], row["count"]) for row in counts),
    )


def _set_aside(steps: StepTable, seen: Sequence[Counted]) -> Iterator[Quarantined]:
    """Why steps were set aside, with the number for each reason and the first of them; traces that are cut."""
    unfit = {row["unfit"] for row in seen}
    if UNFIT in unfit:
        yield from steps.unfit()
    if DUPLICATE in unfit:
        yield from steps.duplicates()
    if LATE in unfit:
        yield from steps.late()
    if not all(row["complete"] for row in seen):
        yield from steps.cut()


def _rule_counts(counts: Iterable[Counted]) -> Iterator[RuleCount]:
    judged, violated, known = Counter[Rule](), Counter[Rule](), Counter[Rule]()
    for row in counts:
        for rule in verdicts.rules_in(row["judged"]):
            judged[rule] += row["count"]
        for rule in verdicts.rules_in(row["violated"]):
            (known if _excused(row, rule) else violated)[rule] += row["count"]
    return (RuleCount(rule.id, judged[rule], violated[rule], known[rule]) for rule in RULES.values() if judged[rule])


def _known_counts(counts: Iterable[Counted]) -> Iterator[KnownCount]:
    """Violations outside the domain of a rule, by the first assumption that does not hold there."""
    known = Counter[tuple[str, str]]()
    for row in counts:
        for rule in verdicts.rules_in(row["violated"]):
            known.update({(rule.id, assumption): row["count"] for assumption in _excused(row, rule)[:1]})
    return (KnownCount(rule, assumption, count) for (rule, assumption), count in sorted(known.items()))


def _excused(row: Counted, rule: Rule) -> list[str]:
    """Names of the assumptions of the rule that do not hold where a step was recorded; none inside its domain."""
    under = PROFILES[row["profile"]].under(row["transaction_version"])
    return lacking(rule, under, row["faults"] | (Fault.UNCLEAN if row["unclean"] else 0))


def _claimed(row: Counted) -> list[Rule]:
    """The rules that are violated inside their domain."""
    return [rule for rule in verdicts.rules_in(row["violated"]) if not _excused(row, rule)]


def _branch_counts(counts: Iterable[Counted]) -> Iterator[BranchCount]:
    hits = Counter[tuple[str, int]]()
    for row in counts:
        hits[row["kind"], row["branch"]] += row["count"]
    yield from (BranchCount("append", name, hits[verdicts.ROW, at]) for at, name in enumerate(names(NEWEST)))
    met = {kind for kind, _ in hits}
    for api in (api for api in DECISIONS if api in met):
        branches = enumerate(coordinator_verdicts.branch_names(api))
        yield from (BranchCount(api, name, hits[api, at]) for at, name in branches)


def _place(row: Counted) -> tuple[int, int, str, int, int]:
    return row["trace"], row["step"], row["kind"], row[chains.CHAIN], row["violated"]


def _explained(steps: StepTable, counts: Iterable[Counted]) -> Iterator[StepViolation]:
    """The first violations of each kind and set of rules, with why."""
    bad = sorted((row for row in counts if _claimed(row)), key=_place)
    firsts = {(row["kind"], row["violated"]): row for row in reversed(bad)}
    chosen = {_place(row): row for row in (*firsts.values(), *bad[:LISTED])}
    listed = [chosen[place] for place in sorted(chosen)]
    rows = to_explain(steps, listed)
    for row in listed:
        for rule in _claimed(row):
            if row[chains.CHAIN] == chains.OF_REPLICATION:
                yield explain_replication(next(r for r in rows[row["trace"]] if r["step"] == row["step"]), rule)
            elif row["kind"] == HISTORY:
                yield from explain_history(rows[row["trace"]], row["step"], row[chains.CHAIN], rule)
            else:
                yield from explain(rows[row["trace"]], row["step"], row["kind"], rule)

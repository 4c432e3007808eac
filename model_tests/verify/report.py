"""The result of a whole run: the verdict, the failures, and `report.json`."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from rich.console import Console

from model_tests.common.reports import HOLDS, VIOLATED
from model_tests.verify import results, table
from model_tests.verify.coverage import Cells, domain_text, joined, owed_by, uncontrolled, uncovered, waived_by
from model_tests.verify.parts import PARTS, PartOfRun
from model_tests.verify.results import Control, PartResult, PlantedDefect, Result, RunEffort
from spec.evidence import Layer
from spec.rules import RULES, Rule
from spec.systems.assumptions import ids


@dataclass(frozen=True, slots=True)
class PartRun:
    """One part that ran: what it found, how long it took, and the share of the time that it had."""

    part: PartOfRun
    found: PartResult
    seconds: float
    share: float | None

    @property
    def overran(self) -> bool:
        """Whether the part took longer than its share."""
        return self.share is not None and self.seconds > self.share


@dataclass(frozen=True)
class VerifyReport:
    """The outcome of `eos verify`.

    Attributes:
        seconds: from the first part's start to the last one's end; parts may have run side by side.
    """

    effort: RunEffort
    outcomes: tuple[PartRun, ...]
    seconds: float

    @property
    def is_whole(self) -> bool:
        """Whether every part ran."""
        return {outcome.part.name for outcome in self.outcomes} == {part.name for part in PARTS}

    @property
    def results(self) -> tuple[Result, ...]:
        """The results of all parts."""
        return tuple(result for outcome in self.outcomes for result in outcome.found.results)

    @property
    def controls(self) -> tuple[Control, ...]:
        """The controls of all parts."""
        return tuple(control for outcome in self.outcomes for control in outcome.found.controls)

    @property
    def mutants(self) -> tuple[PlantedDefect, ...]:
        """The mutants of all parts."""
        return tuple(mutant for outcome in self.outcomes for mutant in outcome.found.mutants)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The kinds of evidence that the parts which ran were to bring."""
        return tuple(layer for outcome in self.outcomes for layer in outcome.part.layers)

    @cached_property
    def cells(self) -> Cells:
        """One result for each rule and kind of evidence."""
        return joined(self.results)

    @cached_property
    def failures(self) -> tuple[str, ...]:
        """Everything that is wrong, one line each; empty if all holds."""
        parts = (f"{o.part.name}: {line}" for o in self.outcomes for line in o.found.failures)
        controls = (f"control {c.name} ({c.rule.id}): {c.got}, not {c.expected}" for c in self.controls if not c.passed)
        mutants = (f"mutant {m.name}: {m.rule.id} did not see it" for m in self.mutants if not m.killed)
        unseen = uncontrolled(self.controls, self.mutants) if self.is_whole else ()
        return (*parts, *uncovered(self.results, self.layers), *controls, *mutants, *unseen)

    @property
    def ok(self) -> bool:
        """Whether everything holds that was to be judged."""
        return not self.failures

    @property
    def exit_code(self) -> int:
        """`HOLDS` or `VIOLATED`: a run that judged nothing is a failure."""
        return HOLDS if self.ok else VIOLATED

    def to_json(self) -> dict[str, object]:
        """The report as plain JSON values.

        Fields:
            commit: what was checked out; empty without git
            sources: digest of `spec`, `reference` and `model_tests` without unit tests: what the results are of
            profile: `quick`, `default` or `deep`
            seconds: seconds that it took
            ok: everything holds that was to be judged
            failures[]: what is wrong, a line each
            *.*: figures of one part, under its name
        """
        return {
            "commit": results.commit(),
            "sources": results.digest(),
            "profile": str(self.effort),
            "seconds": round(self.seconds, 3),
            "ok": self.ok,
            "failures": list(self.failures),
            "rules": [rule_json(self, rule) for rule in RULES.values()],
            "controls": [control_json(control) for control in self.controls],
            "mutants": [mutant_json(mutant) for mutant in self.mutants],
            "parts": [share_json(outcome) for outcome in self.outcomes],
            **{part.name: _extra(self, part.name) for part in PARTS if part.name != "mutants"},
        }

    def print(self, console: Console) -> None:
        """Write the tables, the failures and the verdict."""
        table.rules(console, self.cells, set(self.layers))
        table.assumed(console, self.cells)
        table.controls(console, self.controls)
        table.mutants(console, self.mutants)
        table.parts(console, [(o.found, o.seconds, o.share, o.overran) for o in self.outcomes])
        table.verdict(console, str(self.effort), self.failures, self.seconds)


def _extra(report: VerifyReport, name: str) -> dict[str, object]:
    return next((dict(o.found.extra) for o in report.outcomes if o.part.name == name), {})


def rule_json(report: VerifyReport, rule: Rule) -> dict[str, object]:
    """One rule with its evidence as plain JSON values.

    Fields:
        id: the rule
        statement: its statement
        domain: where it is claimed
        evidence.*.verdict: by kind: `proved`, `holds`, `violated`, `unknown`, `missing`, `not run`
        evidence.*.count: what was judged, in the unit of its kind
        evidence.*.*: further figures
        evidence.*.seconds: seconds that it took
        evidence.*.detail: of a violation, the first; of a proof of facts alone, that it assumes nothing
        evidence.*.assumptions[]: what the proof, or the system that was searched, takes for granted
        waived[]: a kind of evidence that is waived, and the reason; none is
    """
    return {
        "id": rule.id,
        "statement": rule.statement,
        "domain": domain_text(rule),
        "evidence": dict(_evidence_json(report, rule)),
        "waived": [{"evidence": str(layer), "reason": reason} for layer, reason in waived_by(rule).items()],
    }


def _evidence_json(report: VerifyReport, rule: Rule) -> Iterator[tuple[str, dict[str, object]]]:
    owed = owed_by(rule)
    for layer in Layer:
        result = report.cells.get((rule.id, layer))
        if result is not None:
            yield str(layer), _result_json(result)
        elif layer in owed:
            yield str(layer), {"verdict": "missing" if layer in report.layers else "not run", "count": 0}


def _result_json(result: Result) -> dict[str, object]:
    return {
        **result.figures,
        "verdict": str(result.verdict),
        "count": result.count,
        "seconds": round(result.seconds, 3),
        **({"detail": result.detail} if result.detail else {}),
        **({"assumptions": ids(result.assumptions)} if result.assumptions else {}),
    }


def control_json(control: Control) -> dict[str, object]:
    """One control as plain JSON values.

    Fields:
        name: what was changed
        rule: the rule that this must break
        system: the system that is changed, where it is one
        expected: what must be found
        got: what was found
        detail: more, where there is more
    """
    return {
        "name": control.name,
        "rule": control.rule.id,
        **({"system": control.system} if control.system else {}),
        "expected": control.expected,
        "got": control.got,
        **({"detail": control.detail} if control.detail else {}),
    }


def mutant_json(mutant: PlantedDefect) -> dict[str, object]:
    """One planted defect as plain JSON values.

    Fields:
        name: the planted defect
        rule: the rule that it breaks
        killed_by[]: a check that saw it, with the rule it named
        killed: the rule that it breaks is among them
        seconds: seconds that it took
    """
    return {
        "name": mutant.name,
        "rule": mutant.rule.id,
        "killed_by": list(mutant.killed_by),
        "killed": mutant.killed,
        "seconds": round(mutant.seconds, 3),
    }


def share_json(outcome: PartRun) -> dict[str, object]:
    """One part of the run, and how long it took, as plain JSON values.

    Fields:
        name: the part
        seconds: seconds that it took
        share: seconds that it may take
        overran: it took longer
        sampled: `ran n of N` where it took a sample
        failures[]: what went wrong beyond single results
    """
    return {
        "name": outcome.part.name,
        "seconds": round(outcome.seconds, 3),
        "share": outcome.share,
        "overran": outcome.overran,
        "sampled": outcome.found.sampled,
        "failures": list(outcome.found.failures),
    }


def part_json(outcome: PartRun) -> dict[str, object]:
    """One part's findings as plain JSON values."""
    found = outcome.found
    return {
        **share_json(outcome),
        "results": [{"rule": r.rule.id, "evidence": str(r.layer), **_result_json(r)} for r in found.results],
        "controls": [control_json(control) for control in found.controls],
        "mutants": [mutant_json(mutant) for mutant in found.mutants],
        "extra": dict(found.extra),
    }

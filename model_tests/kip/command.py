"""The command `eos kip FILE` and its output: what a variant of Kafka keeps, what it breaks, and what it changes.

The variant goes through facts, proof, searches, controls, and a comparison of states.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from markupsafe import Markup
from rich.console import Console
from rich.table import Table
from rich.text import Text

from model_tests.common.html_page import html_page
from model_tests.common.reports import HOLDS, VIOLATED, BadInput, wide, writing
from model_tests.diagrams.sequence import text_of
from model_tests.diagrams.sequence_svg import svg_of
from model_tests.kip.loading import loaded, located_errors
from model_tests.kip.proving import OpenObligation, VariantProof, proved_facts, proved_variant
from model_tests.kip.searching import ControlResult, DrawnRun, InstanceResult, controls, searched
from model_tests.verify.prove import ANSWERS
from model_tests.verify.proved import open_among, why_open
from spec.engines.counterexample import InductionCounterexample
from spec.engines.induction import Obligation
from spec.engines.verdict import Refuted, Trace
from spec.systems.assumptions import ids
from spec.systems.transactions.variant import NEWEST_RELEASE, Variant

# --- the output -------------------------------------------------------------------------------------------------------


MOST_SHOWN: Final = 3
"""Counterexamples to induction that are printed whole; the others are in the JSON."""


@dataclass(frozen=True, slots=True)
class KipReport:
    """What became of a variant; a part that was not asked for is None.

    Attributes:
        facts: the facts of its decisions, for all inputs.
        proof: by induction.
        instances: what was searched.
        controls: what must break it.
    """

    variant: Variant
    facts: tuple[Obligation, ...] | None
    proof: VariantProof | None
    instances: tuple[InstanceResult, ...] | None
    controls: tuple[ControlResult, ...] | None

    @property
    def failures(self) -> tuple[str, ...]:
        """What is wrong, a line each; the worst first."""
        return tuple(self._failures())

    def _failures(self) -> Iterator[str]:
        for each in self.instances or ():
            if isinstance(each.verdict, Refuted):
                yield f"{self._rule_of(each)}: {each.verdict.claim} is violated in the instance {each.instance.name}"
            elif not each.passed:
                yield f"{each.instance.name}: {_mended(each) or each.verdict}"
        yield from (f"{_rule(one)}: {why_open(one)}" for one in open_among(self.facts or ()))
        if self.proof is not None:
            yield from self.proof.contradictions
            yield from (f"{_rule(one.obligation)}: {one.obligation} is not proved" for one in self.proof.open)
        for control in self.controls or ():
            if not control.passed:
                yield f"control {control.name}: {control.claim} {control.got}, expected {control.expected}"

    def _rule_of(self, each: InstanceResult) -> str:
        return each.violated.rule.id if each.violated is not None else ""

    @property
    def verdict(self) -> str:
        """In a line: `holds`, or what is wrong first."""
        if not self.failures:
            return f"{self.variant.name}: holds"
        more = f", and {len(self.failures) - 1} more" if len(self.failures) > 1 else ""
        return f"{self.variant.name}: {self.failures[0]}{more}"

    @property
    def exit_code(self) -> int:
        """Whether everything holds."""
        return VIOLATED if self.failures else HOLDS

    def to_json(self) -> dict[str, object]:
        """Everything as plain values."""
        before = self.variant.before or NEWEST_RELEASE
        return {
            "name": self.variant.name,
            "sentence": self.variant.sentence,
            "source": list(self.variant.source),
            "compared_with": before.name,
            "verdict": self.verdict,
            "holds": not self.failures,
            "failures": list(self.failures),
            "facts": None if self.facts is None else _facts_json(self.facts),
            "proof": None if self.proof is None else _proof_json(self.proof),
            "instances": None if self.instances is None else [_instance_json(each) for each in self.instances],
            "controls": None if self.controls is None else [_control_json(each) for each in self.controls],
        }

    def print(self, console: Console) -> None:
        """The variant, then each part, then the verdict."""
        for line in (Text(self.variant.name, "bold"), Text(self.variant.sentence)):
            console.print(line, soft_wrap=True)
        if self.facts is not None:
            _say(console, f"facts for all inputs: {_counted(self.facts)}")
        if self.proof is not None:
            _print_proof(console, self.proof)
        if self.instances is not None:
            wide(console).print(_table(self.instances, (self.variant.before or NEWEST_RELEASE).name))
            _print_runs(console, self.instances)
        if self.controls is not None:
            failed = [each for each in self.controls if not each.passed]
            _say(console, f"controls: {len(self.controls) - len(failed)} of {len(self.controls)} as expected")
        for failure in self.failures:
            console.print(Text(f"FAILED  {failure}", "red"), soft_wrap=True)
        console.print(Text(self.verdict, "bold red" if self.failures else "bold green"), soft_wrap=True)


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _rule(obligation: Obligation) -> str:
    return obligation.rule.id


def _counted(obligations: Iterable[Obligation]) -> str:
    every = tuple(obligations)
    return f"{len(every) - len(open_among(every))} of {len(every)} proved"


def _print_proof(console: Console, proof: VariantProof) -> None:
    _say(console, f"proof by induction: {_counted(proof.obligations)}; assumes {', '.join(ids(proof.assumptions))}")
    for line in proof.contradictions:
        _say(console, line)
    shown = 0
    for each in proof.open:
        _say(console, heading(each))
        if each.found is not None and shown < MOST_SHOWN:
            wide(console).print(state_table(each.found))
            shown += 1


def heading(each: OpenObligation) -> str:
    """The open obligation, and the content of the table beneath it."""
    if each.found is None:
        return f"not proved: {each.obligation}: {each.reason or 'there is no counterexample in the bounded instance'}"
    about = f" for {', '.join(map(str, each.found.about))}" if each.found.about else ""
    if each.found.happening is None:
        return f"not proved: {each.obligation}: every lemma holds in this state, and {each.found.claim}{about} does not"
    return (
        f"not proved: {each.obligation}: every lemma holds in this state, and after {each.found.happening}"
        f" {each.found.claim}{about} does not"
    )


def state_table(found: InductionCounterexample) -> Table:
    """The state before and after, as far as it differs from the start."""
    table = Table("function", "at", "before", "after")
    for cell in found.cells:
        after = "" if cell.after == cell.before else str(cell.after)
        table.add_row(cell.function, ", ".join(map(str, cell.at)), str(cell.before), after)
    return table


def _table(instances: Iterable[InstanceResult], before: str) -> Table:
    table = Table("instance", "verdict", f"before ({before})", "states", "before", "in both")
    for each in instances:
        verdict = Text(_verdict(each), "green" if each.passed else "bold red")
        found = each.difference
        counted = (f"{found.here:,}", f"{found.there:,}", f"{found.both:,}")
        table.add_row(each.instance.name, verdict, _mended(each), *counted)
    return table


def _verdict(each: InstanceResult) -> str:
    return str(each.verdict.claim) + " violated" if isinstance(each.verdict, Refuted) else each.word


def _mended(each: InstanceResult) -> str:
    if each.before is None:
        return ""
    if isinstance(each.before, Refuted):
        return f"{each.instance.mends} violated"
    return f"{each.instance.mends} is not violated before"


def _print_runs(console: Console, instances: Iterable[InstanceResult]) -> None:
    """Runs that violate a theorem, or else lead to states that only one of the two systems has; each run once."""
    shown = set[Trace]()
    for each in instances:
        found = each.difference
        if each.violating is None and not found.whole:
            _say(console, f"{each.instance.name}: too many states to be compared")
        elif each.violating is None and found.equal:
            _say(console, f"{each.instance.name}: the same states")
        for run in each.runs:
            if run.trace not in shown:
                _print_run(console, run)
            shown.add(run.trace)


def _print_run(console: Console, run: DrawnRun) -> None:
    _say(console, text_of(run.picture))
    for number, names in enumerate(run.lost, start=1):
        if names:
            _say(console, f"  step {number} loses: {', '.join(names)}")


def _facts_json(facts: tuple[Obligation, ...]) -> dict[str, object]:
    return {"proved": len(facts) - len(open_among(facts)), "open": [why_open(each) for each in open_among(facts)]}


def _proof_json(proof: VariantProof) -> dict[str, object]:
    return {
        "obligations": len(proof.obligations),
        "proved": len(proof.obligations) - len(proof.open),
        "theorems": list(proof.theorems),
        "assumptions": ids(proof.assumptions),
        "contradictions": list(proof.contradictions),
        "open": [
            {
                "rule": each.obligation.rule.id,
                "lemma": each.obligation.claim,
                "action": each.obligation.action,
                "said": heading(each),
                "state": [_cell_json(cell) for cell in each.found.cells] if each.found else [],
            }
            for each in proof.open
        ],
    }


def _cell_json(cell: object) -> dict[str, object]:
    names = ("function", "at", "before", "after")
    return {name: getattr(cell, name) for name in names}


def _instance_json(each: InstanceResult) -> dict[str, object]:
    found = each.difference
    return {
        "name": each.instance.name,
        "states": each.states,
        "verdict": _verdict(each),
        "before": _mended(each),
        "here": found.here,
        "there": found.there,
        "both": found.both,
        "whole": found.whole,
        "violating": _run_json(each.violating),
        "mended": _run_json(each.mended),
        "only_here": _run_json(each.only_here),
        "only_there": _run_json(each.only_there),
    }


def _run_json(run: DrawnRun | None) -> dict[str, object] | None:
    if run is None:
        return None
    return {
        "trace": [str(step) for step in run.trace],
        "lost": [list(names) for names in run.lost],
        "drawing": text_of(run.picture),
    }


def _control_json(each: ControlResult) -> dict[str, object]:
    return {"name": each.name, "claim": each.claim, "expected": each.expected, "got": each.got}


FACTS, PROOF, SEARCHES, CONTROLS = "facts", "proof", "searches", "controls"


# --- the command ------------------------------------------------------------------------------------------------------


PARTS: Final = (FACTS, PROOF, SEARCHES, CONTROLS)
"""What a variant goes through; the comparison of states is part of the searches."""


def run(
    file: Path, *, instance: str = "", only: str = "", html: Path | None = None, kept: Path | None = ANSWERS
) -> KipReport:
    """Judge a variant.

    Args:
        file: where it is.
        instance: the only one of its instances that is searched; without it all.
        only: parts, separated by commas; without it all.
        html: where a page is written, too.
        kept: where answers of earlier proofs are; without it everything is solved.

    Raises:
        BadInput: the file has no variant, or there is no such instance or part.
    """
    variant = _only_instance(loaded(file), instance)
    parts = _parts(only)
    with located_errors(file):
        report = KipReport(
            variant,
            facts=proved_facts(variant) if FACTS in parts else None,
            proof=proved_variant(file, variant, kept) if PROOF in parts else None,
            instances=tuple(searched(variant, each) for each in variant.instances) if SEARCHES in parts else None,
            controls=tuple(controls(variant)) if CONTROLS in parts else None,
        )
    if html is not None:
        write_page(report, html)
    return report


def _only_instance(variant: Variant, name: str) -> Variant:
    if not name:
        return variant
    found = tuple(each for each in variant.instances if each.name == name)
    if not found:
        names = ", ".join(repr(each.name) for each in variant.instances)
        raise BadInput(f"{variant.name} has no instance {name!r}; there are {names}")
    return replace(variant, instances=found)


def _parts(only: str) -> tuple[str, ...]:
    requested = tuple(part.strip() for part in only.split(",")) if only else PARTS
    if strangers := [part for part in requested if part not in PARTS]:
        raise BadInput(f"--only takes {', '.join(PARTS)}; not {strangers[0]!r}")
    return requested


def write_page(report: KipReport, file: Path) -> None:
    """Write the page of a report.

    Raises:
        BadInput: the file cannot be written.
    """
    with writing(file):
        file.write_text(page(report), encoding="utf-8")


def page(report: KipReport) -> str:
    """The page as text."""
    return html_page("model_tests.kip", report=report, plain=report.to_json(), heading=heading, drawn=_drawn)


def _drawn(run: DrawnRun) -> Markup:
    return Markup(svg_of(run.picture))

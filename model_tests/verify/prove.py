"""The command `eos prove`: every obligation beneath a rule, searches within bounds, controls, earlier versions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from model_tests.common.reports import HOLDS, VIOLATED, BadInput
from model_tests.verify import liveness_searches
from model_tests.verify.assumed import as_json
from model_tests.verify.older_versions import Earlier, earlier
from model_tests.verify.proofs import PROVED_HERE, SEARCHES, ProofAttempt, attempted, controls_of, searched
from model_tests.verify.proved import SecondOpinions
from model_tests.verify.proving import Spread, facts, on_cores
from model_tests.verify.results import Control, Result, RunEffort
from model_tests.verify.theorems import CLAIMED, Theorem, lines, theorems
from spec.engines.induction import Obligation
from spec.engines.proof_cache import Entries, read, write
from spec.engines.solving import SecondSolver, SolverSettings, is_installed
from spec.evidence import Layer
from spec.rules import Rule
from spec.systems.assumptions import Assumption, ids, in_order

ANSWERS: Final = Path("build/prove/answers.json")
"""Where answers are kept from one run to the next."""

MOST_KEPT: Final = 20_000
"""Where there are more answers than this, only those of the last run are kept."""

VERSIONS: Final = (0, 1, CLAIMED)


@dataclass(frozen=True, slots=True)
class ProofReport:
    """What `eos prove` found.

    Attributes:
        theorems: what is proved of systems, each with the assumptions of its proof.
        vacuous: what is claimed of nothing, and what would prove anything.
        earlier: each rule under each requested earlier transaction version.
        notes: what is to be known about the run itself.
    """

    obligations: tuple[Obligation, ...]
    results: tuple[Result, ...]
    theorems: tuple[Theorem, ...] = ()
    vacuous: tuple[str, ...] = ()
    controls: tuple[Control, ...] = ()
    earlier: tuple[Earlier, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """All that some result takes for granted, by number."""
        of_results = (assumption for each in self.results for assumption in each.assumptions)
        of_earlier = (assumption for each in self.earlier for assumption in each.assumptions)
        return in_order((*of_results, *of_earlier))

    @property
    def exit_code(self) -> int:
        """Whether everything holds."""
        judged = [r.passed for r in self.results] + [c.passed for c in self.controls]
        return HOLDS if all(judged) and all(e.passed for e in self.earlier) and not self.vacuous else VIOLATED

    def to_json(self) -> dict[str, object]:
        """Obligations and results as plain values.

        Fields:
            vacuous[]: what is claimed of nothing, or would prove anything, a line each; any of them is a failure
            results[].rule: the rule
            results[].evidence: the kind of evidence
            results[].verdict: `proved`, `holds`, `violated` or `unknown`
            results[].seconds: seconds that it took
            results[].figures.*: what was proved or searched, by name
            results[].detail: of a failure, where; of a proof of facts alone, that it assumes nothing
            results[].assumptions[]: what the proof, or the system that was searched, takes for granted, by number
            controls[].name: what was changed
            controls[].rule: the rule that this must break
            controls[].system: the system that is changed; empty where it is a single decision
            controls[].expected: what must be found
            controls[].got: what was found
            controls[].detail: the shortest run that violates it
            notes[]: what is to be known about the run itself
        """
        return {
            "obligations": [obligation_json(o) for o in self.obligations],
            "theorems": [theorem.to_json() for theorem in self.theorems],
            "assumptions": [as_json(assumption) for assumption in self.assumptions],
            "vacuous": list(self.vacuous),
            "results": [
                {
                    "rule": r.rule.id,
                    "evidence": str(r.layer),
                    "verdict": str(r.verdict),
                    "seconds": round(r.seconds, 3),
                    "figures": dict(r.figures),
                    "detail": r.detail,
                    "assumptions": ids(r.assumptions),
                }
                for r in self.results
            ],
            "controls": [
                {
                    "name": c.name,
                    "rule": c.rule.id,
                    "system": c.system,
                    "expected": c.expected,
                    "got": c.got,
                    "detail": c.detail,
                }
                for c in self.controls
            ],
            "earlier": [each.to_json() for each in self.earlier],
            "notes": list(self.notes),
        }

    def print(self, console: Console) -> None:
        """A line for each rule and kind of evidence, what failed, and the assumptions."""
        if self.results:
            console.print(self._table())
        for result in self.results:
            if not result.passed:
                console.print(f"{result.rule.id}: {result.detail}", markup=False)
        for control in self.controls:
            reported = "ok" if control.passed else f"got {control.got}"
            console.print(f"control {control.name} ({control.rule.id}): {reported}, {control.detail}", markup=False)
        for line in (*(line for each in self.earlier for line in each.lines()), *self.vacuous, *self._assumed()):
            console.print(line, markup=False, soft_wrap=True)
        for line in self.notes:
            console.print(line, markup=False, soft_wrap=True)

    def _assumed(self) -> Iterator[str]:
        """What each theorem, and each other result, takes for granted by number; then every assumption, a line each."""
        for theorem in self.theorems:
            assumed = _listed(theorem.assumptions)
            yield f"{theorem.name} ({theorem.rule.id}), proved of {theorem.system}, assumes {assumed}"
        for result in self.results:
            if result.layer is not Layer.PROOF:
                yield f"{result.rule.id}, {result.layer}, assumes {_listed(result.assumptions)}"
        yield from lines(self.assumptions)

    def _table(self) -> Table:
        table = Table("rule", "evidence", "verdict", "seconds", "figures")
        for result in self.results:
            figures = ", ".join(f"{name} {figure}" for name, figure in result.figures.items())
            table.add_row(result.rule.id, result.layer, result.verdict, f"{result.seconds:.1f}", figures)
        return table


def _listed(assumptions: Iterable[Assumption]) -> str:
    return ", ".join(ids(assumptions)) or "nothing"


def obligation_json(obligation: Obligation) -> dict[str, object]:
    """One obligation as plain values.

    Fields:
        rule: the rule that it is beneath
        lemma: what is to be proved: a lemma, a theorem, a fact
        action: under which action; or at the start, in every state, for all inputs
        verdict: `proved`, `refuted` or `unknown`; only the first is a success
        solved: the solver decided it: the action changes the formula, and no answer was kept
        seconds: seconds that it took
        kept: the answer is of an earlier run, to the same question
        needs[]: lemmas that the solver used, besides the lemma itself before the action
        second: what cvc5 says of the proof: `agrees`, `disagrees`, `undecided`, or empty where it was not run
    """
    return {
        "rule": obligation.rule.id,
        "lemma": obligation.claim,
        "action": obligation.action,
        "verdict": type(obligation.verdict).__name__.lower(),
        "solved": obligation.solved,
        "seconds": round(obligation.seconds, 4),
        "kept": obligation.kept,
        "needs": sorted(obligation.needs),
        "second": str(obligation.second),
    }


def run(
    rule: Rule | None = None,
    *,
    versions: Sequence[int] = (CLAIMED,),
    seed: int = 0,
    controls: bool = False,
    kept: Path | None = ANSWERS,
    spread: Spread = on_cores,
    second: SecondSolver | None = None,
) -> ProofReport:
    """Prove one rule or all of them, and search for counterexamples within bounds.

    Args:
        rule: which; without it all.
        versions: of transactions, 0 to 2; under the earlier ones the obligations that fail are named, with a run.
        seed: of the solver's chance.
        controls: whether every change that must break a rule is searched as well.
        kept: where the answers of earlier runs are; `None` solves everything and keeps nothing.
        spread: where the obligations are solved.
        second: gives a second opinion on what is proved.

    Raises:
        BadInput: nothing is known of the rule, or the second solver is not installed.
    """
    request = _asked(rule)
    if second is not None and second.asks and not is_installed():
        raise BadInput("a second opinion needs cvc5: pip install cvc5")
    entries, damage = (None, "") if kept is None else read(kept)
    proving = _Proving(request, SolverSettings(seed=seed, second=second), entries, spread)
    found = proving.newest(rule) if CLAIMED in versions else ProofReport((), ())
    before = tuple(e for version in versions if version != CLAIMED for e in proving.before(version))
    if kept is not None:
        write(kept, proving.to_keep())
    return ProofReport(
        found.obligations,
        found.results,
        found.theorems,
        found.vacuous,
        controls_of(request) if controls else (),
        before,
        (*((damage,) if damage else ()), *found.notes),
    )


class _Proving:
    """One run of the command, and the answers that it comes by."""

    def __init__(
        self, requested: tuple[Rule, ...], settings: SolverSettings, entries: Entries | None, spread: Spread
    ) -> None:
        self._asked = requested
        self._settings = settings
        self._entries = entries
        self._spread = spread
        self._answers: Entries = {}

    def newest(self, rule: Rule | None) -> ProofReport:
        """Under version 2: all evidence that there is without running anything."""
        attempt = self._attempt(CLAIMED)
        proved = attempt.proofs
        listed = proved.of(rule) if rule else (*proved.system, *proved.facts)
        results = (proved.result(each) for each in self._asked if each in PROVED_HERE)
        found, vacuous = searched(RunEffort.QUICK, self._asked)
        live = liveness_searches.results(RunEffort.QUICK, self._asked)
        opinions = SecondOpinions.of(listed)
        wrong = (*attempt.contradictions, *attempt.unproved, *vacuous, *opinions.wrong())
        notes = (*attempt.beside, *opinions.notes())
        return ProofReport(listed, (*results, *found, *live), theorems(self._asked), wrong, notes=notes)

    def before(self, version: int) -> tuple[Earlier, ...]:
        """Under an earlier version: each rule with a theorem about transactions or about what lies beneath them."""
        systems = self._attempt(version).proofs
        return tuple(earlier(rule, version, systems.about(rule)) for rule in self._asked if systems.about(rule))

    def to_keep(self) -> Entries:
        """All answers, or, where these are too many, those of this run."""
        together = {**(self._entries or {}), **self._answers}
        return together if len(together) <= MOST_KEPT else self._answers

    def _attempt(self, version: int) -> ProofAttempt:
        attempt = attempted(self._asked, self._spread, self._settings, self._entries, version)
        self._answers.update(attempt.answers)
        return attempt


def _asked(rule: Rule | None) -> tuple[Rule, ...]:
    of_searches = (each for one in SEARCHES for each in one.rules)
    of_facts = (fact.rule for fact, _ in facts())
    known = dict.fromkeys((*PROVED_HERE, *of_searches, *liveness_searches.RULES, *of_facts))
    if rule is None:
        return tuple(known)
    if rule not in known:
        raise BadInput(f"{rule.id} has neither proof nor search yet; known are {', '.join(each.id for each in known)}")
    return (rule,)

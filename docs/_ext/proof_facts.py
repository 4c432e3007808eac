"""The facts that the proofs of the theorems need, found when the docs are built and kept until a source changes.

A proof's needs are the hypotheses in the contradiction that the solver found: what it used, of which less may do.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from bug_facts import ROOT, digest_of_sources

from model_tests.verify import liveness_searches
from model_tests.verify.assumed import as_json
from model_tests.verify.model_checking import Searched
from model_tests.verify.proofs import SEARCHES, attempted
from model_tests.verify.proved import ProvedSystem
from model_tests.verify.proving import on_cores
from model_tests.verify.results import RunEffort
from model_tests.verify.state_counts import of_systems
from model_tests.verify.theorems import BUNDLES, is_theorem_of
from model_tests.verify.theorems import theorems as proved_theorems
from spec import rules
from spec.engines.explore import explore
from spec.engines.induction import Obligation
from spec.engines.verdict import Proved, Refuted
from spec.rules import RULES, Rule
from spec.systems.assumptions import in_order

KEPT: Final = ROOT / "build" / "proof_needs.json"
MAKER: Final = Path("docs/_ext/proof_facts.py")

THEOREMS: Final = (
    rules.TXN_NO_CROSSTALK,
    rules.TXN_ATOMIC,
    rules.FENCE_ZOMBIE_CANNOT_COMMIT,
    rules.SEQ_EXACTLY_ONCE,
)
"""The rules on the front page."""

Facts = Mapping[str, Any]


def theorems() -> Mapping[str, Facts]:
    """What is known of the proof of each of these rules, by its id."""
    return dict(facts()["theorems"])


def defects() -> list[Facts]:
    """How many states each broken system has, and the true one."""
    return list(facts()["defects"])


def happenings() -> list[Facts]:
    """Of each fault and each action the instance in which the action happens after the fault."""
    return list(facts()["after_faults"])


@lru_cache(maxsize=1)
def facts() -> Facts:
    """All of it."""
    digest = digest_of_sources(MAKER)
    if KEPT.is_file():
        kept = json.loads(KEPT.read_text(encoding="utf-8"))
        if kept["digest"] == digest:
            return dict(kept)
    found = _made_apart()
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json.dumps({"digest": digest, **found}, indent=1), encoding="utf-8")
    return found


def _made_apart() -> Facts:
    """In an interpreter of its own: what runs Sphinx cannot be imported by workers."""
    paths = os.pathsep.join((str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])))
    done = subprocess.run(
        [sys.executable, str(ROOT / MAKER)], env=os.environ | {"PYTHONPATH": paths}, stdout=subprocess.PIPE, check=True
    )
    return dict(json.loads(done.stdout))


def made() -> Facts:
    """The facts, from proofs and searches."""
    proofs = attempted(THEOREMS, on_cores).proofs
    return {
        "theorems": {rule.id: facts_of(rule, proofs.about(rule)) for rule in THEOREMS},
        "defects": [{**asdict(each), "difference": each.difference} for each in of_systems()],
        "after_faults": [asdict(each) for each in liveness_searches.table()],
    }


def facts_of(rule: Rule, systems: Iterable[ProvedSystem]) -> Facts:
    """The facts of one rule, as plain JSON values, of the first system that has a theorem of it."""
    about = tuple(systems)
    one = about[0]
    names = {claim.name for claim in one.system.theorems if is_theorem_of(claim, rule)}
    shown = (theorem for theorem in proved_theorems([rule]) if theorem.name in names)
    assumed = in_order(assumption for theorem in shown for assumption in theorem.assumptions)
    beneath = one.beneath(rule)
    needs = needs_by_action(beneath)
    used = {name for names in needs.values() for name in names} | {o.claim for o in beneath}
    search = next(each for each in SEARCHES if each.system.name == one.system.name)
    return {
        "statement": RULES[rule.id].statement,
        "bundled": [claim.sentence for claim in one.system.theorems if claim.name in BUNDLES.get(rule, ())],
        "theorems": {claim.name: claim.sentence for claim in one.system.theorems if claim.name in names},
        "lemmas": {claim.name: claim.sentence for claim in one.system.lemmas if claim.name in used},
        "assumptions": [as_json(assumption) for assumption in assumed],
        "proved": all(isinstance(o.verdict, Proved) for o in beneath),
        "obligations": len(beneath),
        "needs": needs,
        "witness": _witness(search),
        "control": _control(rule, search),
    }


def needs_by_action(obligations: Iterable[Obligation]) -> dict[str, list[str]]:
    """For each action the lemmas that are needed to show that it keeps what is beneath the theorem.

    A lemma that an action does not touch needs nothing; one that it keeps by itself alone is not listed either.
    """
    found: dict[str, set[str]] = {}
    for obligation in obligations:
        found.setdefault(obligation.action, set()).update(obligation.needs - {obligation.claim})
    return {action: sorted(names) for action, names in found.items()}


def _witness(search: Searched) -> dict[str, int]:
    """The states of interest that are reached in the least instance that has some, and in how many steps."""
    for instance in search.explored_by(RunEffort.QUICK):
        built = instance.built()
        reached = explore(built.system, built.finite, []).reached
        if reached:
            return {goal: len(trace) for goal, trace in reached.items()}
    return {}


def _control(rule: Rule, search: Searched) -> Facts:
    """The first change that breaks a theorem of the rule, and after how many steps."""
    for broken in search.broken:
        built = broken.built()
        claim = built.system.claim(broken.violates)
        if claim.rule == rule:
            verdict = explore(built.system, built.finite, [claim]).verdict
            depth = verdict.depth if isinstance(verdict, Refuted) else -1
            return {"name": built.name, "violates": claim.name, "depth": depth}
    return {}


if __name__ == "__main__":
    json.dump(made(), sys.stdout)

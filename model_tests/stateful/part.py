"""The stateful part of `eos verify`: the machine runs, and each rule is told how often it was at stake."""

import time
from typing import Final

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from model_tests.stateful.idempotence import ForgetfulMachine, IdempotenceMachine
from model_tests.stateful.ledger import Broken, Ledger, Violation
from model_tests.verify.effort import hypothesis_settings
from model_tests.verify.results import Effort, Part, Result, Verdict
from spec import rules
from spec.evidence import Layer
from spec.rules import Rule

RULES: Final = (
    rules.SEQ_FIRST,
    rules.SEQ_SUCCESSOR,
    rules.SEQ_EPOCH_RESET,
    rules.SEQ_DUPLICATE_WINDOW,
    rules.SEQ_EXACTLY_ONCE,
    rules.SEQ_ORDER,
    rules.SEQ_REFUSAL_IS_PURE,
    rules.SEQ_WELL_FORMED,
    rules.FENCE_STALE_EPOCH,
    rules.FENCE_EPOCH_MONOTONE,
)
"""The rules that the machine has invariants for."""

EXAMPLES: Final = {Effort.QUICK: 240, Effort.DEFAULT: 400, Effort.DEEP: 5000}
"""A run of this machine is cheap: the quick efforts get more of them than other state machines."""

FORGETFUL_SHARE: Final = 5
"""One in so many examples is run with producer state that expires."""


def evidence(effort: Effort) -> Part:
    """Run the machine with state retained, and a smaller number of runs with state that expires."""
    chosen = settings(hypothesis_settings(effort), max_examples=EXAMPLES[effort])
    fewer = settings(chosen, max_examples=EXAMPLES[effort] // FORGETFUL_SHARE)
    retained, forgetful = Ledger(), Ledger()
    started = time.monotonic()
    failures = [
        *failures_of(IdempotenceMachine, retained, chosen),
        *failures_of(ForgetfulMachine, forgetful, fewer),
    ]
    seconds = time.monotonic() - started
    return Part(
        name="stateful",
        results=tuple(result(rule, retained, failures, seconds) for rule in RULES),
        extra={
            "examples": retained.runs + forgetful.runs,
            "steps": retained.steps + forgetful.steps,
            "known": sum(retained.known.values()) + sum(forgetful.known.values()),
            "known_by_rule": {rule.id: retained.known[rule] + forgetful.known[rule] for rule in RULES},
        },
        failures=tuple(str(failure) for failure in failures if not isinstance(failure, Violation)),
    )


def failures_of(machine: type[IdempotenceMachine], ledger: Ledger, chosen: settings) -> list[Violation | str]:
    """Run a machine on an account of its own, and say what broke: rules, or the machine itself."""
    accounted = type(machine.__name__, (machine,), {"ledger": ledger})
    try:
        run_state_machine_as_test(accounted, settings=chosen)
    except Exception as error:  # noqa: BLE001  # whatever stops the machine is a failure of this part, told in its report
        return [told(cause) for cause in causes(error)]
    return []


def causes(error: BaseException) -> list[BaseException]:
    """The errors in a group of errors, Hypothesis raises one if it found several; else the error itself."""
    if isinstance(error, BaseExceptionGroup):
        return [cause for inner in error.exceptions for cause in causes(inner)]
    return [error]


def told(error: BaseException) -> Violation | str:
    """The rule that broke, or one line about an error that is none."""
    if isinstance(error, Broken):
        return error.violation
    return f"the machine stopped: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def result(rule: Rule, ledger: Ledger, failures: list[Violation | str], seconds: float) -> Result:
    """What the runs say about a rule; of one that was never at stake they say nothing, and that is a failure."""
    broken = next((found for found in failures if isinstance(found, Violation) and found.rule == rule), None)
    return Result(
        rule=rule,
        layer=Layer.STATEFUL,
        verdict=Verdict.VIOLATED if broken else Verdict.HOLDS,
        count=ledger.at_stake[rule],
        seconds=round(seconds / len(RULES), 3),
        figures={
            "examples": ledger.runs,
            "steps": ledger.steps,
            "at_stake": ledger.at_stake[rule],
            "by_decision": ledger.decided[rule],
        },
        detail=str(broken) if broken else "",
    )

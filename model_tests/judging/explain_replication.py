"""Why a step of replication breaks a rule: the values that the decision reads, and its result."""

from collections.abc import Mapping
from typing import Any

from model_tests.judging.check_report import StepViolation
from model_tests.judging.explain import replay_command
from model_tests.judging.replication_verdicts import JUDGES, judged
from spec.readings.formulas import Sheet, columns_read
from spec.rules import Rule
from spec.versions import PROFILES


def explain_replication(row: Mapping[str, Any], rule: Rule) -> StepViolation:
    """The violation of a rule in one step of a leader, a follower or a controller."""
    profile, judge = PROFILES[row["profile"]], JUDGES[row["api"]][1]
    sheet = Sheet()
    _, checks = judged(row["api"], sheet.column, profile)
    read = {name for check in checks if check.rule is rule for name in columns_read(sheet.constant(check.holds))}
    return StepViolation(
        trace=row["trace"],
        step=row["step"],
        rule=rule.id,
        guard=judge.__name__.removeprefix("judge_"),
        values={name: row[name] for name in sorted(read)},
        got={},
        allowed={"only": str(judge.__doc__).splitlines()[0]},
        replay=replay_command(row),
    )

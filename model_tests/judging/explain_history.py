"""Why a client event breaks a history rule: the event, the one before it on the same key, and the mark between them."""

from collections.abc import Iterator, Mapping, Sequence

from model_tests.judging.check_report import StepViolation
from model_tests.judging.explain import replay_command
from model_tests.judging.histories import Histories, JudgedEvent, key_on
from model_tests.judging.history_links import HISTORY_CHAINS, NAMES, check_of_history
from model_tests.traces.schema import Row
from spec.readings.formulas import Sheet, columns_read
from spec.rules import Rule


def explain_history(rows: Sequence[Row], step: int, chain: int, rule: Rule) -> Iterator[StepViolation]:
    """Why a step of a trace breaks a rule about client events: each check that it does not pass on a chain.

    Args:
        rows: of the trace, at least those on the same key of the chain, in order.
        step: its number.
        chain: the number of the chain (`HISTORY_CHAINS`).
        rule: that is broken.
    """
    row = next(row for row in rows if row["step"] == step)
    histories = Histories(frozenset((key_on(chain, row),)))
    for row in rows:
        histories.add(row)
    for judged in histories.judged():
        if judged.row["step"] == step:
            yield from explain_judged(judged, rule, histories)


def explain_judged(judged: JudgedEvent, rule: Rule, histories: Histories) -> Iterator[StepViolation]:
    """Each check of the rule that a client event does not pass."""
    names = {number: name for name, number in histories.names.items()}
    for link in HISTORY_CHAINS[judged.number].links:
        check = check_of_history(link, judged.scalar)
        if link.rule is rule and check.at_stake and not check.holds:
            yield StepViolation(
                trace=judged.row["trace"],
                step=judged.row["step"],
                rule=rule.id,
                guard=link.name,
                values={name: _shown_value(judged, name, names) for name in sorted(_read(judged.number, link.name))},
                got={},
                allowed={"only": link.statement},
                replay=replay_command(judged.row),
            )


def _read(number: int, name: str) -> frozenset[str]:
    link = next(link for link in HISTORY_CHAINS[number].links if link.name == name)
    check = check_of_history(link, Sheet().column)
    return columns_read(check.at_stake, check.holds)


def _shown_value(judged: JudgedEvent, name: str, names: Mapping[int, str]) -> object:
    """A value as the steps have it, and not the number that a name has in a client event."""
    value = judged.scalar(name)
    return names.get(value, "") if name.removeprefix("previous_") in NAMES else value

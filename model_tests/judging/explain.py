"""Why a step breaks a rule: the guard with the values it read, and what was allowed instead."""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from model_tests.judging import links, log_links, verdicts
from model_tests.judging.chains import BY_KIND, LATEST, AnyLink, check_of, of_kind, on_chain
from model_tests.judging.check_report import StepViolation
from model_tests.judging.coordinator_links import AT_NODE, ID_LINK, IDENTITY, NEW_ID_LINK, hands_out, is_on_id
from model_tests.judging.coordinator_verdicts import as_recorded
from model_tests.judging.replication_verdicts import JUDGES
from model_tests.judging.replication_verdicts import judged as judged_replication
from model_tests.traces.schema import BY_NAME, OF_ID, Row, complete, coordinator_step_of, step_of
from spec.algebra import Term
from spec.judging.judge import judge
from spec.judging.judge_coordinator import judge as judge_coordinator
from spec.protocol.append import Append, guards, names
from spec.protocol.coordinator_steps import DECISIONS, StepResult
from spec.protocol.records import flatten
from spec.readings.formulas import Sheet, columns_read
from spec.rules import Rule
from spec.versions import PROFILES, Profile
from spec.vocabulary import ABSENT, ErrorCode


def explain(rows: Sequence[Row], step: int, kind: str, rule: Rule) -> Iterator[StepViolation]:
    """Why a step of a trace breaks a rule, by verdicts of this kind; of links, each that it breaks.

    Args:
        rows: of the trace.
        step: number of the step that breaks it.
        kind: of the verdict.
        rule: that is broken.
    """
    row = next(row for row in rows if row["step"] == step)
    if kind == verdicts.ROW:
        yield explain_step(row, rule)
    elif kind in DECISIONS:
        yield explain_coordinator(row, rule)
    else:
        linked = _with_earlier(row, rows, kind)
        broken = [link for link in of_kind(kind) if link.rule is rule and _is_broken(link, linked)]
        yield from (explain_link(linked, link) for link in broken)


def _is_broken(link: AnyLink, linked: Mapping[str, Any]) -> bool:
    check = check_of(link, linked.__getitem__)
    return bool(check.at_stake) and not check.holds


def _with_earlier(row: Row, rows: Sequence[Row], kind: str) -> dict[str, Any]:
    """The step with the one before it on its key, and with the last accepted batch there."""
    before = [other for other in rows if other["step"] < row["step"] and is_same_key(kind, row, other)]
    at_batches = [at for at, other in enumerate(before) if other["appended"] and not other["control"]]
    faults = [links.is_break(other) for other in before]
    accepted = before[at_batches[-1]] if at_batches else _NOTHING
    unbroken = bool(at_batches) and not any(faults[at_batches[-1] :])
    members = [on_chain(kind, other) for other in before] if kind in BY_KIND else []
    marks = [member.mark for member in members if member is not None and member.mark >= 0]
    if members and members[-1] is not None and not members[-1].leaves:
        before = []
    return {
        **row,
        LATEST: marks[-1] if marks else ABSENT,
        **{f"previous_{name}": value for name, value in (before[-1] if before else _NOTHING).items()},
        **{f"accepted_{name}": value for name, value in accepted.items()},
        "has_previous": bool(before),
        "previous_faults": 0 if before else ABSENT,
        "accepted_faults": 0 if unbroken else ABSENT,
        "faults": 0,
        "handed_out_before": bool(before) if kind == NEW_ID_LINK else _was_handed_out(row, rows),
    }


def _was_handed_out(row: Row, rows: Sequence[Row]) -> bool:
    """Whether the identity of a step was handed out by an earlier one, at whichever node."""
    identity = itemgetter(*IDENTITY)
    before = (other for other in rows if other["step"] < row["step"])
    return any(hands_out(other.__getitem__) and identity(other) == identity(row) for other in before)


def is_same_key(kind: str, row: Row, other: Row) -> bool:
    """Whether another step is on the key of its own values that a step is on."""
    return is_on(kind, other) and _key(kind, other) == _key(kind, row)


def _key(kind: str, row: Row) -> tuple[Any, ...]:
    if kind in BY_KIND:
        member = on_chain(kind, row)
        return () if member is None else member.key
    return tuple(row[name] for name in KEYS[kind])


def is_on(kind: str, row: Row) -> bool:
    """Whether a step is on a key of its own values."""
    if kind in BY_KIND:
        return on_chain(kind, row) is not None
    return is_on_id(row) if kind == ID_LINK else log_links.is_on_log(row)


_NOTHING: Final = complete({})
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    verdicts.LINK: links.KEY,
    ID_LINK: AT_NODE,
    **{kind: ("trace", *chain.texts, *chain.numbers) for kind, chain in BY_KIND.items()},
}
"""Of each kind of links, the columns in which the steps on a key are alike."""


def explain_step(row: Mapping[str, Any], rule: Rule) -> StepViolation:
    """The violation of a row rule in one step."""
    profile = PROFILES[row["profile"]]
    expected, _ = judge(step_of(row.__getitem__), profile)
    allowed = _outcome(expected)
    wrong = [name for name, value in allowed.items() if row[name] != value]
    read = _columns_of_guard(rule, expected.branch, profile) | ({name.replace("after_", "before_") for name in wrong})
    return StepViolation(
        trace=row["trace"],
        step=row["step"],
        rule=rule.id,
        guard=names(profile)[expected.branch],
        values={name: row[name] for name in BY_NAME if name in read - allowed.keys()},
        got={name: _shown_value(name, row[name]) for name in wrong},
        allowed={name: _shown_value(name, allowed[name]) for name in wrong},
        replay=replay_command(row),
    )


def explain_coordinator(row: Mapping[str, Any], rule: Rule) -> StepViolation:
    """The violation of a row rule in one step of a transaction coordinator."""
    profile = as_recorded(PROFILES[row["profile"]], row["transaction_version"])
    expected, _ = judge_coordinator(row["api"], coordinator_step_of(row.__getitem__), profile)
    allowed = _allowed(expected)
    wrong = [name for name, value in allowed.items() if row[name] != value]
    partitions = () if expected.partitions else OF_PARTITIONS
    read = _columns_of_coordinators_guard(row, expected, profile)
    read |= {name.replace("after_", "before_") for name in wrong if name.startswith("after_")}
    return StepViolation(
        trace=row["trace"],
        step=row["step"],
        rule=rule.id,
        guard=expected.names[expected.branch],
        values={name: row[name] for name in BY_NAME if name in read - allowed.keys()},
        got={name: _shown_value(name, row[name]) for name in (*wrong, *partitions)},
        allowed={name: _shown_value(name, allowed[name]) for name in wrong}
        | dict.fromkeys(partitions, AS_BEFORE_AND_ASKED),
        replay=replay_command(row),
    )


OF_PARTITIONS: Final = ("after_txn_partitions", "after_partition_registered")
"""What a step leaves of the partitions of a transaction."""

AS_BEFORE_AND_ASKED: Final = "what follows from the partitions before and the request"


def _allowed(expected: StepResult) -> dict[str, Any]:
    """Answer and state after, by the names of their columns."""
    known = bool(expected.entry.known)
    after = {f"after_{column}": getattr(expected.entry, name) for name, column in OF_ID.items()}
    unknown = {name: BY_NAME[name].absent for name in after}
    return {
        "error": expected.error,
        "reply_producer_id": expected.answered.producer_id,
        "reply_epoch": expected.answered.producer_epoch,
        **(after if known else unknown),
    }


def _columns_of_coordinators_guard(row: Mapping[str, Any], expected: StepResult, profile: Profile) -> set[str]:
    """What the deciding guard reads; where all are passed, the state that the step found."""
    if not expected.branch:
        return {"before_txn_state", "before_txn_pending", "before_txn_partitions"}
    step = coordinator_step_of(Sheet().column)
    checks = DECISIONS[row["api"]](step, profile).checks
    return set(columns_read(checks[expected.branch - 1].applies)) | {"before_txn_state"}


def explain_replication(row: Mapping[str, Any], rule: Rule) -> StepViolation:
    """The violation of a rule in one step of a leader, a follower or a controller."""
    profile, judge = PROFILES[row["profile"]], JUDGES[row["api"]][1]
    sheet = Sheet()
    _, checks = judged_replication(row["api"], sheet.column, profile)
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


def explain_link(row: Mapping[str, Any], link: AnyLink) -> StepViolation:
    """The violation of a link rule between one step and what came before it on its key."""
    return StepViolation(
        trace=row["trace"],
        step=row["step"],
        rule=link.rule.id,
        guard=link.name,
        values={name: row[name] for name in sorted(link.columns)},
        got={},
        allowed={"only": link.statement},
        replay=replay_command(row),
    )


def replay_command(row: Mapping[str, Any]) -> str:
    """The command that shows the step again."""
    return f"eos replay --seed {row['trace']} --step {row['step']}"


def _outcome(expected: Append) -> dict[str, Any]:
    """Answer and entry after, by the names of their columns; offsets only where the batch is in the log."""
    reply = dict(flatten(expected.reply))
    if not (reply["appended"] or reply["duplicate"]):
        del reply["first_offset"], reply["last_offset"]
    return reply | {f"after_{name}": value for name, value in flatten(expected.entry)}


def _columns_of_guard(rule: Rule, branch: int, profile: Profile) -> set[str]:
    """What the deciding guard reads; where all are passed, what the rule's guards read."""
    step = step_of(Sheet().column)
    listing = guards(step.before, step.request, profile, step.verification)
    facts: list[Term] = [guard.applies for guard in listing if guard.rule is rule]
    return set(columns_read(*([listing[branch - 1].applies] if branch else facts)))


def _shown_value(name: str, value: Any) -> Any:
    return ErrorCode(value).name if name == "error" and value in set(ErrorCode) else value

"""The monitor: every step judged by the specification's decisions at the moment in which it is made.

The links of a step: the steps before it on its keys, kept while a trace is made.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from operator import itemgetter
from typing import Any, Final, NamedTuple

from model_tests.judging import follower_links, links, log_links, place_links
from model_tests.judging.chains import check_of, of_kind
from model_tests.judging.check_report import RuleCount, StepViolation
from model_tests.judging.coordinator_links import (
    AT_NODE,
    BY_ID,
    COMPLETING_LINK,
    ID_LINK,
    IDENTITY,
    NEW_ID_LINK,
    OPEN_LINK,
    is_change_of_id,
    is_completing,
)
from model_tests.judging.coordinator_verdicts import is_coordinators
from model_tests.judging.explain import explain_coordinator, explain_link, explain_step
from model_tests.judging.explain_history import explain_judged
from model_tests.judging.explain_replication import explain_replication
from model_tests.judging.fault_scope import verdicts_of
from model_tests.judging.follower_links import FOLLOWER_LINK
from model_tests.judging.histories import Histories
from model_tests.judging.history_links import HISTORY
from model_tests.judging.judges import (
    append_judge,
    coordinator_judge,
    identity_judge,
    link_judge,
    new_id_judge,
    place_in_link,
    replication_judge,
)
from model_tests.judging.log_links import LOG_LINK
from model_tests.judging.place_links import PLACE_LINK
from model_tests.judging.replication_verdicts import KIND, is_of_replication
from model_tests.judging.step_assumptions import Fault, claimed_in
from model_tests.judging.verdicts import LINK, ROW, rules_in
from model_tests.traces.schema import Row, complete
from spec.judging.judge import RuleCheck
from spec.rules import RULES, Rule
from spec.versions import PROFILES
from spec.vocabulary import ABSENT

NOTHING: Final[Row] = complete({})
"""The step before the first."""

_key_of: Final = itemgetter(*links.KEY)
_log_of: Final = itemgetter(*log_links.KEY)
_follower_of: Final = itemgetter(*follower_links.KEY)
_place_of: Final = itemgetter(*place_links.KEY)
_id_of: Final = itemgetter(*AT_NODE)
_identity_of: Final = itemgetter(*IDENTITY)
_open_of: Final = itemgetter(*BY_ID)


class LinkArguments(NamedTuple):
    """What a judge of links takes, in the order of its arguments."""

    row: Row
    previous: Row
    accepted: Row
    chain: Mapping[str, Any]


class _Chain:
    """The steps on one key: how many were breaks, the last one, and the last that was an accepted batch of data."""

    __slots__ = ("accepted", "accepted_faults", "faults", "previous", "previous_faults")

    def __init__(self) -> None:
        self.faults = 0
        self.previous, self.previous_faults = NOTHING, ABSENT
        self.accepted, self.accepted_faults = NOTHING, ABSENT

    def add(self, row: Row) -> LinkArguments:
        """The step with what came before it, which it joins."""
        self.faults += links.is_break(row)
        reported = {
            "faults": self.faults,
            "previous_faults": self.previous_faults,
            "accepted_faults": self.accepted_faults,
        }
        step = LinkArguments(row, self.previous, self.accepted, reported)
        self.previous, self.previous_faults = row, self.faults
        if row["appended"] and not row["control"] and row["origin"] >= 0:
            self.accepted, self.accepted_faults = row, self.faults
        return step


class Chains:
    """What was seen of one trace."""

    def __init__(self) -> None:
        """Nothing was seen."""
        self._of_producers: defaultdict[object, _Chain] = defaultdict(_Chain)
        self._latest: dict[tuple[str, object], Row] = {}
        self._of_ids: dict[object, Row] = {}
        self._handed_out: set[object] = set()

    def of_producer(self, row: Row) -> LinkArguments | None:
        """A step on a producer and partition with those before it; none where it touches no such key."""
        if row["producer_id"] < 0 or not row["topic"] or row["after_log_end"] < 0:
            return None
        return self._of_producers[_key_of(row)].add(row)

    def of_log(self, row: Row) -> LinkArguments | None:
        """A step at the log of a replica with the one before it there; none where it touches no log."""
        if not log_links.is_on_log(row):
            return None
        return self._after_previous(row, LOG_LINK, _log_of(row))

    def of_follower(self, row: Row) -> LinkArguments | None:
        """A step about a follower with the one before it at that leader; none where it says nothing of one."""
        if not follower_links.is_on_follower(row):
            return None
        return self._after_previous(row, FOLLOWER_LINK, _follower_of(row))

    def of_place(self, row: Row) -> LinkArguments | None:
        """A batch with the one that was seen before at its place in the log; none where it is no batch."""
        if not place_links.is_on_place(row):
            return None
        return self._after_previous(row, PLACE_LINK, _place_of(row))

    def _after_previous(self, row: Row, kind: str, key: object) -> LinkArguments:
        previous = self._latest.get((kind, key))
        self._latest[kind, key] = row
        return LinkArguments(row, previous or NOTHING, NOTHING, {"has_previous": previous is not None})

    def forget_places(self) -> None:
        """Let go of the batches that were seen at places in logs; copies that come later are compared with nothing."""
        self._latest = {key: row for key, row in self._latest.items() if key[0] != PLACE_LINK}

    def of_id(self, row: Row) -> LinkArguments | None:
        """A step of a transactional id with the one before it at its node; none where it is of no id, or at no node."""
        if not row["transactional_id"] or not row["node"] or row["origin"] >= 0:
            return None
        key, identity = _id_of(row), _identity_of(row)
        previous = self._of_ids.get(key)
        reported = {"has_previous": previous is not None, "handed_out_before": identity in self._handed_out}
        self._of_ids[key] = row
        if identity_judge()(row)[0]:
            self._handed_out.add(identity)
        return LinkArguments(row, previous or NOTHING, NOTHING, reported)

    def of_new_id(self, row: Row) -> LinkArguments | None:
        """A step that draws a producer id with the one before it that drew the same; none of others."""
        if row["reply_producer_id"] < 0 and row["after_txn_next_producer_id"] < 0:
            return None
        draws, drawn = new_id_judge()(row)
        if not draws:
            return None
        step = self._after_previous(row, NEW_ID_LINK, (row["trace"], drawn))
        return step._replace(chain={"handed_out_before": step.chain["has_previous"]})

    def of_completing(self, row: Row) -> LinkArguments | None:
        """A step that begins to complete a transaction, or completes one, with the one that began; none of others."""
        begins, completes = is_completing(row)
        if not begins and not completes:
            return None
        key = COMPLETING_LINK, _id_of(row)
        previous = self._latest.pop(key, None)
        if begins:
            self._latest[key] = row
        return LinkArguments(row, previous or NOTHING, NOTHING, {"has_previous": previous is not None})

    def of_open(self, row: Row) -> LinkArguments | None:
        """A step that changes what is known of an id with the one before it, at whichever node; none of others."""
        if not is_change_of_id(row):
            return None
        return self._after_previous(row, OPEN_LINK, _open_of(row))


class StepFinding(NamedTuple):
    """A verdict of one kind, and under what it was found; `judged` and `violated` are sets of rules.

    Attributes:
        faults: what had gone wrong (`Fault`) and reaches here: of what a step shows, elections alone.
    """

    kind: str
    profile: str
    transaction_version: int
    faults: int
    branch: int
    judged: int
    violated: int


class DecisionMismatch(Exception):
    """A step is not as the specification's decision says, inside the domain of a rule.

    Attributes:
        violations: the rules that the step breaks, with why.
    """

    def __init__(self, violations: tuple[StepViolation, ...]) -> None:
        """The disagreement of one step, which breaks at least one rule."""
        super().__init__("; ".join(map(str, violations)))
        self.violations = violations

    @property
    def rules(self) -> frozenset[str]:
        """Ids of the rules that the step breaks."""
        return frozenset(violation.rule for violation in self.violations)


class Monitor:
    """Judges the steps of traces in their order, as an observer of their recorder; client events at the end.

    Attributes:
        steps: how many were judged or passed over.
        findings: how often each kind of verdict came.
    """

    def __init__(self) -> None:
        """A monitor that has seen nothing."""
        self.steps = 0
        self.findings: Counter[StepFinding] = Counter()
        self._chains = chains = Chains()
        self._linked = (
            (LINK, chains.of_producer),
            (LOG_LINK, chains.of_log),
            (FOLLOWER_LINK, chains.of_follower),
            (PLACE_LINK, chains.of_place),
            (ID_LINK, chains.of_id),
            (NEW_ID_LINK, chains.of_new_id),
            (OPEN_LINK, chains.of_open),
            (COMPLETING_LINK, chains.of_completing),
        )
        self._histories: defaultdict[int, Histories] = defaultdict(Histories)

    def __call__(self, row: Row) -> None:
        """Judge the next step of the trace.

        Raises:
            Disagreement: the step breaks a rule in its domain.
        """
        violations = self.judge(row)
        if violations:
            raise DecisionMismatch(violations)

    def judge(self, row: Row) -> tuple[StepViolation, ...]:
        """Judge the next step of the trace: what it breaks inside the domain of the rule."""
        self.steps += 1
        histories = self._histories[row["trace"]]
        histories.add(row)
        under = row["profile"], row["transaction_version"], histories.faults & Fault.UNCLEAN.value
        broken: list[StepViolation] = []
        for kind, verdict, step in self._verdicts(row):
            finding = StepFinding(kind, *under, *verdict)
            self.findings[finding] += 1
            if finding.violated:
                broken += (v for rule in claimed_among(finding.violated, *under) for v in _why(row, kind, rule, step))
        return tuple(broken)

    def finish(self) -> tuple[StepViolation, ...]:
        """Judge the client events of the traces: the violations inside the domain of their rule."""
        broken: list[StepViolation] = []
        for histories in self._histories.values():
            broken += self._of_histories(histories)
        self._histories.clear()
        return tuple(broken)

    def settle(self) -> tuple[StepViolation, ...]:
        """As `finish`, within a trace: the events so far are judged and forgotten, and so are the positions in logs."""
        self._chains.forget_places()
        return self.finish()

    def _of_histories(self, histories: Histories) -> Iterator[StepViolation]:
        for judged, at_stake, violated, faults in verdicts_of(histories):
            under = judged.row["profile"], judged.row["transaction_version"], faults
            self.findings[StepFinding(HISTORY, *under, ABSENT, at_stake, violated)] += 1
            for rule in claimed_among(violated, *under) if violated else ():
                yield from explain_judged(judged, rule, histories)

    def rule_counts(self) -> Iterator[RuleCount]:
        """How often each rule was at stake, and how often it was violated where it is not claimed."""
        return rule_counts(self.findings)

    def _verdicts(self, row: Row) -> Iterator[tuple[str, tuple[int, ...], LinkArguments | None]]:
        if row["origin"] >= 0:
            yield ROW, append_judge(row["profile"])(row), None
        elif is_coordinators(row):
            judge = coordinator_judge(row["api"], row["profile"], row["transaction_version"])
            yield row["api"], judge(row), None
        if is_of_replication(row):
            yield KIND.format(row["api"]), replication_judge(row["api"], row["profile"])(row), None
        for kind, with_earlier in self._linked:
            step = with_earlier(row)
            if step is not None:
                yield kind, link_judge(kind)(*step), step


@cache
def claimed_among(violated: int, profile: str, transaction_version: int, faults: int = 0) -> tuple[Rule, ...]:
    """The rules of a set that are claimed under a profile and a transaction version, after these faults.

    Args:
        violated: a set of rules as bits.
        profile: its name.
        transaction_version: 0, 1 or 2.
        faults: what had gone wrong before, as bits of `Fault`.
    """
    under = PROFILES[profile].under(transaction_version)
    return tuple(rule for rule in rules_in(violated) if claimed_in(rule, under, faults))


def rule_counts(findings: Counter[StepFinding]) -> Iterator[RuleCount]:
    """How often each rule was at stake, violated, and violated where it is not claimed."""
    judged, violated, known = Counter[Rule](), Counter[Rule](), Counter[Rule]()
    for finding, count in findings.items():
        claimed = claimed_among(finding.violated, finding.profile, finding.transaction_version, finding.faults)
        _add(judged, rules_in(finding.judged), count)
        _add(violated, claimed, count)
        _add(known, set(rules_in(finding.violated)).difference(claimed), count)
    return (RuleCount(rule.id, judged[rule], violated[rule], known[rule]) for rule in RULES.values() if judged[rule])


def _add(counts: Counter[Rule], rules: Iterable[Rule], count: int) -> None:
    for rule in rules:
        counts[rule] += count


def _why(row: Row, kind: str, rule: Rule, step: LinkArguments | None) -> Iterator[StepViolation]:
    """Why a step breaks a rule, by verdicts of this kind; of links, each that it breaks."""
    if step is None:
        explain = {ROW: explain_step, KIND.format(row["api"]): explain_replication}.get(kind, explain_coordinator)
        yield explain(row, rule)
        return
    for link in of_kind(kind):
        if link.rule is rule and _is_broken(check_of(link, partial(_value, step))):
            yield explain_link({**row, **{column: _value(step, column) for column in link.columns}}, link)


def _is_broken(check: RuleCheck) -> bool:
    return bool(check.at_stake) and not check.holds


def _value(step: LinkArguments, column: str) -> Any:
    argument, key = place_in_link(column)
    return getattr(step, argument)[key]

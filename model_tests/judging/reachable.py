"""Which branches of each decision a step can reach, per release: found by the solver, never listed from what was met.

A branch counts where it decides some step whose records are well formed, whose values are possible in requests of the
release, at a coordinator in a state that its own decisions lead to, and that a rule applies to. What the states of
coordinators have in common is found by induction: of some candidates those are kept that every decision keeps.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from model_tests.judging.branch_names import (
    APPEND,
    TABLE,
    Branches,
    distinct,
    names_in,
    replicated_name,
    table,
    texts,
)
from model_tests.judging.replication_verdicts import JUDGES
from model_tests.judging.replication_verdicts import judged as of_replication
from model_tests.judging.verdicts import judged
from model_tests.judging.well_formed import well_formed
from model_tests.traces.schema import BY_NAME, coordinator_step_of, step_of
from reference.recording.trace import ColumnType
from spec.algebra import Term, all_of, any_of, implies, negate
from spec.engines.reading_z3 import INTEGERS
from spec.engines.solving import contradiction
from spec.engines.verdict import Proved
from spec.judging.judge import RuleCheck
from spec.judging.judge_coordinator import judge as judge_coordinator
from spec.protocol.append import names
from spec.protocol.coordinator import BUMPING, TransactionEntry, is_fencing, is_in, is_preparing
from spec.protocol.coordinator_steps import DECISIONS, CoordinatorStep
from spec.protocol.ending import BUMPS_SINCE
from spec.versions import PROFILES, Profile
from spec.vocabulary import ABSENT, MAX_EPOCH, Origin, TransactionState

Fact = Callable[[TransactionEntry], Term]


@dataclass(frozen=True, slots=True)
class ReachableDecision:
    """One decision on any step at all.

    Attributes:
        given: what is true of the step.
        branch: the number of the branch that decides.
        names: of the branches, by their numbers.
    """

    decision: str
    given: Term
    branch: Term
    names: tuple[str, ...]
    checks: tuple[RuleCheck, ...]

    def reached(self) -> Iterator[str]:
        """Names of the branches that some step reaches."""
        at_stake = any_of(*(check.at_stake for check in self.checks))
        for number, name in enumerate(self.names):
            if _is_possible(all_of(self.given, at_stake, self.branch == number)):
                yield name


def derived(profile: Profile) -> Branches:
    """The branches that can be reached under a release and any transaction version that it has."""
    found: dict[str, dict[str, None]] = {}
    for case in _cases(profile):
        found.setdefault(case.decision, {}).update(dict.fromkeys(case.reached()))
    return {decision: tuple(branches) for decision, branches in found.items() if branches}


def write_table() -> None:
    """Derive the table anew: of a release that has changed; where the protocol has changed, of all."""
    stale = TABLE.stale() if TABLE.path.exists() else tuple(texts())
    everything = any(not name.startswith("release ") for name in stale)
    known = {} if everything else {name: of for name, of in table().items() if f"release {name}" not in stale}
    found = {profile.name: known.get(profile.name) or derived(profile) for profile in distinct()}
    TABLE.write(
        {"release": release, "decision": decision, "branches": branches}
        for release, of in found.items()
        for decision, branches in of.items()
    )


def _cases(profile: Profile) -> Iterator[ReachableDecision]:
    """Every decision; leaders of a Raft quorum write no markers of transactions."""
    step = step_of(_any)
    expected, checks = judged(step, profile)
    formed = well_formed({"entry": step.before, "request": step.request, "verification": step.verification})
    no_marker = implies(step.request.control, negate(step.request.origin == Origin.RAFT_LEADER.value))
    yield ReachableDecision(APPEND, all_of(formed, no_marker), expected.branch, names(profile), checks)
    for version in range(profile.transaction_version + 1):
        for api in (api for api in DECISIONS if api != VERIFIES or profile.partition_verification):
            yield _of_coordinator(api, profile.under(version))
    for api in JUDGES:
        branch, checks = of_replication(api, _any, profile)
        yield ReachableDecision(replicated_name(api), _said_by(profile, api), branch, names_in(api, profile), checks)


def _any(column: str) -> Any:
    """Any value of a column; no decision that has branches reads text."""
    kind = BY_NAME[column].kind
    return "" if kind is ColumnType.TEXT else INTEGERS.constant(column, bool if kind is ColumnType.BOOLEAN else int)


def _is_possible(fact: Term) -> bool:
    if isinstance(fact, bool):
        return fact
    return not isinstance(contradiction("no step does", [fact]), Proved)


# --- coordinators ---------------------------------------------------------------------------------------------


def _of_coordinator(api: str, profile: Profile) -> ReachableDecision:
    step = coordinator_step_of(_any)
    outcome, checks = judge_coordinator(api, step, profile)
    kept = all_of(*(fact(step.before) for fact in _kept(profile)))
    return ReachableDecision(
        api, all_of(_formed(step), kept, _said_to(profile, step)), outcome.branch, outcome.names, checks
    )


def _said_to(profile: Profile, step: CoordinatorStep) -> Term:
    """The request is of a version that the release has, whatever its feature `transaction.version` is set to."""
    has_bumps = PROFILES[profile.name].transaction_version >= BUMPING
    return True if has_bumps else step.inputs.version < BUMPS_SINCE


def _formed(step: CoordinatorStep) -> Term:
    return well_formed({"before": step.before, "after": step.after, "inputs": step.inputs})


def _is_settled(entry: TransactionEntry) -> Term:
    between = (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE)
    return negate(any_of(*(is_in(entry, state) for state in between)))


def _owes_its_end(entry: TransactionEntry) -> Term:
    ends = {
        TransactionState.PREPARE_COMMIT: TransactionState.COMPLETE_COMMIT,
        TransactionState.PREPARE_ABORT: TransactionState.COMPLETE_ABORT,
    }
    return all_of(*(implies(is_in(entry, state), entry.pending == end.value) for state, end in ends.items()))


CANDIDATES: Final[Mapping[str, Fact]] = {
    "no state between two others": _is_settled,
    "whatever is decided is pending": _owes_its_end,
    "nothing else is pending": lambda entry: implies(entry.pending >= 0, is_preparing(entry)),
    "no fence is pending": lambda entry: negate(is_fencing(entry)),
    "the last epoch": lambda entry: entry.producer_epoch <= MAX_EPOCH,
    "no epoch after the last that a client gets": lambda entry: entry.producer_epoch < MAX_EPOCH,
}
"""What may be true of every state of a coordinator between two steps."""


@cache
def _kept(profile: Profile) -> tuple[Fact, ...]:
    """Of the candidates those that hold of an unknown id, and that every decision keeps where all of them hold."""
    kept = dict(CANDIDATES)
    while True:
        lost = [name for name, fact in kept.items() if not _is_kept(profile, fact, tuple(kept.values()))]
        if not lost:
            return tuple(kept.values())
        kept = {name: fact for name, fact in kept.items() if name not in lost}


def _is_kept(profile: Profile, fact: Fact, known: tuple[Fact, ...]) -> bool:
    step = coordinator_step_of(_any)
    before = all_of(_formed(step), _said_to(profile, step), *(each(step.before) for each in known))
    record = all_of(*(each(replace(step.after, pending=ABSENT)) for each in known if each is not _owes_its_end))
    for api, decide in DECISIONS.items():
        given = all_of(before, record) if api == LOADS else before
        if _is_possible(all_of(given, negate(fact(decide(step, profile).entry)))):
            return False
    return bool(fact(TransactionEntry()))


VERIFIES: Final = "VerifyPartitions"
"""The question of a broker (KIP-890)."""
LOADS: Final = "CoordinatorLoad"
"""The step that begins with what is in a log, which is what some coordinator has written."""


# --- replicas -------------------------------------------------------------------------------------------------


def _said_by(profile: Profile, api: str) -> Term:
    """What requests of a release can say: which epochs they name, and which numbers there are."""
    facts = [_any(name) >= ABSENT for name in ("known_epoch", "known_epoch_end", "asked_epoch", "asked_leader_epoch")]
    facts += [_any(name) >= 0 for name in ("leader_epoch", "offset", "before_log_start", "before_log_end")]
    facts.append(_any("before_log_start") <= _any("before_log_end"))
    if not profile.fetch_names_leader_epoch:
        facts.append(_any("asked_leader_epoch") == ABSENT)
    if api == "FetchFollower" and not profile.fetch_finds_divergence:
        facts.append(_any("asked_epoch") == ABSENT)
    return all_of(*facts)


if __name__ == "__main__":
    write_table()

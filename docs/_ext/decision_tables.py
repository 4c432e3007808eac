"""Decisions on the page: `guards` shows the checks of one, in order.

Each formula is what the decision itself says when it is asked about symbols. A check that no release has, or whose
answer differs between releases, says so.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Final

from docutils import nodes
from formulas import TextFormula, symbols, worded
from references import reference
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import Cell, listed, table

from spec.protocol import (
    append,
    blocks,
    committing,
    electing,
    ending,
    groups,
    ids,
    lso,
    offsets,
    produce,
    registering,
    repl,
)
from spec.protocol.coordinator import TransactionEntry
from spec.protocol.guards import Guard
from spec.protocol.records import WINDOW, AppendRequest, CachedBatch, MetVerification, ProducerEntry
from spec.versions import NEWEST, PROFILES, SPLIT_OUT_OF_ORDER, Profile
from spec.vocabulary import ErrorCode

Checks = Callable[[Profile], tuple[Guard, ...]]

CACHED: Final = symbols(CachedBatch, "cached")
ENTRY: Final = symbols(TransactionEntry, "entry")
COMMITTED, PENDING = symbols(offsets.OffsetEntry, "committed"), symbols(offsets.OffsetEntry, "pending")
GROUP: Final = symbols(groups.GroupEntry, "group")
CLAIM: Final = symbols(groups.KnownClaim, "claim")
COMMIT: Final = symbols(committing.CommitRequest, "request", claim=CLAIM)

LEADING, FETCH = symbols(repl.Leading, "leader"), symbols(repl.FollowerFetch, "request")
END, PRODUCED = symbols(repl.EpochEnd, "end"), symbols(repl.Produce, "request")

SIZE: Final[Any] = TextFormula("size")

RELEASES: Final = tuple(PROFILES.values())[::-1]
"""The newest first."""


@dataclass(frozen=True, slots=True)
class ShownDecision:
    """A decision that may refuse.

    Attributes:
        checks: its guards on symbols, under a profile.
        passed: what happens where no guard applies.
        instead: what is said of a guard whose formula is a whole table, or longer than a line.
    """

    checks: Checks
    passed: str
    instead: Mapping[str, str] = field(default_factory=dict)


def first_sentence(of: object) -> str:
    """The first line of a docstring."""
    return (of.__doc__ or "").partition("\n")[0]


def _appended(profile: Profile) -> tuple[Guard, ...]:
    plain = replace(profile, max_sequence=None, cached_batches=1)
    entry = symbols(ProducerEntry, "entry", cached=(CACHED,) * WINDOW)
    return append.guards(entry, symbols(AppendRequest, "batch"), plain, symbols(MetVerification, "verification"))


DECISIONS: Final[Mapping[str, ShownDecision]] = {
    "append": ShownDecision(_appended, "the batch is appended"),
    "produce": ShownDecision(
        lambda profile: produce.guards(symbols(produce.PartitionProduce, "request"), profile),
        "the partition's log decides",
    ),
    "init-producer-id": ShownDecision(
        lambda profile: ids.guards(ENTRY, symbols(ids.InitRequest, "request"), profile), "nothing: one row applies"
    ),
    "add-partitions": ShownDecision(
        lambda profile: registering.guards(ENTRY, symbols(registering.AddRequest, "request"), profile),
        "the partitions join; the transaction is open",
    ),
    "end-txn": ShownDecision(
        lambda profile: ending.guards(ENTRY, symbols(ending.EndRequest, "request"), profile),
        "the outcome is decided: Prepare is appended",
        {
            "epoch_other": f"not so: “{first_sentence(ending.is_valid_epoch)}”",
            **dict.fromkeys(("repeated", "outcome_fixed", "completing", "fenced"), "the table says so"),
        },
    ),
    "txn-offset-commit": ShownDecision(
        lambda profile: committing.transactional_guards(GROUP, COMMIT, profile), "the offsets partition decides"
    ),
    "offset-commit": ShownDecision(
        lambda profile: committing.plain_guards(GROUP, COMMIT, profile), "the offsets partition decides"
    ),
    "join-group": ShownDecision(
        lambda profile: groups.join_guards(GROUP, CLAIM, TextFormula("request.version"), profile),
        "a new generation begins",
    ),
    "sync-group": ShownDecision(
        lambda profile: groups.sync_guards(GROUP, CLAIM, profile), "the member gets its assignment"
    ),
    "marker-on-offsets": ShownDecision(
        lambda _: offsets.application_guards(COMMITTED, PENDING, TextFormula("marker.commits")),
        "the pending offset becomes the group's",
    ),
    "offset-fetch": ShownDecision(
        lambda _: offsets.fetch_guards(
            TextFormula("any transaction has one pending"), TextFormula("request asks for stable")
        ),
        "the group's offset is the answer",
    ),
    "fetch": ShownDecision(
        lambda _: lso.fetch_guards(symbols(lso.LogOffsets, "log"), TextFormula("fetch_offset")),
        "data up to the last stable offset, or the high watermark",
    ),
    "claim-block": ShownDecision(
        lambda profile: blocks.guards(
            symbols(blocks.BlockRecord, "record"), symbols(blocks.BlockRecord, "read"), SIZE, profile, blocks.LARGEST
        ),
        "the block is granted",
    ),
    "fetch-of-replica": ShownDecision(
        lambda profile: (
            *repl.fetch_guards(LEADING, FETCH),
            *repl.range_guards(LEADING, FETCH, END),
            *repl.incarnation_guards(LEADING, FETCH, END, profile),
        ),
        "records from the follower's end on, or where to cut its log first",
    ),
    "append-of-leader": ShownDecision(lambda _: repl.append_guards(PRODUCED), "the log decides"),
    "acknowledge": ShownDecision(
        lambda _: repl.acknowledge_guards(PRODUCED, TextFormula("high_watermark"), TextFormula("required")),
        "the records are acknowledged",
    ),
    "alter-partition": ShownDecision(
        lambda profile: electing.proposal_guards(
            symbols(electing.Proposal, "proposal"),
            TextFormula("leader_epoch"),
            TextFormula("partition_epoch"),
            profile,
        ),
        "the in-sync set is as proposed",
    ),
}


@dataclass(frozen=True, slots=True)
class GuardRow:
    """One guard as it is shown."""

    guard: Guard
    formula: str
    answers: str
    releases: str


def rows(decision: ShownDecision) -> list[GuardRow]:
    """The guards in the newest release's order, with what each release makes of them; without those of no release."""
    by_profile = {profile.name: {g.name: g for g in decision.checks(profile)} for profile in RELEASES}
    shown = (_row(decision, guard.name, by_profile) for guard in decision.checks(NEWEST))
    return [row for row in shown if row is not None]


def other_orders(decision: ShownDecision) -> dict[str, str]:
    """The order of the guards in the releases that have another one than the newest."""
    orders: dict[tuple[str, ...], set[str]] = {}
    for profile in RELEASES:
        names = tuple(guard.name for guard in decision.checks(profile) if guard.applies is not False)
        orders.setdefault(names, set()).add(profile.name)
    newest = [guard.name for guard in decision.checks(NEWEST)]
    return {
        spans(releases): ", ".join(order)
        for order, releases in orders.items()
        if list(order) != sorted(order, key=newest.index)
    }


def _row(decision: ShownDecision, name: str, by_profile: Mapping[str, Mapping[str, Guard]]) -> GuardRow | None:
    having = {
        release: checks[name]
        for release, checks in by_profile.items()
        if name in checks and checks[name].applies is not False
    }
    if not having:
        return None
    newest = next(iter(having.values()))
    formula = decision.instead.get(name, worded(newest.applies))
    return GuardRow(newest, formula, _answers(having), "" if len(having) == len(PROFILES) else spans(set(having)))


def _answers(having: Mapping[str, Guard]) -> str:
    by_answer: dict[str, set[str]] = {}
    for release, guard in having.items():
        by_answer.setdefault(error_text(guard.error), set()).add(release)
    newest, *others = by_answer
    return "; ".join((newest, *(f"{other} ({spans(by_answer[other])})" for other in others)))


def error_text(error: object) -> str:
    """The answer, by the names of the errors; NONE answers a repetition, or a request that passes."""
    leaves = error.parts or (error,) if isinstance(error, TextFormula) else (error,)
    names = list(dict.fromkeys(ErrorCode(leaf).name for leaf in leaves if isinstance(leaf, int)))
    return "the coordinator's error, as below" if len(names) > 2 else " or ".join(names)


def spans(releases: set[str]) -> str:
    """Releases as stretches of their order, as `2.0 to 2.4`."""
    ordered = [name for name in PROFILES if name != SPLIT_OUT_OF_ORDER.name]
    reported = []
    for inside, stretch in groupby(ordered, releases.__contains__):
        names = list(stretch)
        if inside:
            reported.append(names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}")
    if SPLIT_OUT_OF_ORDER.name in releases and NEWEST.name not in releases:
        reported.append(SPLIT_OUT_OF_ORDER.name)
    return ", ".join(reported)


class GuardsOfDecision(SphinxDirective):
    """The guards of one decision in order: name, when it applies, answer, rule, releases."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Render the decision that the argument names."""
        name = self.arguments[0]
        if name not in DECISIONS:
            raise self.error(f"no decision is called {name!r}: there are {', '.join(DECISIONS)}")
        decision = DECISIONS[name]
        shown = [self._shown(number, row) for number, row in enumerate(rows(decision), start=1)]
        last: tuple[Cell, ...] = ("", "otherwise", "", decision.passed, "")
        head: tuple[Cell, ...] = ("", "check", "applies when", "answer", "rule")
        orders = [_paragraph(f"Another order in {where}: {order}.") for where, order in other_orders(decision).items()]
        return [table([head, *shown, last], (4, 18, 44, 18, 16), kind="guards"), *orders]

    def _shown(self, number: int, row: GuardRow) -> tuple[Cell, ...]:
        name = listed((nodes.literal("", row.guard.name), *_only_in(row.releases)), between=" ")
        rule = reference(self.env, "rule", row.guard.rule.id)
        return str(number), name, nodes.inline("", row.formula, classes=["formula"]), row.answers, rule


def _paragraph(text: str) -> nodes.paragraph:
    return nodes.paragraph("", text)


def _only_in(releases: str) -> tuple[nodes.Node, ...]:
    return (nodes.inline("", f"({releases})", classes=["only-in"]),) if releases else ()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("guards", GuardsOfDecision)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Which functions of the reference serve a rule: those that name it, in a refusal or in a tag such as `[seq.first]`.

A rule that no refusal has is done all over by something; where to look for that is written here, by function.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from spec import rules
from spec.rules import RULES

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "reference"
CONSTANTS: Final = {name: value.id for name, value in vars(rules).items() if isinstance(value, rules.Rule)}
TAG: Final = re.compile(r"\[([a-z]+\.[a-z_]+)\]")

DONE_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "ids.unique": (
        "reference/broker/ids.py: BlockAllocator.claim",
        "reference/broker/ids.py: BlockAllocator.write",
        "reference/broker/ids.py: ProducerIdManager.generate",
    ),
    "ids.identity_never_repeats": (
        "reference/broker/transaction_metadata.py: increment_epoch",
        "reference/broker/transaction_metadata.py: rotate_producer_id",
    ),
    "seq.exactly_once": (
        "reference/log/partition.py: Partition.find_duplicate",
        "reference/log/producer_append.py: ProducerAppend.check_sequence",
    ),
    "seq.window_suffices": ("reference/log/producer_append.py: ProducerAppend.evict",),
    "seq.refusal_is_pure": (
        "reference/log/partition.py: Partition.append_all",
        "reference/log/partition.py: Partition.commit",
    ),
    "seq.state_recoverable": (
        "reference/log/producer_state.py: ProducerState.snapshot",
        "reference/log/producer_state.py: ProducerState.restore",
        "reference/log/producer_state.py: ProducerState.rebuild",
        "reference/log/producer_state.py: ProducerState.replay",
    ),
    "fence.epoch_monotone": ("reference/log/producer_append.py: ProducerAppend.check_epoch",),
    "fence.zombie_cannot_commit": (
        "reference/broker/end_txn.py: check_identity",
        "reference/broker/transaction_metadata.py: fence_epoch",
    ),
    "txn.client_verdict": (
        "reference/client/transaction_manager.py: TransactionManager._ended",
        "reference/client/transaction_manager.py: TransactionManager._complete",
    ),
    "txn.completes": (
        "reference/broker/marker_channel.py: MarkerChannel.send",
        "reference/broker/marker_channel.py: send_markers",
        "reference/broker/marker_channel.py: meaning_of",
    ),
    "txn.failover": ("reference/broker/transaction_state_manager.py: TransactionStateManager.load",),
    "lso.bounds": ("reference/log/partition.py: Partition.last_stable",),
    "lso.monotone": (
        "reference/log/partition.py: Partition.last_stable",
        "reference/log/producer_state.py: ProducerState.on_high_watermark",
    ),
    "lso.decided_below": ("reference/log/producer_state.py: ProducerState.first_unstable",),
    "lso.read_committed": (
        "reference/log/partition.py: Partition.fetch",
        "reference/client/consumer.py: delivered",
    ),
    "lso.aborted_index": (
        "reference/log/partition.py: Partition.complete",
        "reference/log/txn_index.py: TransactionIndex.between",
    ),
    "repl.hw_bounds": ("reference/replication/leadership.py: Leadership.raise_high_watermark",),
}
"""Of rules that the reference does not name: file and function."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A function of the reference.

    Attributes:
        path: of its file, from the root of the repository.
        name: with that of its class.
        text: its source.
    """

    path: str
    name: str
    text: str

    @property
    def title(self) -> str:
        """File and function."""
        return f"{self.path}: {self.name}"


@lru_cache(maxsize=1)
def excerpts() -> Mapping[str, tuple[Excerpt, ...]]:
    """By rule the functions that serve it, in the order of their files.

    Raises:
        ValueError: a function that is named here is not there, or a rule has none.
    """
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.rglob("*.py"))}
    refusals = {name: rule for tree in trees.values() for name, rule in _refusals(tree)}
    found: dict[str, list[Excerpt]] = {rule: [] for rule in RULES}
    functions = (each for path, tree in trees.items() for each in _functions(path, tree))
    for excerpt, node in functions:
        named = {*_named(node, refusals), *TAG.findall(excerpt.text)}
        named |= {rule for rule, where in DONE_BY.items() if excerpt.title in where}
        for rule in named & set(RULES):
            found[rule].append(excerpt)
    require_all(found)
    return {rule: tuple(each) for rule, each in found.items()}


def require_all(found: Mapping[str, list[Excerpt]]) -> None:
    """Every rule is served by something, and what is written here is there."""
    titles = {rule: {excerpt.title for excerpt in each} for rule, each in found.items()}
    gone = [f"{rule}: {where}" for rule, each in DONE_BY.items() for where in each if where not in titles.get(rule, ())]
    if gone:
        raise ValueError(f"code of the reference that is not there: {'; '.join(gone)}")
    if without := [rule for rule, each in titles.items() if not each]:
        raise ValueError(f"no function of the reference serves {', '.join(without)}")


def _functions(path: Path, tree: ast.Module) -> Iterator[tuple[Excerpt, ast.FunctionDef]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    place = str(path.relative_to(ROOT))
    for owner in (tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))):
        prefix = f"{owner.name}." if isinstance(owner, ast.ClassDef) else ""
        for node in owner.body:
            if isinstance(node, ast.FunctionDef):
                first = min((node.lineno, *(mark.lineno for mark in node.decorator_list)))
                text = "\n".join(line[node.col_offset :] for line in lines[first - 1 : node.end_lineno])
                yield Excerpt(place, prefix + node.name, text), node


def _refusals(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Classes of refusals, each with the rule that it is for."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from (
                (node.name, rule) for part in node.body if isinstance(part, ast.Assign) for rule in _named(part, {})
            )


def _named(node: ast.AST, refusals: Mapping[str, str]) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in CONSTANTS:
            yield CONSTANTS[part.attr]
        elif isinstance(part, ast.Name) and part.id in refusals:
            yield refusals[part.id]

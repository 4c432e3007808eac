"""What `eos new-rule` writes: a rule's entry, its check, its control, their test and its place in the docs.

What only the author can write is left out, or raises `NotImplementedError`. So the tests, `eos verify` and `make docs`
name what is still missing.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Final

from model_tests.common.reports import BadInput

FAMILIES: Final = ("ids", "seq", "fence", "txn", "lso", "offsets", "repl")
ID: Final = re.compile(rf"(?P<family>{'|'.join(FAMILIES)})\.(?P<name>[a-z]+(?:_[a-z]+)*)", re.ASCII)
LONGEST: Final = 60
"""Letters of an id, so that every line that names it keeps the limit of the style."""

UNSTATED: Final = "To be stated."
"""The statement of a new rule; a test refuses it."""

REGISTRY: Final = Path("spec/rules.py")

ENTRY: Final = Template(
    """$constant: Final = Rule(
    "$id",
    "$unstated",
    ("$unstated",),
    "H",
)
"""
)

CHECK: Final = Template(
    '''"""$id in a state machine: its check, and a change that must break it."""

from typing import Final

from model_tests.machines.rule_counts import Ledger
from model_tests.verify.results import Control
from spec import rules
from spec.evidence import Layer, evidences

RULE: Final = rules.$constant


@evidences(rules.$constant, Layer.STATEFUL)
def holds(ledger: Ledger) -> None:
    """Write down whether the rule holds, as often as it is at stake: `ledger.expect(RULE, ..., ...)`."""
    raise NotImplementedError(f"{RULE.id}: run a world of the reference into {ledger}")


def control() -> Control:
    """What comes of the check when the reference is changed so that it breaks the rule."""
    raise NotImplementedError(f"{RULE.id}: change the reference, and run the check")
'''
)

TEST: Final = Template(
    '''"""$id is at stake and holds, and is seen where it is broken."""

from model_tests.machines.$module import RULE, control, holds
from model_tests.machines.rule_counts import Ledger


def test_the_rule_is_at_stake_and_holds() -> None:
    """A check that is never at stake is evidence for nothing."""
    ledger = Ledger()

    holds(ledger)

    assert ledger.at_stake[RULE] > 0
    assert [] == ledger.broken


def test_the_control_breaks_the_rule() -> None:
    """The check sees the change."""
    assert control().passed
'''
)

DIRECTIVE: Final = Template("\n```{eos:rule} $id\n```\n")

LEFT: Final = (
    "$registry: state $constant, name its sources and its domain, and the evidence that it owes",
    "spec/protocol or spec/systems: a guard that names it, or a claim, where there is one",
    "reference: a refusal with it, or the tag [$id] in the function that keeps it",
    "$check: holds and control",
    "model_tests/machines/part.py: an account that runs holds, and control among the controls",
    "$chapter: a sentence that names it",
)
"""What the author has to fill in, a line each."""


@dataclass(frozen=True, slots=True)
class NewRule:
    """A rule that is not there yet.

    Attributes:
        id: as `ids.gaps_are_harmless`.
        family: the part before the dot.
        module: name of the module of its check.
        constant: name of its entry.
    """

    id: str
    family: str
    module: str
    constant: str

    @property
    def check(self) -> Path:
        """The module of its check and its control."""
        return Path("model_tests/machines") / f"{self.module}.py"

    @property
    def test(self) -> Path:
        """The module of their test."""
        return Path("model_tests/unit/machines") / f"test_{self.module}.py"

    @property
    def chapter(self) -> Path:
        """The page that states the rules of its family."""
        return Path("docs/chapters") / f"{self.family}.md"

    def filled(self, template: Template) -> str:
        """A template with the names of this rule."""
        return template.substitute(self._names())

    def left(self) -> tuple[str, ...]:
        """What the author has to fill in."""
        return tuple(self.filled(Template(line)) for line in LEFT)

    def _names(self) -> Mapping[str, object]:
        return {
            **{name: getattr(self, name) for name in ("id", "module", "constant", "check", "chapter")},
            "registry": REGISTRY,
            "unstated": UNSTATED,
        }


def new_rule(rule_id: str) -> NewRule:
    """The names that follow from an id.

    Raises:
        BadInput: it is not of the form, or too long.
    """
    found = ID.fullmatch(rule_id)
    if found is None or len(rule_id) > LONGEST:
        raise BadInput(
            f"{rule_id!r} is no id for a rule: one of {', '.join(FAMILIES)}, a dot, and small letters with single "
            f"underscores, {LONGEST} at most, as ids.gaps_are_harmless"
        )
    module = rule_id.replace(".", "_")
    return NewRule(rule_id, found["family"], module, module.upper())


def write(rule_id: str, tree: Path) -> tuple[str, ...]:
    """Write the parts of a new rule into a clone of this project, all of them or none.

    Args:
        rule_id: of the new rule.
        tree: the clone's folder.

    Returns:
        Lines that say what was written and what is left.

    Raises:
        BadInput: the id is bad or taken, or the folder is no clone.
    """
    rule = new_rule(rule_id)
    texts = dict(_parts(rule, tree))
    for path, text in texts.items():
        (tree / path).write_text(text, encoding="utf-8")
    return (*(f"wrote {path}" for path in texts), *(f"left: {line}" for line in rule.left()))


def _parts(rule: NewRule, tree: Path) -> Iterator[tuple[Path, str]]:
    """The files with what they are to hold."""
    registry, chapter = _read(tree / REGISTRY, tree), _read(tree / rule.chapter, tree)
    if f'"{rule.id}"' in registry:
        raise BadInput(f"{rule.id} is taken: ids are never reused; `eos rules {rule.id}` shows it")
    yield REGISTRY, _with_entry(rule, registry)
    for path, template in ((rule.check, CHECK), (rule.test, TEST)):
        if (tree / path).exists():
            raise BadInput(f"{path} is there already")
        yield path, rule.filled(template)
    yield rule.chapter, chapter.rstrip("\n") + "\n" + rule.filled(DIRECTIVE)


def _read(path: Path, tree: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        raise BadInput(f"{tree} is no clone of this project: it has no {path.relative_to(tree)}") from None


def _with_entry(rule: NewRule, registry: str) -> str:
    """The registry with an entry after the last one of the rule's family."""
    entries = list(re.finditer(rf'^\w+: Final = Rule\(\n    "{rule.family}\.(?:.*\n)*?^\)\n', registry, re.MULTILINE))
    if not entries:
        raise BadInput(f"{REGISTRY} has no rule of the family {rule.family}")
    end = entries[-1].end()
    return registry[:end] + rule.filled(ENTRY) + registry[end:]

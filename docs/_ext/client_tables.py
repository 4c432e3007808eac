"""The client's own tables on the page: `drain-rules` and `error-meanings`.

Both are those that the reference runs on; what a name means is the comment beside it in the source.
"""

import inspect
import re
from collections.abc import Mapping
from enum import Enum
from typing import Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import Cell, listed, table

from reference.client.partition_queue import Hold
from reference.client.transaction_states import MEANINGS, ErrorHandling, ProducerRequest
from spec.vocabulary import ErrorCode

MEMBER: Final = re.compile(r"^    (?P<name>[A-Z_]+) = auto\(\)(?:  # (?P<reported>.+))?$", re.MULTILINE)


def words(name: str) -> str:
    """A name of the source as words."""
    return name.lower().replace("_", " ")


def reported(members: type[Enum]) -> dict[str, str]:
    """The comment of each member in the source, by name; without a comment, the name in words.

    Raises:
        ValueError: the source does not have the members one a line.
    """
    found = {
        each["name"]: each["reported"] or words(each["name"]) for each in MEMBER.finditer(inspect.getsource(members))
    }
    if list(found) != [member.name for member in members]:
        raise ValueError(f"{members.__name__} does not have its members one a line")
    return found


class DrainRules(SphinxDirective):
    """Every rule that keeps a batch from being sent, in the order in which they are checked."""

    def run(self) -> list[nodes.Node]:
        """Render the table."""
        rows = [(name, says) for name, says in reported(Hold).items()]
        return [table([("rule", "the batch waits because"), *rows], (30, 70), code=0)]


def alike() -> Mapping[tuple[ErrorHandling, ...], list[ErrorCode]]:
    """Errors that mean the same in answer to every request, by what they mean."""
    found: dict[tuple[ErrorHandling, ...], list[ErrorCode]] = {}
    for error, meanings in MEANINGS.items():
        found.setdefault(meanings, []).append(error)
    return found


class ErrorMeanings(SphinxDirective):
    """What each error means for a transactional producer, by the request that it answers; then each word explained."""

    def run(self) -> list[nodes.Node]:
        """Render the table, and a list of the words."""
        head: tuple[Cell, ...] = ("error", *(words(request.name) for request in ProducerRequest))
        rows = [
            (listed(nodes.literal("", error.name) for error in errors), *(words(meaning.name) for meaning in meanings))
            for meanings, errors in alike().items()
        ]
        meant = [(words(name), says) for name, says in reported(ErrorHandling).items() if words(name) != says]
        return [
            table([head, *rows], (), kind="cells"),
            table([("word", "the producer's answer"), *meant], (20, 80)),
        ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("drain-rules", DrainRules)
    app.add_directive("error-meanings", ErrorMeanings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

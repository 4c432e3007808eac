"""The reports' schemas on the page and as files: `report-schema` renders the fields of one command's `--json`.

Which fields there are is taken from a report that the code itself makes; a field without a meaning fails the build, and
so does a meaning without a field.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from docutils import nodes
from report_meanings import MEANINGS
from report_samples import ANYTHING, samples
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import prose, table

from model_tests.verify.parts import PARTS
from spec.evidence import Layer

FOLDER: Final = "_schemas"
NAMED: Final = {
    "bugs": (),
    "prove": ("results[].figures",),
    "conform": ("unsupported.apis", "unsupported.families", "disagreed[].expected", "disagreed[].got",
                "disagreed[].request"),
    "probe": ("undecided", "origins", "families", "branches", "causes[].session", "fingerprint.agreeing"),
    "record": ("brokers", "transactions", "faults", "unread", "not_journaled", "passed_over"),
    "serve": ("outcomes", "coverage[].hits", "coverage[].hits.*", "violations[].values", "violations[].got",
              "violations[].allowed", "faults"),
    "audit": ("transactions.counts", "history.attempts", "history.acknowledged", "cluster.passed_over",
              "clients.operations", "clients.undecidable", "clients.damage", "clients.passed_over",
              "groups.passed_over", "judged"),
    "verify": ("", "*", "rules[].evidence", "rules[].evidence.*"),
}  # fmt: skip
"""Objects whose keys are names: of rules, of parts, of what was counted."""

COMMANDS: Final = {"probe": "conform --bootstrap-server"}
"""Commands that write a report under another name."""

FIXED: Final = {
    "": frozenset(
        {"commit", "sources", "profile", "seconds", "ok", "failures", "rules", "controls", "mutants", "parts"}
    ),
    "rules[].evidence.*": frozenset({"verdict", "count", "seconds", "detail", "assumptions"}),
}
"""Keys that mean something of their own among such names."""

ANY: Final = "any"
TYPES: Final = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    type(None): "null",
    type(ANYTHING): ANY,
}


def places(value: object, named: tuple[str, ...], at: str = "") -> Iterator[tuple[str, str]]:
    """Every place of a report that holds no further object, with the type of what is there."""
    if isinstance(value, Mapping):
        for key, inside in value.items():
            yield from places(inside, named, _below(at, _key(at, str(key), named)))
    elif isinstance(value, list | tuple):
        for inside in value:
            yield from places(inside, named, f"{at}[]")
        if not value:
            yield f"{at}[]", ""
    else:
        yield at, TYPES[type(value)]


def _key(at: str, key: str, named: tuple[str, ...]) -> str:
    return "*" if at in named and key not in FIXED.get(at, ()) else key


def _below(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


@lru_cache(maxsize=1)
def fields_of_reports() -> Mapping[str, Mapping[str, str]]:
    """The type of every field of every report, by command and place.

    Raises:
        ValueError: a field has no meaning, or a meaning no field.
    """
    found = {name: _fields(name, report.to_json()) for name, report in samples().items()}
    for name, fields in found.items():
        if wrong := set(fields) ^ set(MEANINGS[name]):
            raise ValueError(f"fields of the report of `eos {name}` without meaning or without place: {sorted(wrong)}")
    return found


def _fields(name: str, report: object) -> dict[str, str]:
    types: dict[str, list[str]] = {}
    for at, kind in places(report, NAMED[name]):
        types.setdefault(at, []).append(kind)
    known = {at: " or ".join(sorted(set(filter(None, kinds)))) or "object" for at, kinds in types.items()}
    objects = {at[: found.start()] for at in known for found in re.finditer(r"\[\]\.", at)}
    return {at: kind for at, kind in known.items() if at.removesuffix("[]") not in objects or not at.endswith("[]")}


def schema(name: str) -> dict[str, Any]:
    """The JSON schema of one report."""
    root: dict[str, Any] = {}
    for at, kind in fields_of_reports()[name].items():
        _put(root, at.replace("[]", ".[]").removeprefix(".").split("."), kind, MEANINGS[name][at])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"The report of eos {COMMANDS.get(name, name)}",
        **root,
    }


def _put(place: dict[str, Any], path: list[str], kind: str, meaning: str) -> None:
    for key in path:
        if key == "[]":
            place["type"] = "array"
            place = place.setdefault("items", {})
        elif key == "*":
            place["type"] = "object"
            place = place.setdefault("additionalProperties", {})
        else:
            place["type"] = "object"
            place = place.setdefault("properties", {}).setdefault(key, {})
    kinds = kind.split(" or ")
    typed = {} if ANY in kinds else {"type": kinds if len(kinds) > 1 else kind}
    place |= {**typed, "description": meaning}


class ReportSchema(SphinxDirective):
    """The fields of one report: place, type, meaning; and its schema as a file."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Render the report of the command that the argument names."""
        name = self.arguments[0]
        found = fields_of_reports()
        if name not in found:
            raise self.error(f"no report of {name!r} is described: there are {', '.join(found)}")
        rows = [(at, kind, prose(MEANINGS[name][at])) for at, kind in found[name].items()]
        link = nodes.reference("", "JSON schema", refuri=f"{FOLDER}/{name}.schema.json", internal=True)
        return [
            table([("field", "type", "meaning"), *rows], (42, 12, 46), code=0, kind="fields"),
            nodes.paragraph("", "", link),
        ]


def write(app: Sphinx, failure: Exception | None) -> None:
    """Write every schema as a file."""
    if failure is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(exist_ok=True)
    for name in fields_of_reports():
        (folder / f"{name}.schema.json").write_text(json.dumps(schema(name), indent=1) + "\n", encoding="utf-8")


def require_known_names(app: Sphinx) -> None:
    """The fixed keys of the report of `eos verify` are no names of parts or kinds of evidence."""
    if FIXED[""] & {part.name for part in PARTS} - {"mutants"} or FIXED["rules[].evidence.*"] & set(map(str, Layer)):
        raise ValueError("a part of `eos verify` has the name of another field of its report")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive, the check and the files."""
    app.add_directive("report-schema", ReportSchema)
    app.connect("builder-inited", require_known_names)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

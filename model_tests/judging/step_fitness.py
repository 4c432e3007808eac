"""What of a trace can be judged: which columns a step needs, and why a step is set aside."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from model_tests.judging import coordinator_verdicts, links, verdicts
from model_tests.judging.coordinator_verdicts import of_coordinator
from model_tests.judging.replication_verdicts import PRODUCE
from model_tests.traces.schema import BY_NAME, STEP_BITS
from reference.recording.trace import SCHEMA_VERSION, ColumnType
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.readings.formulas import Sheet
from spec.versions import PROFILES

MAY_BE_UNSAID: Final = frozenset(("delivered",))
"""Columns that may be left out of a step with another meaning than that they do not apply."""

NEEDED: Final = tuple(dict.fromkeys(("trace", "step", "schema", "api", *verdicts.NEEDED, *links.NEEDED)))
"""Columns without which no step can be judged."""
NEEDED_OF_COORDINATORS: Final = tuple(name for name in coordinator_verdicts.NEEDED if name not in NEEDED)
_UNTOLD: Final = "?"
"""In place of a text that a step does not say."""
INTEGERS: Final = tuple(name for name, column in BY_NAME.items() if column.kind is ColumnType.INTEGER)
"""Columns of integers."""
WIDEST: Final = 2**62
"""Beyond this an integer could overflow where a decision adds to it; no offset of a log is that large."""
TOO_WIDE: Final = "an integer beyond 2^62, which no log has"
_LAST_TRACE, _LAST_STEP = 2 ** (62 - STEP_BITS) - 1, 2**STEP_BITS - 1

Of: TypeAlias = Callable[[str], Term]
"""The value of a column of a step, by its name."""


def _is_not_numbered(of: Of) -> Term:
    trace, step = of("trace"), of("step")
    return any_of(trace < 0, trace > _LAST_TRACE, step < 0, step > _LAST_STEP)


def _is_append_of_nobody(of: Of) -> Term:
    return all_of(of("origin") < 0, any_of(of("appended"), of("api") == PRODUCE))


UNJUDGEABLE: Final[Mapping[str, Callable[[Of], Term]]] = MappingProxyType(
    {
        f"a newer schema than {SCHEMA_VERSION}, which this version reads": lambda of: of("schema") > SCHEMA_VERSION,
        "no version of the schema, which count from 1": lambda of: of("schema") < 1,
        f"not numbered as steps are: trace from 0 to {_LAST_TRACE}, step from 0 to {_LAST_STEP}": _is_not_numbered,
        "an append without the origin of its request (0 for a client)": _is_append_of_nobody,
    }
)
"""Why a step that lacks nothing is not judged all the same: on columns of a table, and on the values of one row."""


def is_fit(sheet: Sheet) -> Term:
    """The same as a formula."""
    return fits(sheet.column, sheet.given, sheet.beyond(WIDEST, INTEGERS))


def fits(of: Of, given: Of, too_wide: Term) -> Term:
    """A step lacks nothing, and its values can be judged."""
    known = any_of(*(of("profile") == name for name in PROFILES))
    lacks = all_of(is_coordinators(of, given), any_of(*(negate(given(name)) for name in NEEDED_OF_COORDINATORS)))
    judgeable = (negate(is_so(of)) for is_so in UNJUDGEABLE.values())
    return all_of(*map(given, NEEDED), known, negate(lacks), *judgeable, negate(too_wide))


def is_coordinators(of: Of, given: Of) -> Term:
    """A step is a coordinator's, or would be if it named its id."""
    return of_coordinator(lambda name: choose(given(name), of(name), _UNTOLD))

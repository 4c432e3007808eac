"""The first line of a wire log holds all that a run is made of."""

import io
import json
from dataclasses import fields, replace
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.serve.wire_log import LoggedRun, WireLog, WireSettings
from reference.server.service import ServerSettings
from spec.versions import NEWEST, PROFILES

OLDER = PROFILES["3.6"]
DEFAULTS = ServerSettings(NEWEST)


def other(name: str) -> Any:
    """A value of a setting that is not its default."""
    if name == "profile":
        return OLDER
    value = getattr(DEFAULTS, name)
    return not value if isinstance(value, bool) else 2 + (value or 0)


@pytest.mark.parametrize("name", [each.name for each in fields(ServerSettings)])
def test_each_setting_is_in_the_first_line(name: str) -> None:
    """A run that is made again has the setting, not the default."""
    settings = replace(DEFAULTS, **{name: other(name)})
    wire = WireSettings("defect", "gentle", 3, recovered=True, in_memory=True)
    file = io.StringIO()
    WireLog(file, settings, 1_000, {"orders": 2}, wire)

    run = LoggedRun.of(json.loads(file.getvalue()))

    assert (settings, wire) == (run.settings, run.wire)
    assert settings != DEFAULTS

from collections.abc import Iterator
from typing import Final

import pytest

from model_tests.monitor.monitor import Monitor
from reference.recording.recorder import Recorder
from spec.versions import Profile

_recorder: Final = Recorder.__init__


def _monitored(recorder: Recorder, trace: int, profile: Profile) -> None:
    _recorder(recorder, trace, profile)
    recorder.observer = Monitor()


@pytest.fixture(autouse=True, scope="package")
def every_step_is_judged() -> Iterator[None]:
    """Whatever is recorded here is judged by the specification's decisions at the moment it is recorded."""
    with pytest.MonkeyPatch.context() as change:
        change.setattr(Recorder, "__init__", _monitored)
        yield

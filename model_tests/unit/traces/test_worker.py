"""What workers do once."""

import subprocess
import sys

_TWICE = """
import gc
from model_tests.traces.worker import settle
kept = [[] for _ in range(1000)]
settle()
once = gc.get_freeze_count()
later = [[] for _ in range(1000)]
settle()
print(once, gc.get_freeze_count(), len(gc.get_objects()))
"""


def test_what_is_loaded_is_passed_over_and_what_comes_later_is_not() -> None:
    """In a process of its own: this one must go on to find its garbage."""
    said = subprocess.run([sys.executable, "-c", _TWICE], stdout=subprocess.PIPE, text=True, check=True).stdout
    once, again, looked_at = map(int, said.split())
    assert once > 1000
    assert again == once
    assert 1000 <= looked_at < 5000

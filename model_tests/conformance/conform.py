"""`eos conform`: session files in, one report out."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from model_tests.conformance.files import Damage, Found, read
from model_tests.conformance.replay import Outcome, outcomes
from model_tests.conformance.report import ConformReport, Tally, Undecided
from model_tests.conformance.sessions import FAMILIES, Session

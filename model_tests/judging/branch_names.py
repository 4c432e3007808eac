"""Names of the branches of decisions, and which of them can be reached: the table that `reachable` derives, read.

`python -m model_tests.judging.branch_names` says whether the table is stale, and how to renew it.
"""

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import spec.protocol
from model_tests.common.derived import DerivedTable, Texts, digest_of_file, digest_of_value
from spec.protocol import electing, repl
from spec.protocol.coordinator import names_of
from spec.protocol.electing import Proposal
from spec.protocol.repl import EpochEnd, FollowerFetch, Leading, Produce
from spec.versions import PROFILES, Profile, oldest_alike
from spec.vocabulary import Api

APPEND: Final = "append"

Branches = dict[str, tuple[str, ...]]
"""Names of the branches that can be reached, by decision."""


@cache
def texts() -> Texts:
    """The digests of what a branch's reachability depends on: every module of the protocol, and every behaviour."""
    modules = sorted(Path(spec.protocol.__path__[0]).glob("*.py"))
    of_modules = {f"spec.protocol.{path.stem}": digest_of_file(path) for path in modules}
    return {**of_modules, **{f"release {each.name}": digest_of_value(each) for each in distinct()}}


def distinct() -> Iterator[Profile]:
    """The profiles, but of those that behave alike the oldest alone."""
    return (profile for profile in PROFILES.values() if oldest_alike(profile) is profile)


TABLE: Final = DerivedTable(Path(__file__).parent / "reachable.json", "make tables", texts)
"""What `reachable.derived` finds, a row for each release and decision."""


@cache
def table() -> dict[str, Branches]:
    """The branches that can be reached, by release, as they were last derived."""
    found: dict[str, Branches] = {}
    for row in TABLE.rows():
        found.setdefault(row["release"], {})[row["decision"]] = tuple(row["branches"])
    alike = {profile.name: oldest_alike(profile).name for profile in PROFILES.values()}
    return {name: found[oldest] for name, oldest in alike.items() if oldest in found}


def replicated_name(api: str) -> str:
    """What a decision about replicas is called: the append of a Produce is another decision."""
    return "Produce of replicas" if api == Api.PRODUCE else api


def _names() -> dict[str, tuple[str, ...]]:
    """Names of the branches of the decisions about replicas; releases differ in what applies, not in these."""
    leading, fetch, end = Leading(True, 0, 0, 0), FollowerFetch(0, 0), EpochEnd(0, 0)
    request = Produce(-1, 1, 1)
    refused = repl.fetch_guards(leading, fetch)
    in_range = (*repl.range_guards(leading, fetch, end), *repl.incarnation_guards(leading, fetch, end))
    checks = {
        "FetchFollower": (*refused, *in_range),
        "OffsetsForLeaderEpoch": refused,
        Api.PRODUCE: repl.append_guards(request),
        "DelayedProduce": repl.acknowledge_guards(request, 0, 0),
    }
    return {api: names_of(tuple(guards)) for api, guards in checks.items()}


@cache
def names_in(api: str, profile: Profile) -> tuple[str, ...]:
    """Names of the branches of a decision about replicas, by their numbers; none where it has no guards."""
    if api == "AlterPartition":
        return names_of(electing.proposal_guards(Proposal(True, 0, 0, False), 0, 0, profile))
    return _names().get(api, ())


def main() -> int:
    """Print a line if the table is not about the code as it is; 1 then."""
    complaint = TABLE.complaint()
    sys.stdout.write(f"{complaint}\n" if complaint else "")
    return 1 if complaint else 0


if __name__ == "__main__":
    sys.exit(main())

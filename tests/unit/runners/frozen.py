"""A frozen case of a page that nobody drew: what is in it besides its trees is one byte."""

from __future__ import annotations

from cases.package import CaseFile, PackageTrees
from cases.reconstruct.frozen import FrozenCase
from ledger.records import kinds
from store.digest import Digest


def frozen_case(case: CaseFile, trees: PackageTrees, data: Digest, source: Digest) -> FrozenCase:
    """The frozen form of a case.

    Args:
        case: what its author wrote.
        trees: its package.
        data: stands for plan, kit, and everything that draws.
        source: tree of the page.
    """
    return FrozenCase(
        id=case.id,
        version=case.version,
        track=case.track,
        title=case.title,
        package=trees.package,
        evidence=trees.evidence,
        starter=trees.starter,
        contract=trees.contract,
        plan=data,
        commitment=data,
        kit=data,
        source=source,
        limits=case.limits.limits(),
        dimensions=case.dimensions,
        environment=kinds.RenderEnvironment(
            image=data, browser="Chromium 140", fonts=data, driver=data, seccomp=data, backend="docker"
        ),
    )

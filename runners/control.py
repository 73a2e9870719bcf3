"""The control of the render room: a page of our own that must draw when a Candidate's did not.

A crashed or hung renderer is something a Candidate can provoke, so it counts as the harness's fault only if this page
fails too, at the same place and moment.
"""

from __future__ import annotations

from typing import Final

from cases.contract import Contract
from cases.plan import derive
from ledger.records import kinds
from runners.backend import Backend, Job
from store.digest import Digest
from store.directory import save_tree
from store.errors import HarnessError
from store.objects import ObjectStore
from store.tree import Tree, TreeEntry

__all__ = ["control_fails", "draw_control"]

_PAGE: Final = b"<!doctype html><html lang=en><title>control</title><h1>control</h1>"
_CONTRACT: Final = (
    b'{"build":{"argv":[],"output":"."},"main":{"route":"home","state":"initial","viewport":"small"},'
    b'"routes":[{"name":"home","path":"/"}],"schema":"rbl/contract/v1",'
    b'"states":[{"name":"initial","route":"home","steps":[]}],"sweep":[],'
    b'"viewports":[{"height":200,"name":"small","width":320}]}'
)


def control_fails(store: ObjectStore, backend: Backend, job: Job) -> bool:
    """Draw the control page; true when that fails as well."""
    return _draw(store, backend, job) is None


def draw_control(store: ObjectStore, backend: Backend) -> Digest:
    """Digest of the control page's capture: the same wherever the environment is the same.

    Raises:
        HarnessError: it could not be drawn.
    """
    nobody = kinds.Agent(adapter="noop", version="1", argv=[], files=None)
    limits = kinds.Limits(seconds=60, memory=2 << 30, cpus=2000, pids=512, workspace=64 << 20)
    capture = _draw(store, backend, Job("probe", Digest.of(b""), nobody, None, limits))
    if capture is None:
        raise HarnessError("the control page could not be drawn", fix="run `rbl image build`")
    return capture


def _draw(store: ObjectStore, backend: Backend, job: Job) -> Digest | None:
    page = TreeEntry.file("index.html", store.put_bytes(_PAGE), len(_PAGE))
    rendered = backend.render(save_tree(store, Tree.of([page])), derive(Contract.parse(_CONTRACT)), job)
    if rendered.failed is not None or rendered.shots[0].error is not None:
        return None
    return rendered.shots[0].tree

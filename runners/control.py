"""The control of the render room: a page of our own that must draw when a Candidate's did not.

A crashed or hung renderer is something a Candidate can provoke, so it counts as the harness's fault only if this page
fails too, at the same place and moment.
"""

from __future__ import annotations

from typing import Final

from cases.contract import Contract
from cases.plan import derive
from runners.backend import Backend, Job
from store.directory import save_tree
from store.objects import ObjectStore
from store.tree import Tree, TreeEntry

__all__ = ["control_fails"]

_PAGE: Final = b"<!doctype html><html lang=en><title>control</title><h1>control</h1>"
_CONTRACT: Final = (
    b'{"build":{"argv":[],"output":"."},"main":{"route":"home","state":"initial","viewport":"small"},'
    b'"routes":[{"name":"home","path":"/"}],"schema":"rbl/contract/v1",'
    b'"states":[{"name":"initial","route":"home","steps":[]}],"sweep":[],'
    b'"viewports":[{"height":200,"name":"small","width":320}]}'
)


def control_fails(store: ObjectStore, backend: Backend, job: Job) -> bool:
    """Draw the control page; true when that fails as well."""
    page = store.put_bytes(_PAGE)
    tree = Tree.of([TreeEntry(path="index.html", mode="100644", digest=page, size=len(_PAGE), target=None)])
    rendered = backend.render(save_tree(store, tree), derive(Contract.parse(_CONTRACT)), job)
    return rendered.failed is not None or any(shot.error is not None for shot in rendered.shots)

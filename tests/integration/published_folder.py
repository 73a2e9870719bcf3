"""A benchmark folder with a published case whose evidence has links, modes and empty directories; nothing is drawn."""

from __future__ import annotations

import subprocess
from pathlib import Path

from cases.package import CASE_FILE, CaseFile, save_package
from cases.reconstruct.freeze import default_contract
from cases.reconstruct.frozen import CHECKS_FILE, FROZEN_FILE, Checks, FrozenCase
from cases.source import Investigation
from ledger.folder import CONFIG, Folder
from ledger.records import kinds
from rbl.workspace import create
from runners.publishing import publish_case
from store.directory import check_out, put_tree, read_tree
from store.tree import Tree, TreeEntry
from tests.unit.runners.frozen import frozen_case

CHECKS = (kinds.Check(agent="oracle", run=1, score=kinds.FULL), kinds.Check(agent="noop", run=1, score=0))


def write_evidence(root: Path) -> None:
    """Some pictures, a script, links of every kind, and directories with nothing in them."""
    for name in ("pictures", "tools", "nothing/at/all"):
        (root / name).mkdir(parents=True)
    for number in range(12):
        (root / "pictures" / f"{number}.png").write_bytes(bytes([number]) * 5_000)
    (root / "tools" / "run").write_text("#!/bin/sh\n")
    (root / "tools" / "run").chmod(0o755)
    (root / "first.png").symlink_to("pictures/0.png")
    (root / "latest").symlink_to("pictures")
    (root / "gone").symlink_to("pictures/none.png")


def publish(place: Path, remotes: dict[str, str]) -> Folder:
    """A folder in `place/bench` whose case `page` is published and everything committed to Git."""
    folder = create(place / "bench", "example.org/bench")
    config = folder.root / CONFIG
    lines = "".join(f'{name} = "{address}"\n' for name, address in remotes.items())
    config.write_text(config.read_text() + ("\n[remotes]\n" + lines if remotes else ""))
    folder = Folder.open(folder.root)
    write_evidence(place / "evidence")
    freeze(folder, read_tree(folder.store, place / "evidence"))
    publish_case(folder, "page")
    commit(folder)
    return folder


def commit(folder: Folder) -> None:
    git = ["git", "-C", str(folder.root), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "add", "--all"], check=True, capture_output=True)
    subprocess.run([*git, "commit", "--quiet", "--message", "A case"], check=True)


def freeze(folder: Folder, evidence: Tree) -> FrozenCase:
    """What freezing and verifying leave behind."""
    store = folder.store
    data = store.put_bytes(b"x")
    source = put_source(folder)
    starter = Tree.of([TreeEntry.file("index.html", data, 1), TreeEntry.directory("img")])
    trees = save_package(
        store, brief=b"# Build\n", contract=default_contract().format(), evidence=evidence, starter=starter
    )
    known = Investigation("a list of pages", "https://example.org/page", "our own")
    case = CaseFile("page", 1, "frozen-evidence/reconstruct", "A page", ("global_visual", "policy"), source=known)
    frozen = frozen_case(case, trees, data, source)
    root = folder.cases / "page"
    check_out(store, trees.package, root)
    (root / CASE_FILE).write_text(case.format())
    (root / FROZEN_FILE).write_bytes(frozen.format())
    (root / CHECKS_FILE).write_bytes(Checks(frozen.digest, CHECKS).format())
    store.flush()
    return frozen


def put_source(folder: Folder):
    """The page that only curators hold."""
    place = folder.root.parent / "source"
    place.mkdir()
    (place / "secret.html").write_text("<h1>the page itself</h1>")
    return put_tree(folder.store, place)

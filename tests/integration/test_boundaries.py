"""What the containers that run Candidate code can see: nothing sealed, searched through the kernel's view of them."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path

import pytest

from cases.age import unseal
from cases.kit import open_kit
from cases.plan import Plan
from ledger.reader import Ledger
from rbl.runs import plan_run
from rbl.workspace import open_backend
from runners.backend import Job
from runners.lifecycle import run_attempt

pytestmark = pytest.mark.docker

LARGEST = 64 * 1024 * 1024


@pytest.fixture(scope="module")
def secrets(bench):
    """Bytes that only the evaluator may see: name → needle."""
    case = Ledger.open(bench).case("plain").body
    sealed = bench.store.get(case.sealed.kit)
    plain = unseal(sealed, bench.keys.identity_path.read_text("ascii"))
    kit = open_kit(plain)
    needles = {
        "the sealed kit": sealed[-64:],
        "the salt": kit.salt,
        "the evaluator's key": bench.keys.path("evaluator").read_bytes()[40:80],
        "the evaluator's identity": bench.keys.identity_path.read_bytes().strip()[-40:],
        "the runner's key": bench.keys.path("runner").read_bytes()[40:80],
    }
    for assertion in kit.kit.assertions:
        needles[f"the assertion {assertion.name}"] = assertion.name.encode()
    for shot, files in kit.references.items():
        for name in ("nt.png", "bare.png", "page.json"):
            needles[f"{name} of {shot}"] = files[name][-200:-100]
    return needles


def inside(folder_label, look, until):
    """Call `look(pid, inspection)` on paused containers of a folder while `until` is not set; which were looked at."""
    seen = set()
    while not until.is_set():
        listed = subprocess.run(
            ["docker", "ps", "--quiet", "--no-trunc", "--filter", f"label=org.reconbench.folder={folder_label}"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        for container in listed:
            paused = subprocess.run(["docker", "pause", container], check=False, capture_output=True)
            if paused.returncode:  # ended, or not begun; a paused one does not end by itself
                continue
            try:
                shown = subprocess.run(["docker", "inspect", container], check=True, capture_output=True, text=True)
                inspection = json.loads(shown.stdout)[0]
                look(inspection["State"]["Pid"], inspection)
            except (OSError, subprocess.CalledProcessError):
                if unpause(container):
                    raise
                continue  # removed by the harness while we looked: not looked at in full, and not counted
            seen.add(container)
            unpause(container)
        until.wait(0.2)
    return seen


def unpause(container):
    """Let it go on; whether it was still there."""
    return not subprocess.run(["docker", "unpause", container], check=False, capture_output=True).returncode


def readable(pid):
    """Every regular file that a process of this container can reach, but for the kernel's own file systems."""
    root = f"/proc/{pid}/root"
    for place, folders, names in os.walk(root):
        if place == root:
            folders[:] = [name for name in folders if name not in {"proc", "sys", "dev", "usr", "var", "lib", "bin"}]
        for name in names:
            path = Path(place) / name
            if path.is_file() and not path.is_symlink() and path.stat().st_size < LARGEST:
                yield path


def leaks(pid, needles):
    """Which needles are in which files, and the paths of all files that were searched, as the container sees them."""
    found, searched = [], set()
    for path in readable(pid):
        data = path.read_bytes()
        searched.add(str(path).removeprefix(f"/proc/{pid}/root"))
        found += [(what, str(path)) for what, needle in needles.items() if needle in data]
    return found, searched


def test_the_needles_are_found_where_they_are(bench, secrets, tmp_path):
    (tmp_path / "kit").write_bytes(secrets["the sealed kit"])
    assert secrets["the sealed kit"] in (tmp_path / "kit").read_bytes()
    assert len(secrets) > 8


def test_the_candidates_container_holds_nothing_sealed(bench, secrets):
    backend = open_backend(bench, "docker")
    slot = plan_run(bench, backend, schedule=None, entry="nap", case="plain", repeats=1).slots[0]
    found, searched, mounts, over = [], set(), set(), threading.Event()

    def look(pid, inspection):
        leaked, seen = leaks(pid, secrets)
        found.extend(leaked)
        searched.update(seen)
        mounts.update(mount["Destination"] for mount in inspection["Mounts"])
        assert inspection["HostConfig"]["NetworkMode"] == "none"

    watcher = threading.Thread(target=lambda: watched.update(inside(backend.folder, look, over)))
    watched: set[str] = set()
    watcher.start()
    try:
        run_attempt(bench, backend, slot)
    finally:
        over.set()
        watcher.join()
    assert watched
    assert found == []
    assert "/task/brief.md" in searched
    assert {"/workspace", "/task", "/agent"} <= mounts
    assert mounts <= {"/workspace", "/task", "/agent", "/driver", "/playwright"}


def test_the_render_container_holds_the_build_and_the_plan_and_nothing_sealed(bench, secrets):
    backend = open_backend(bench, "docker")
    case = Ledger.open(bench).case("plain").body
    source = Ledger.open(bench).get(case.source).body.artifact
    agent = Ledger.open(bench).entry("noop").body.agent
    found, searched, mounts, over = [], set(), set(), threading.Event()

    def look(pid, inspection):
        leaked, seen = leaks(pid, secrets)
        found.extend(leaked)
        searched.update(seen)
        mounts.update(mount["Destination"] for mount in inspection["Mounts"])

    watched: set[str] = set()
    watcher = threading.Thread(target=lambda: watched.update(inside(backend.folder, look, over)))
    watcher.start()
    try:
        plan = Plan.parse(bench.store.get(case.plan))
        rendered = backend.render(source, plan, Job("boundary", case.package, agent, None, case.limits))
    finally:
        over.set()
        watcher.join()
    assert rendered.failed is None
    assert watched
    assert "/driver/main.js" in searched
    assert found == []
    assert mounts <= {"/driver", "/playwright"}


def test_the_probe_plan_names_no_assertion_region_weight_or_threshold(bench, secrets):
    case = Ledger.open(bench).case("plain").body
    plan = bench.store.get(case.plan)
    assert set(json.loads(plan)) == {"schema", "settings", "shots", "sweep"}
    for what, needle in secrets.items():
        assert needle not in plan, what

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
    """Call `look(pid, inspection)` on containers of a folder while `until` is not set."""
    seen = set()
    while not until.is_set():
        listed = subprocess.run(
            ["docker", "ps", "--quiet", "--no-trunc", "--filter", f"label=org.reconbench.folder={folder_label}"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        for container in listed:
            shown = subprocess.run(["docker", "inspect", container], check=False, capture_output=True, text=True)
            if shown.returncode == 0:
                inspection = json.loads(shown.stdout)[0]
                if inspection["State"]["Pid"]:
                    look(inspection["State"]["Pid"], inspection)
                    seen.add(container)
        until.wait(0.2)
    return seen


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
    found = []
    for path in readable(pid):
        try:
            data = path.read_bytes()
        except OSError:  # the process ended, or the file went, while we looked
            continue
        found += [(what, str(path)) for what, needle in needles.items() if needle in data]
    return found


def test_the_needles_are_found_where_they_are(bench, secrets, tmp_path):
    (tmp_path / "kit").write_bytes(secrets["the sealed kit"])
    assert secrets["the sealed kit"] in (tmp_path / "kit").read_bytes()
    assert len(secrets) > 8


def test_the_candidates_container_holds_nothing_sealed(bench, secrets):
    backend = open_backend(bench, "docker")
    slot = plan_run(bench, backend, schedule=None, entry="nap", case="plain", repeats=1).slots[0]
    found, mounts, over = [], set(), threading.Event()

    def look(pid, inspection):
        found.extend(leaks(pid, secrets))
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
    assert {"/workspace", "/task", "/agent"} <= mounts
    assert mounts <= {"/workspace", "/task", "/agent", "/driver", "/playwright"}


def test_the_render_container_holds_the_build_and_the_plan_and_nothing_sealed(bench, secrets):
    backend = open_backend(bench, "docker")
    case = Ledger.open(bench).case("plain").body
    source = Ledger.open(bench).get(case.source).body.artifact
    agent = Ledger.open(bench).entry("noop").body.agent
    found, mounts, over = [], set(), threading.Event()

    def look(pid, inspection):
        found.extend(leaks(pid, secrets))
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
    assert found == []
    assert mounts <= {"/driver", "/playwright"}


def test_the_probe_plan_names_no_assertion_region_weight_or_threshold(bench, secrets):
    case = Ledger.open(bench).case("plain").body
    plan = bench.store.get(case.plan)
    assert set(json.loads(plan)) == {"schema", "settings", "shots", "sweep"}
    for what, needle in secrets.items():
        assert needle not in plan, what

"""The host as a backend, for diagnosis only: the same walk as in containers, without their walls.

    native = Native(store, "3f2a9c01d4e5")
    produced = native.produce(job, observe)

An agent is a process of the operator's own (`runners.host`): it reaches the network, the disk and everything else that
the operator reaches. Pages are drawn by the host's Chromium with the host's fonts, so no picture compares with one of
the sandbox. Nothing here counts: records say `backend: native`, and no release takes them. Paths below `/workspace`,
`/task` and `/agent` in an agent's arguments are moved to the temporary directories that stand for them.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Final

from cases.contract import BuildRecipe
from cases.plan import Plan
from ledger.records import kinds
from runners import harvest, workspace
from runners.agents.base import Places
from runners.agents.registry import adapter
from runners.backend import Built, Job, Observe, Produced, Rendered
from runners.build import node, plain, site
from runners.drive import driver_digest, seccomp_digest
from runners.host import HostSpec, run_here
from runners.production import CAP, GRACE, agent_result, faults, finish, guarded
from runners.render import render_native
from store import canonical
from store.digest import Digest
from store.directory import load_tree, save_tree, write_out
from store.errors import Unavailable
from store.objects import ObjectStore
from store.tree import Tree

__all__ = ["Native"]

BROWSERS: Final = ("/usr/lib/chromium/chromium", "google-chrome", "chromium-browser", "chromium")
"""Where a Chromium is looked for, in this order, which is also that of `render_native`."""


class Native:
    """Runs attempts on the host.

    Args:
        store: where everything goes.
        folder: label of the benchmark folder.
    """

    def __init__(self, store: ObjectStore, folder: str) -> None:
        self.store = store
        self.folder = folder

    @property
    def name(self) -> kinds.Backend:
        """`native`."""
        return "native"

    def produce(self, job: Job, observe: Observe) -> Produced:
        """Run the agent on the starter and take its workspace.

        Raises:
            BackendFailure: a fault of the harness.
        """
        with ExitStack() as stack:
            with faults("preflight"):
                package = load_tree(self.store, job.package)
                starter = package.subtree("starter")
                stage = stack.enter_context(workspace.staged(self.store, self.folder, job.attempt, package, job.files))
                place = stage.task.parent / "workspace"
                places = Places(workspace=str(place), task=str(stage.task), agent=str(stage.agent))
                launch = adapter(job.agent.adapter).launch(job.agent, places)
                argv = guarded(launch, job)
                write_out(self.store, workspace.with_history(self.store, starter), place)
                home = stage.task.parent / "home"
                home.mkdir()
            observe("workspace.prepared", {"starter": str(starter.digest)})
            observe("prepared", {})

            def started(process: str) -> None:
                observe("agent.started", {"argv": list(launch.argv), "process": process})
                observe("started", {})

            spec = HostSpec(
                argv=argv,
                cwd=place,
                env={"HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8", "PATH": _path(), **launch.env},
                memory=job.limits.memory,
                fsize=job.limits.workspace,
                cap_stdout=CAP,
                cap_stderr=CAP,
                seconds=job.limits.seconds,
                grace=GRACE,
            )
            result = agent_result(run_here(spec, started=started), launch, observe)
            with faults("disk"):
                taken = _take(place, self.store, job.limits.workspace)
                tree = None if taken.tree is None else save_tree(self.store, taken.tree)
        return finish(result, taken, tree, observe)

    def build(self, workspace: Digest, recipe: BuildRecipe, job: Job) -> Built:
        """Build a harvested workspace in a temporary directory of the host.

        Raises:
            BackendFailure: a fault of the harness.
        """
        tree = load_tree(self.store, workspace)
        with tempfile.TemporaryDirectory(prefix="rbl-build-") as name, faults("disk"):
            if not recipe.argv:
                return self._built(plain(tree, recipe.output), b"", 0)
            place, home = Path(name) / "workspace", Path(name) / "home"
            home.mkdir()
            write_out(self.store, tree, place)
            tools = [str(place / "node_modules/.bin"), *([] if node() is None else [f"{node()}/bin"])]
            spec = HostSpec(
                argv=recipe.argv,
                cwd=place,
                env={
                    "HOME": str(home),
                    "TMPDIR": str(home),
                    "PATH": os.pathsep.join([*tools, _path()]),
                    "CI": "1",
                    "LC_ALL": "C.UTF-8",
                    "SOURCE_DATE_EPOCH": "0",
                    "TZ": "UTC",
                },
                seconds=job.limits.seconds,
                grace=GRACE,
            )
            result = run_here(spec)
            log = result.stdout + result.stderr
            if result.exit_code != 0:
                return Built(None, "build-failed", log, result.milliseconds)
            taken = _take(place, self.store, job.limits.workspace)
            if taken.tree is None:
                return Built(None, taken.refused, log, result.milliseconds)
            return self._built(plain(taken.tree, recipe.output), log, result.milliseconds)

    def _built(self, output: Tree | None, log: bytes, milliseconds: int) -> Built:
        digest = site(self.store, output)
        return Built(digest, "no-output" if digest is None else None, log, milliseconds)

    def render(self, build: Digest, plan: Plan, job: Job) -> Rendered:  # noqa: ARG002  the host has no labels
        """Serve a build to the host's Chromium and capture every shot of the plan.

        Raises:
            Unavailable: no Chromium, or no Playwright.
        """
        return render_native(self.store, build, plan)

    def environment(self) -> kinds.RenderEnvironment:
        """What draws pages here: the host itself stands where an image would.

        Raises:
            Unavailable: no Chromium, or no Playwright.
        """
        return kinds.RenderEnvironment(
            image=Digest.of(canonical.dumps({"machine": platform.machine(), "system": platform.platform()})),
            browser=_browser(),
            fonts=_fonts(),
            driver=driver_digest(),
            seccomp=seccomp_digest(),
            backend="native",
        )

    def reap(self, attempts: frozenset[str] | None = None) -> list[str]:
        """Remove what dead harnesses left behind (all, or of these attempts); returns what was removed."""
        return workspace.reap(self.folder, attempts)


def _take(place: Path, store: ObjectStore, cap: int) -> harvest.Harvest:
    """A directory as the sandbox takes its volume: by way of a tar, so that one set of rules holds."""
    command = [
        "tar",
        "--create",
        "--format=gnu",
        f"--directory={place.parent}",
        f"--transform=s,^{place.name},workspace,",
    ]
    with subprocess.Popen([*command, place.name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        output = process.stdout
        assert output is not None
        try:
            return harvest.take(iter(lambda: output.read(1 << 20), b""), store, harvest.caps(cap))
        finally:
            output.close()
            process.kill()


@cache
def _browser() -> str:
    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    if binary is None:
        raise Unavailable("no Chromium is installed", fix="apt-get install chromium")
    done = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


@cache
def _fonts() -> Digest:
    """As `Image.fonts`, for the host's fonts; of no fonts where there is no fontconfig."""
    if shutil.which("fc-list") is None:
        return Digest.of(canonical.dumps({}))
    listed = subprocess.run(["fc-list", "--format", "%{file}\n"], capture_output=True, text=True, check=False)
    found = {path: Digest.of(Path(path).read_bytes()).hex for path in sorted(set(listed.stdout.splitlines()))}
    return Digest.of(canonical.dumps({ascii(path): digest for path, digest in found.items()}))


def _path() -> str:
    return os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin")

"""The container backend: the only path to a formal score.

    sandbox = Sandbox.open(store, "3f2a9c01d4e5")
    produced = sandbox.produce(job, observe)

    staged       the public material checked out, read-only to the agent
    volume       an in-memory volume of the job's size, filled with the starter and its one commit
    agent        one container, without network, whose main process is the agent; gone when it ends or must end
    harvest      the volume read by the engine into the store; then the volume is gone too

Building and rendering happen in containers of their own (`runners.build`, `runners.render`), fresh, without a volume.
Nothing of the sealed kit is known here.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Self

from cases.contract import BuildRecipe
from cases.plan import Plan
from ledger.records import kinds
from runners import build as build_room
from runners import conditions, harvest, workspace
from runners import render as render_room
from runners.agents.base import SANDBOX, Launch
from runners.agents.registry import adapter
from runners.backend import Built, Job, Observe, Produced, Rendered
from runners.container import Engine, Mount, RunSpec, labels
from runners.image import PATH, Image, ensure
from runners.production import CAP, GRACE, agent_result, faults, finish, guarded
from store.archive import pack
from store.digest import Digest
from store.directory import load_tree, save_tree
from store.objects import ObjectStore

__all__ = ["Sandbox"]


class Sandbox:
    """Runs attempts in containers.

    Args:
        store: where everything goes.
        image: the sandbox image.
        folder: label of the benchmark folder, by which leftovers are found.
        engine: a connection to Docker; a new one when null.
    """

    def __init__(self, store: ObjectStore, image: Image, folder: str, engine: Engine | None = None) -> None:
        self.store = store
        self.image = image
        self.folder = folder
        self.engine = engine or Engine.connect()

    @classmethod
    def open(cls, store: ObjectStore, folder: str) -> Self:
        """With this machine's Docker and image, which is made if need be.

        Raises:
            Unavailable: no Docker, or the image cannot be made here.
            BackendFailure: making or importing the image failed.
        """
        engine = Engine.connect()
        return cls(store, ensure(engine=engine), folder, engine)

    @property
    def name(self) -> kinds.Backend:
        """`docker`."""
        return "docker"

    def environment(self) -> kinds.RenderEnvironment:
        """What draws pages here."""
        return render_room.environment(self.image)

    def produce(self, job: Job, observe: Observe) -> Produced:
        """Run the agent on the starter and take its workspace.

        Raises:
            BackendFailure: a fault of the harness.
        """
        with ExitStack() as stack:
            with faults("preflight"):
                self._check(job.limits)
                launch = adapter(job.agent.adapter).launch(job.agent)
                argv = guarded(launch, job)
                package = load_tree(self.store, job.package)
                starter = package.subtree("starter")
                filled = workspace.with_history(self.store, starter)
                stage = stack.enter_context(workspace.staged(self.store, self.folder, job.attempt, package, job.files))
            tags = labels(self.folder, job.attempt)
            keeper = stack.enter_context(self.engine.keeper(self.image.reference, job.limits.workspace, tags))
            with faults("preflight"):
                keeper.put(pack(self.store, filled))
            observe("workspace.prepared", {"starter": str(starter.digest)})
            observe("prepared", {})

            def started(container: str) -> None:
                observe("container.created", {"container": container[:12], "image": str(self.image.rootfs)})
                observe("agent.started", {"argv": list(launch.argv)})
                observe("started", {})

            mounts = (Mount(stage.task, SANDBOX.task), Mount(stage.agent, SANDBOX.agent))
            spec = self._spec(job, launch, argv, mounts, keeper.volume)
            result = agent_result(self.engine.run(spec, started=started), launch, observe)
            with faults("disk"):
                taken = harvest.take(keeper.get(), self.store, harvest.caps(job.limits.workspace))
                tree = None if taken.tree is None else save_tree(self.store, taken.tree)
        return finish(result, taken, tree, observe)

    def build(self, workspace: Digest, recipe: BuildRecipe, job: Job) -> Built:
        """Build a harvested workspace in a fresh container."""
        return build_room.build(self.engine, self.store, self.image, self.folder, workspace, recipe, job)

    def render(self, build: Digest, plan: Plan, job: Job) -> Rendered:
        """Serve a build to Chromium in a fresh container and capture every shot of the plan."""
        return render_room.render(self.engine, self.store, self.image, self.folder, build, plan, job)

    def reap(self, attempts: frozenset[str] | None = None) -> list[str]:
        """Remove what dead harnesses left behind (all, or of these attempts); returns what was removed."""
        return [*self.engine.reap(self.folder, attempts), *workspace.reap(self.folder, attempts)]

    def _check(self, limits: kinds.Limits) -> None:
        cpus, memory = self.engine.capacity()
        conditions.check(limits, conditions.Machine(cpus, memory, conditions.free_disk(self.store.root)))

    def _spec(self, job: Job, launch: Launch, argv: tuple[str, ...], mounts: tuple[Mount, ...], volume: str) -> RunSpec:
        scratch = job.limits.memory // 4
        return RunSpec(
            image=self.image.reference,
            argv=argv,
            env={"HOME": "/home", "LANG": "C.UTF-8", "PATH": PATH, **launch.env},
            workdir=SANDBOX.workspace,
            memory=job.limits.memory,
            cpus=job.limits.cpus,
            pids=job.limits.pids,
            tmpfs={"/tmp": scratch, "/home": scratch},  # noqa: S108  paths in the container
            mounts=mounts,
            volumes={volume: SANDBOX.workspace},
            labels=labels(self.folder, job.attempt),
            cap_stdout=CAP,
            cap_stderr=CAP,
            seconds=job.limits.seconds,
            grace=GRACE,
        )

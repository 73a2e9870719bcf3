r"""Hardened containers: the one module that knows Docker.

A run is one container whose main process is the thing run; there is no exec into a running one, because an exec's
time limit does not kill.

    engine = Engine.connect()
    spec = RunSpec(image=image.reference, argv=("python3", "-c", "print(1)"), labels=labels("demo", "attempt-1"))
    engine.run(spec).stdout          # b"1\n"

Every container has no network, no capability, no new privileges, a read-only root, an init, memory equal to memory plus
swap, limits on processes, CPU, files and core dumps, and no log but our capped attach. At the deadline it gets SIGTERM,
then SIGKILL, as a whole: when `run` returns, nothing of it lives, and the container is gone. What a killed harness
leaves behind carries labels by which `Engine.reap` finds it.

It judges nothing: exit codes, time-outs and memory kills are values; only the engine's own faults are raised.
"""

from __future__ import annotations

import contextlib
import math
import secrets
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self, cast

from runners.attach import Capped, Feeder, Pump
from runners.backend import BackendFailure
from runners.owner import alive
from runners.runspec import LABEL, USER, Mount, RunResult, RunSpec, labels
from store.errors import Unavailable

if TYPE_CHECKING:
    import docker

__all__ = ["LABEL", "USER", "Engine", "Keeper", "Mount", "RunResult", "RunSpec", "labels"]

_MIB: Final = 1 << 20
_API_SECONDS: Final = 120
_DRAIN_SECONDS: Final = 30
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409


class Keeper:
    """A size-limited in-memory volume, held mounted by an idle container so that its content outlives each run."""

    def __init__(self, api: docker.APIClient, volume: str, container: str, target: str) -> None:
        self._api = api
        self._container = container
        self._target = target
        self.volume = volume

    def put(self, tar: Iterable[bytes]) -> None:
        """Unpack a tar stream of ours into the volume, owners and modes as it says.

        Raises:
            BackendFailure: the engine cannot (`engine`), be it that the volume is too small.
        """
        with _engine_errors("the workspace cannot be filled"):
            self._api.put_archive(self._container, self._target, iter(tar))  # an iterator is streamed, a list is not

    def get(self) -> Iterator[bytes]:
        """The volume as a tar stream, made by the engine and by nothing inside; names begin with `workspace/`.

        Raises:
            BackendFailure: the engine cannot, or breaks off (`harvest-transport`).
        """
        with _engine_errors("the workspace cannot be read", "harvest-transport"):
            stream, _ = self._api.get_archive(self._container, self._target, chunk_size=_MIB)
            yield from stream


class Engine:
    """A connection to Docker."""

    def __init__(self, api: docker.APIClient) -> None:
        self._api = api

    @classmethod
    def connect(cls) -> Self:
        """Connect as the environment says (`DOCKER_HOST`, else the default socket).

        Raises:
            Unavailable: no engine answers.
        """
        import docker
        import requests
        from docker.utils import kwargs_from_env

        try:
            return cls(docker.APIClient(version="auto", timeout=_API_SECONDS, **kwargs_from_env()))
        except (docker.errors.DockerException, requests.RequestException, OSError) as error:
            raise Unavailable(
                f"no Docker engine answers: {error}",
                fix="on Debian as root run scripts/bootstrap.sh; elsewhere install Docker until `docker info` works",
            ) from error

    def close(self) -> None:
        """Close the connections."""
        self._api.close()

    @property
    def version(self) -> str:
        """Version of the engine, and of the API that is spoken with it.

        Raises:
            BackendFailure: the engine fails (`engine`).
        """
        with _engine_errors("the engine says nothing of itself"):
            told = self._api.version()
        return f"{told['Version']}, API {self._api.api_version}"

    def capacity(self) -> tuple[int, int]:
        """What the engine's machine has: CPUs in thousandths, memory in bytes.

        Raises:
            BackendFailure: the engine fails (`engine`).
        """
        with _engine_errors("the engine says nothing of itself"):
            told = self._api.info()
        return int(told["NCPU"]) * 1000, int(told["MemTotal"])

    def image(self, name: str, *, layer: str | None = None) -> str | None:
        """Id of the image of that name or id, if it is here and, where asked for, consists of that one layer (diff id).

        Raises:
            BackendFailure: the engine fails (`engine`).
        """
        import docker

        with _engine_errors("the image cannot be looked up"):
            try:
                found = self._api.inspect_image(name)  # type: ignore[no-untyped-call]
            except docker.errors.ImageNotFound:
                return None
        return cast("str", found["Id"]) if layer is None or found["RootFS"]["Layers"] == [layer] else None

    def import_image(self, tar: BinaryIO, repository: str, tag: str, changes: list[str]) -> None:
        """Import a root filesystem as an image. `changes` are Dockerfile instructions.

        The tar is sent as a stream: given a path that does not exist, the SDK has the *engine* fetch it as a URL.

        Raises:
            BackendFailure: the engine fails (`engine`).
        """
        with _engine_errors("the image cannot be imported"):
            self._api.import_image_from_data(tar, repository=repository, tag=tag, changes=changes)

    def run(
        self,
        spec: RunSpec,
        *,
        stdin: Iterable[bytes] | None = None,
        stdout: BinaryIO | None = None,
        started: Callable[[str], None] | None = None,
    ) -> RunResult:
        """Run to the end or the deadline; the container is gone afterwards.

        Args:
            spec: what to run.
            stdin: fed from a thread; the process may stop reading at will.
            stdout: takes standard output, up to the cap, instead of the result.
            started: called with the container's id once it runs.

        Raises:
            BackendFailure: the engine fails (`engine`), the image is missing (`image`), the disk is full (`disk`);
                what the source of `stdin` raises passes through.
        """
        with _engine_errors("the container cannot be run"):
            container = self._create(spec, fed=stdin is not None)
            try:
                return self._attend(container, spec, stdin, stdout, started)
            finally:
                self._remove(container)

    def _create(self, spec: RunSpec, *, fed: bool) -> str:
        made = self._api.create_container(
            spec.image,
            command=list(spec.argv),
            entrypoint=[],
            environment=dict(spec.env),
            working_dir=spec.workdir,
            user=spec.user,
            hostname="sandbox",
            stdin_open=fed,
            network_disabled=True,
            labels=dict(spec.labels),
            host_config=_host_config(self._api, spec),
        )
        return cast("str", made["Id"])

    def _attend(
        self,
        container: str,
        spec: RunSpec,
        stdin: Iterable[bytes] | None,
        stdout: BinaryIO | None,
        started: Callable[[str], None] | None,
    ) -> RunResult:
        out, err = Capped(spec.cap_stdout, stdout), Capped(spec.cap_stderr)
        with self._attached(container, fed=stdin is not None) as sock, Feeder(sock, stdin) as feeder:
            pump = Pump(sock, out, err)
            begin = time.monotonic()
            self._api.start(container)
            if started is not None:
                started(container)
            feeder.start()
            timed_out = not self._ended(container, pump, begin + spec.seconds)
            if timed_out:
                self._stop(container, pump, spec.grace)
            milliseconds = round((time.monotonic() - begin) * 1000)
        state = self._api.inspect_container(container)["State"]
        return RunResult(
            exit_code=None if timed_out else int(state["ExitCode"]),
            timed_out=timed_out,
            memory_killed=bool(state["OOMKilled"]),
            stdout=out.kept,
            stderr=err.kept,
            truncated=out.truncated or err.truncated,
            milliseconds=milliseconds,
        )

    @contextlib.contextmanager
    def _attached(self, container: str, *, fed: bool) -> Iterator[socket.socket]:
        raw = self._api.attach_socket(container, {"stdin": int(fed), "stdout": 1, "stderr": 1, "stream": 1})
        sock = cast("socket.socket", getattr(raw, "_sock", raw))
        response = getattr(raw, "_response", raw)  # the SDK hangs it there, so that the socket lives as long
        try:
            yield sock
        finally:
            response.close()
            sock.close()

    def _ended(self, container: str, pump: Pump, until: float) -> bool:
        """True when both outputs and the container have ended before `until`."""
        return pump.read(until) and self._exited(container, until)

    def _exited(self, container: str, until: float) -> bool:
        import requests

        left = until - time.monotonic()
        if left > 0:
            try:
                self._api.wait(container, timeout=max(1, math.ceil(left)))
            except (requests.exceptions.ReadTimeout, requests.exceptions.ConnectionError):
                pass  # the time is over, or the engine is gone: the next call tells which
            else:
                return True
        return not self._api.inspect_container(container)["State"]["Running"]

    def _stop(self, container: str, pump: Pump, grace: float) -> None:
        self._kill(container, "SIGTERM")
        if self._ended(container, pump, time.monotonic() + grace):
            return
        self._kill(container, "SIGKILL")
        if not self._ended(container, pump, time.monotonic() + _DRAIN_SECONDS):
            raise BackendFailure("engine", "a killed container does not end", where=container[:12])

    def _kill(self, container: str, signal: str) -> None:
        import docker

        try:
            self._api.kill(container, signal)
        except docker.errors.APIError as error:
            if error.status_code not in {_NOT_FOUND, _CONFLICT}:  # 409: it does not run any more
                raise

    def _remove(self, container: str) -> None:
        import docker

        with contextlib.suppress(docker.errors.NotFound):
            self._api.remove_container(container, v=True, force=True)

    @contextlib.contextmanager
    def keeper(self, image: str, size: int, labels: Mapping[str, str], target: str = "/workspace") -> Iterator[Keeper]:
        """A volume of at most `size` bytes for one attempt, gone with its content at the end of the block.

        Raises:
            BackendFailure: the engine fails (`engine`) or the image is missing (`image`).
        """
        uid, gid = USER.split(":")
        options = f"size={size},nr_inodes={max(4096, size // 4096)},uid={uid},gid={gid},mode=0755,nosuid,nodev"
        name = f"rbl-{secrets.token_hex(8)}"
        spec = RunSpec(
            image, ("sleep", "infinity"), memory=64 * _MIB, pids=16, tmpfs={}, volumes={name: target}, labels=labels
        )
        with _engine_errors("the workspace's volume cannot be held"):
            self._api.create_volume(
                name, "local", {"type": "tmpfs", "device": "tmpfs", "o": options}, labels=dict(labels)
            )
            try:
                container = self._create(spec, fed=False)
                try:
                    self._api.start(container)
                    yield Keeper(self._api, name, container, target)
                finally:
                    self._remove(container)
            finally:
                self._api.remove_volume(name, force=True)

    def reap(self, folder: str, attempts: frozenset[str] | None = None) -> list[str]:
        """Remove containers and volumes of a benchmark folder.

        With `attempts`, theirs, whoever owns them; else those whose owning process is dead.

        Returns:
            What was removed, as `container <id>` and `volume <name>`.

        Raises:
            BackendFailure: the engine fails (`engine`).
        """
        wanted: dict[str, Any] = {"label": [f"{LABEL}folder={folder}"]}
        removed = []
        with _engine_errors("leftovers cannot be removed"):
            for item in self._api.containers(all=True, filters=wanted):
                if _orphan(item["Labels"] or {}, attempts):
                    self._remove(item["Id"])
                    removed.append(f"container {item['Id'][:12]}")
            for item in self._api.volumes(filters=wanted)["Volumes"] or []:
                if _orphan(item["Labels"] or {}, attempts):
                    self._api.remove_volume(item["Name"], force=True)
                    removed.append(f"volume {item['Name']}")
        return removed


def _host_config(api: docker.APIClient, spec: RunSpec) -> dict[str, Any]:
    from docker import types

    mounts = [types.Mount(m.target, str(m.source), type="bind", read_only=True) for m in spec.mounts]
    mounts += [types.Mount(target, name, type="volume", no_copy=True) for name, target in spec.volumes.items()]
    security = ["no-new-privileges"]
    if spec.seccomp is not None:
        security.append(f"seccomp={spec.seccomp.read_text(encoding='utf-8')}")
    limits = {"core": 0, "nofile": spec.nofile} | ({} if spec.fsize is None else {"fsize": spec.fsize})
    return api.create_host_config(
        network_mode="none",
        cap_drop=["ALL"],
        security_opt=security,
        read_only=True,
        init=True,
        ipc_mode="private",
        log_config=types.LogConfig(type="none"),
        mem_limit=spec.memory,
        memswap_limit=spec.memory,
        nano_cpus=spec.cpus * 1_000_000,
        pids_limit=spec.pids,
        ulimits=[types.Ulimit(name=name, soft=value, hard=value) for name, value in limits.items()],
        tmpfs={path: f"rw,exec,nosuid,nodev,mode=1777,size={size}" for path, size in spec.tmpfs.items()},
        mounts=mounts,
        shm_size=spec.shm,
    )


def _orphan(labels: Mapping[str, str], attempts: frozenset[str] | None) -> bool:
    if attempts is not None:
        return labels.get(f"{LABEL}attempt") in attempts
    return not alive(labels.get(f"{LABEL}owner", ""), labels.get(f"{LABEL}started", ""))


@contextlib.contextmanager
def _engine_errors(what: str, reason: str = "engine") -> Iterator[None]:
    """Turn what the SDK raises into `BackendFailure`."""
    import docker
    import requests

    try:
        yield
    except docker.errors.ImageNotFound as error:
        raise BackendFailure("image", f"{what}: {error.explanation}", fix="run `rbl image build`") from error
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise BackendFailure(reason, f"{what}: {error}", fix="see `docker info` and the engine's log") from error

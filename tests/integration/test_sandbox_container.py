"""The engine itself: streams, limits, leftovers."""

import io
import json
import os
import subprocess
import sys
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.backend import BackendFailure
from runners.container import Engine, Mount, RunSpec, labels
from runners.image import cached, ensure
from store.errors import Unavailable

pytestmark = pytest.mark.docker

MIB = 1 << 20


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine.connect()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def image(engine: Engine) -> str:
    return ensure(engine=engine).reference


@pytest.fixture
def folder() -> str:
    return f"test-{uuid.uuid4().hex[:8]}"


def spec(image: str, folder: str, *argv: str, **given: object) -> RunSpec:
    return RunSpec(image=image, argv=argv, labels=labels(folder, "attempt"), **given)  # type: ignore[arg-type]


def test_large_streams_pass_through_both_ways(engine: Engine, image: str, folder: str) -> None:
    chunk = bytes(range(256)) * 4096
    out = io.BytesIO()
    given = (chunk for _ in range(64))
    result = engine.run(spec(image, folder, "cat", cap_stdout=128 * MIB), stdin=given, stdout=out)
    assert result.exit_code == 0
    assert out.getvalue() == chunk * 64


def test_a_process_that_does_not_read_does_not_hold_us_up(engine: Engine, image: str, folder: str) -> None:
    given = (bytes(MIB) for _ in range(64))
    assert engine.run(spec(image, folder, "true"), stdin=given).exit_code == 0


def test_source_of_input_that_fails_is_heard(engine: Engine, image: str, folder: str) -> None:
    def source() -> Iterator[bytes]:
        yield b"x"
        raise ValueError("source")

    with pytest.raises(ValueError, match="source"):
        engine.run(spec(image, folder, "cat"), stdin=source())


def test_walls_are_up(engine: Engine, image: str, folder: str) -> None:
    facts: dict[str, object] = {}

    def look(container: str) -> None:
        told = subprocess.run(["docker", "inspect", container], capture_output=True, check=True).stdout
        facts.update(json.loads(told)[0]["HostConfig"])

    engine.run(spec(image, folder, "true", memory=96 * MIB, cpus=500, pids=32), started=look)
    wanted = {
        "NetworkMode": "none",
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],
        "ReadonlyRootfs": True,
        "Init": True,
        "Privileged": False,
        "LogConfig": {"Type": "none", "Config": {}},
        "Memory": 96 * MIB,
        "MemorySwap": 96 * MIB,
        "NanoCpus": 500_000_000,
        "PidsLimit": 32,
    }
    assert {name: facts[name] for name in wanted} == wanted


def test_a_profile_of_system_calls_is_applied(engine: Engine, image: str, folder: str, tmp_path: Path) -> None:
    profile = tmp_path / "seccomp.json"
    rule = {"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38}
    profile.write_text(json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [rule]}))
    result = engine.run(spec(image, folder, "mkdir", "/tmp/x", seccomp=profile))
    assert b"Function not implemented" in result.stderr


def test_mounts_are_read_only(engine: Engine, image: str, folder: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("seen")
    mounts = (Mount(tmp_path, "/pack"),)
    result = engine.run(spec(image, folder, "sh", "-c", "cat /pack/a; touch /pack/b", mounts=mounts, user="0:0"))
    assert result.stdout == b"seen"
    assert b"Read-only file system" in result.stderr


def test_volume_keeps_what_one_run_left_for_the_next(engine: Engine, image: str, folder: str) -> None:
    tags = labels(folder, "attempt")
    with engine.keeper(image, 2 * MIB, tags) as keeper:
        volumes = {keeper.volume: "/workspace"}
        engine.run(spec(image, folder, "sh", "-c", "echo kept > /workspace/a", volumes=volumes))
        assert engine.run(spec(image, folder, "cat", "/workspace/a", volumes=volumes)).stdout == b"kept\n"
        with tarfile.open(fileobj=io.BytesIO(b"".join(keeper.get()))) as tar:
            assert tar.getnames() == ["workspace", "workspace/a"]
        result = engine.run(spec(image, folder, "dd", "if=/dev/zero", "of=/workspace/b", volumes=volumes))
        assert b"No space left" in result.stderr


def test_image_that_is_not_there_has_its_own_reason(engine: Engine, folder: str) -> None:
    with pytest.raises(BackendFailure) as caught:
        engine.run(spec(f"sha256:{'0' * 64}", folder, "true"))
    assert caught.value.reason == "image"


def test_engine_that_is_not_there_is_unavailable_with_a_fix(tmp_path: Path) -> None:
    program = (
        "from runners.container import Engine\nfrom store.errors import Unavailable\n"
        "try: Engine.connect()\nexcept Unavailable as error: print(error.fix)\n"
    )
    environment = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert "bootstrap" in done.stdout


KILLED = """
import os, signal, sys
from runners.container import Engine, RunSpec, labels
engine, tags = Engine.connect(), labels(sys.argv[2], "lost")
with engine.keeper(sys.argv[1], 1 << 20, tags) as keeper:
    spec = RunSpec(sys.argv[1], ("sleep", "1000"), volumes={keeper.volume: "/workspace"}, labels=tags)
    engine.run(spec, started=lambda _: os.kill(os.getpid(), signal.SIGKILL))
"""


def kill_a_harness(image: str, folder: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, image, folder], check=False)
    assert done.returncode == -9


def test_leftovers_of_a_killed_harness_are_reaped(engine: Engine, image: str, folder: str) -> None:
    kill_a_harness(image, folder)
    assert engine.reap(f"{folder}-other") == []
    removed = engine.reap(folder)
    assert sorted(item.split()[0] for item in removed) == ["container", "container", "volume"]
    assert engine.reap(folder) == []


def test_leftovers_of_named_attempts_are_reaped_and_no_others(engine: Engine, image: str, folder: str) -> None:
    kill_a_harness(image, folder)
    assert engine.reap(folder, frozenset({"another"})) == []
    assert len(engine.reap(folder, frozenset({"lost"}))) == 3


def test_what_a_living_harness_uses_is_not_reaped(engine: Engine, image: str, folder: str) -> None:
    with engine.keeper(image, MIB, labels(folder, "attempt")):
        assert engine.reap(folder) == []


def test_image_is_the_tar_that_was_recorded(engine: Engine, image: str) -> None:
    known = cached(engine=engine)
    assert known.reference == image
    assert known.tar.name == f"{known.rootfs.hex}.tar"
    assert engine.image(image, layer=str(known.rootfs)) == image
    assert engine.image(image, layer=f"sha256:{'0' * 64}") is None
    assert known.browser.startswith("Chromium ")


def test_image_that_was_never_made_is_unavailable(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="not made"):
        cached(tmp_path, engine)


def test_font_cache_of_the_image_is_not_stale(engine: Engine, image: str, folder: str) -> None:
    result = engine.run(spec(image, folder, "fc-cache", "--verbose", "--system-only", env={"HOME": "/home"}))
    lines = [line for line in result.stdout.decode().splitlines() if line.startswith("/usr/share/fonts")]
    assert sum("skipping, existing cache is valid" in line for line in lines) >= 6
    assert not any("new cache contents" in line for line in lines)

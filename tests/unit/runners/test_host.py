"""Processes of the host: real ones, and nothing of them left."""

import io
import os
import sys
from pathlib import Path

import pytest

from runners.backend import BackendFailure
from runners.host import HostSpec, run_here


def spec(cwd: Path, program: str, **given: object) -> HostSpec:
    environment = {"PATH": os.environ["PATH"]}
    return HostSpec(argv=(sys.executable, "-c", program), cwd=cwd, env=environment, **given)  # type: ignore[arg-type]


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def test_output_exit_code_and_input(tmp_path: Path) -> None:
    program = "import sys; sys.stdout.write(sys.stdin.read().upper()); print('e', file=sys.stderr); sys.exit(3)"
    result = run_here(spec(tmp_path, program), stdin=[b"ab", b"cd"])
    assert (result.exit_code, result.stdout, result.stderr) == (3, b"ABCD", b"e\n")


def test_output_may_go_into_a_file_and_is_capped(tmp_path: Path) -> None:
    file = io.BytesIO()
    result = run_here(spec(tmp_path, "print('x' * 1000000)", cap_stdout=10), stdout=file)
    assert (file.getvalue(), result.stdout, result.truncated) == (b"x" * 10, b"", True)


def test_agent_that_ignores_term_is_killed(tmp_path: Path) -> None:
    program = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: signal.pause()"
    result = run_here(spec(tmp_path, program, seconds=0.5, grace=0.5))
    assert (result.timed_out, result.exit_code) == (True, None)
    assert result.milliseconds < 10_000


def test_survivors_are_dead_even_in_a_session_of_their_own(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "read, write = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    os.write(write, str(os.getpid()).encode())\n"
        "    while True: signal.pause()\n"
        "print(os.read(read, 100).decode())\n"
    )
    result = run_here(spec(tmp_path, program))
    assert result.exit_code == 0
    assert is_gone(int(result.stdout))


def test_exit_by_signal_reads_as_in_a_shell(tmp_path: Path) -> None:
    assert run_here(spec(tmp_path, "import os; os.kill(os.getpid(), 9)")).exit_code == 137


def test_file_size_is_limited(tmp_path: Path) -> None:
    program = "open('big', 'wb').write(b'x' * 100000)"
    result = run_here(spec(tmp_path, program, fsize=51200))
    assert result.exit_code != 0
    assert (tmp_path / "big").stat().st_size == 51200


def test_memory_is_limited(tmp_path: Path) -> None:
    result = run_here(spec(tmp_path, "x = b'x' * (1 << 30)", memory=256 << 20))
    assert b"MemoryError" in result.stderr


def test_interrupted_observer_leaves_nothing(tmp_path: Path) -> None:
    seen: list[int] = []

    def stop(process: str) -> None:
        seen.append(int(process))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_here(spec(tmp_path, "import signal; signal.pause()"), started=stop)
    assert is_gone(seen[0])


def test_folder_that_is_not_there_is_the_harness_s_fault(tmp_path: Path) -> None:
    with pytest.raises(BackendFailure):
        run_here(spec(tmp_path / "none", "pass"))

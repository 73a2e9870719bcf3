"""The build, inside its container: a tar of the workspace in, a tar of the output out.

    python3 -I inside.py dist npm run build  <workspace.tar  >output.tar  2>log

Standard output is the tar's alone; what the build prints goes to standard error. When the build has ended, every other
process of this user is killed before anything is read. Exit codes: 0 with a tar, 10 the build failed, 11 its output is
not there. It runs beside Candidate code under the same user, so what it says is no more than that code could say.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

WORK = Path("/work/site")
FAILED = 10
NOTHING = 11


def main(output: str, argv: list[str]) -> int:
    """Unpack, run, pack."""
    WORK.mkdir(parents=True)
    with tarfile.open(fileobj=sys.stdin.buffer, mode="r|") as tar:
        tar.extractall(WORK)  # noqa: S202 - our own tar, in a container
    sys.stdin.close()
    try:
        ended = subprocess.run(argv, cwd=WORK, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        return FAILED
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)  # all that we may signal, but ourselves and the first process
    if ended.returncode:
        sys.stderr.write(f"{argv[0]} ended with {ended.returncode}\n")
        return FAILED
    folder = WORK / output
    if folder.resolve() != folder or not folder.is_dir():
        sys.stderr.write(f"{output} is not a folder of the workspace\n")
        return NOTHING
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for item in sorted(folder.iterdir()):
            if item.name not in {".git", "node_modules"}:
                tar.add(item, arcname=item.name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))

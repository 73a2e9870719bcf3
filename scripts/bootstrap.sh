#!/bin/sh
# Makes a Debian machine ready: packages, a running Docker engine, and .venv with this project in it.
#
#   scripts/bootstrap.sh            as root on Debian: brings what is missing; elsewhere: says what is missing
#
# It may be run as often as one likes; when everything is in place it takes less than a second and changes nothing.
# Package indexes and mirrors are those that apt and pip are configured with. Exit codes: 0 ready, 3 something is
# missing that it may not bring, anything else a command that failed.
set -eu
cd "$(dirname "$0")/.."
mkdir -p .cache

programs='strace:strace docker:docker.io dockerd:docker.io chromium:chromium mmdebstrap:mmdebstrap git:git bwrap:bubblewrap'
lacking=''
for pair in $programs; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%:*}" >/dev/null 2>&1 || lacking="$lacking ${pair##*:}"
done
[ -e /etc/ssl/certs/ca-certificates.crt ] || lacking="$lacking ca-certificates"

python=''
for name in "${PYTHON:-python3}" python3.13 python3.12 python3.11; do
    if command -v "$name" >/dev/null 2>&1 && "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$name
        break
    fi
done
[ -n "$python" ] || lacking="$lacking python3 python3-venv"
lacking=$(printf '%s\n' $lacking | sort -u | tr '\n' ' ')
lacking=${lacking% }

answers() { docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

debian_root() { [ "$(id -u)" = 0 ] && [ -e /etc/debian_version ] && command -v apt-get >/dev/null 2>&1; }

if [ -n "$lacking" ]; then
    if ! debian_root; then
        echo "missing: $lacking"
        echo "bring it: on Debian as root, apt-get install --no-install-recommends $lacking; elsewhere, by your own package manager"
        exit 3
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update --quiet=2
    # shellcheck disable=SC2086  # a list of words
    apt-get install --quiet=2 --yes --no-install-recommends $lacking
    python=${python:-python3}
fi

if ! answers; then
    if [ "$(id -u)" != 0 ] || [ -n "${DOCKER_HOST:-}" ] || ! command -v dockerd >/dev/null 2>&1; then
        echo "missing: a Docker engine that answers"
        echo "bring it: start Docker, or join its group, until \`docker info\` works"
        exit 3
    fi
    # A killed engine leaves its pid behind, which may be another process by now, and dockerd then refuses to start.
    pid=$(cat /var/run/docker.pid 2>/dev/null || true)
    if [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != dockerd ]; then rm -f /var/run/docker.pid; fi
    setsid nohup dockerd >.cache/dockerd.log 2>&1 </dev/null &
    for _ in $(seq 60); do
        answers && break
        sleep 0.5
    done
    if ! answers; then
        echo "missing: a Docker engine that answers; dockerd did not start"
        echo "bring it: see .cache/dockerd.log"
        exit 3
    fi
fi

[ -x .venv/bin/python ] || "$python" -m venv .venv
stamp=.venv/.bootstrapped
if [ ! -x .venv/bin/rbl ] || ! cmp --silent pyproject.toml "$stamp"; then
    .venv/bin/python -m pip install -qq --upgrade 'pip>=25.1' # --group came with it
    .venv/bin/python -m pip install -qq --editable . --group dev
    cp pyproject.toml "$stamp"
fi
echo "ready: $(docker version --format 'Docker {{.Server.Version}}'), $(.venv/bin/python --version)"

"""`--on ssh:` with a real sshd: its worker runs rounds, and a host that is not there is named."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
from programs import reap

from reap.sweep import folder

pytestmark = pytest.mark.slow
PLAN = """
allocators = ["glibc", "reap"]
rounds = 2
[[programs]]
command = ["./ours", "text"]
files = ["ours", "text"]
"""


def key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path.with_suffix(".pub").read_text()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
def alpha(tmp_path, monkeypatch):
    """The name of a host in ~/.ssh/config, which is this machine."""
    own = tmp_path / "home/.ssh"
    own.mkdir(parents=True, mode=0o700)
    port, host_key = free_port(), key(own / "host")
    (own / "authorized").write_text(key(own / "id"))
    (own / "known").write_text(f"[127.0.0.1]:{port} {host_key}")
    (own / "config").write_text(
        f"Host alpha beta\n  HostName 127.0.0.1\n  User {getpass.getuser()}\n  IdentityFile {own}/id\n"
        f"  UserKnownHostsFile {own}/known\nHost alpha\n  Port {port}\nHost beta\n  Port 1\n"
    )
    (own / "sshd").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {own}/host\nAuthorizedKeysFile {own}/authorized\n"
        "StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\n"
    )
    if os.geteuid() == 0:  # where the daemon drops its rights; its service makes it elsewhere
        Path("/run/sshd").mkdir(exist_ok=True)
    daemon = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", own / "sshd"], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while time.monotonic() < until:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    yield "alpha"
    daemon.terminate()
    daemon.wait()


def test_rounds_run_on_a_host_that_ssh_reaches(alpha, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(shutil.which("cat"), tmp_path / "ours")
    (tmp_path / "text").write_text("of the test\n" * 1000)
    (tmp_path / "plan.toml").write_text(PLAN)
    answer = reap("compare", "--plan", "plan.toml", "--on", f"ssh:{alpha}", "-o", "s")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    done = list(folder.blocks(tmp_path / "s"))
    assert sorted(each.block.round for each in done) == [0, 1]
    assert {each.facts.host for each in done} == {socket.gethostname()}

    answer = reap("compare", "--plan", "plan.toml", "--on", "ssh:beta", "-o", "t")
    assert answer.returncode != 0
    assert "no cluster could be started by ssh on beta" in answer.stderr
    assert "try `ssh beta" in answer.stderr

"""Names of programs behind wrappers and shells."""

import shlex

import pytest

from reap.launch import wrappers


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/bin/redis-server --port 1", "redis-server"),
        ("setpriv --reuid=postgres --regid=postgres --clear-groups /usr/bin/postgres -D x", "postgres"),
        ("setpriv --reuid postgres -- postgres -D x", "postgres"),
        ("env -u HOME A=B nice -n 5 ./server", "server"),
        ("taskset -c 0-1 memcached -u nobody", "memcached"),
        ("sudo -u nobody -E A=B nginx -g 'daemon off;'", "nginx"),
        ("timeout -k 5 60 node app.js", "node"),
        ("stdbuf -oL -e 0 ./server", "server"),
        ("sh -c 'sed s/a/b/ site >{arm}.conf && exec nginx -p . -c {arm}.conf'", "nginx"),
        ("bash -ec 'A=B exec env C=D ./server {port}'", "server"),
        ("sh -c 'ulimit -n 9; ./server {port}'", "server"),
        ("sh -c 'produce | consume'", "sh"),
        ('sh -c "it\'s"', "sh"),
        ("sh -c 'ab\nab'", "sh"),
        ("sh start.sh", "sh"),
        ("env", "env"),
        ("nice -n 5", "nice"),
        ("./env.sh taskset", "env.sh"),
        ("sh -c '$HOME/bin/server {port}'", "server"),
        ("sh -c 'PATH=$PWD/bin:$PATH server'", "server"),
        ("sh -c 'exec {arm}/server'", "server"),
        ("sh -c 'clang++ x.cc'", "clang++"),
        ("sh -c 'LD_LIBRARY_PATH=/a:/b ./server'", "server"),
        ("sh bench.sh -c nginx.conf", "sh"),
        ("bash run.sh -c 4", "bash"),
        ("bash -o pipefail -ce './server -c x'", "server"),
        ("bash -c -- ./server", "server"),
        ("sh -c 'if x; then y; fi'", "sh"),
        ("sh -c 'if x; then y; elif z; else w; fi'", "sh"),
        ("sh -c 'case x in a) ;; esac'", "sh"),
        ("sh -c '{ ab x; }'", "sh"),
        ("sh -c 'exec >log 2>&1; ./server'", "server"),
        ("sh -c './server {port} 2>&1'", "server"),
        ("sh -c './server &>\"a b; c\"'", "server"),
        ("sudo --user postgres pgbench", "pgbench"),
        ("numactl --cpunodebind 0 --membind 0 ./server", "server"),
        ("numactl -l ./server", "server"),
        ("stdbuf --output L ./server", "server"),
        ("runuser --user postgres -- postgres", "postgres"),
        ("chrt --deadline --sched-runtime 9 0 ./server", "server"),
        ("chroot --userspec a:b / ./server", "server"),
        ("env -- A=B ./server", "server"),
        ("timeout -- 5 ./server", "server"),
    ],
)
def test_the_program_behind_wrappers(command: str, name: str) -> None:
    assert wrappers.name(shlex.split(command)) == name


def test_no_command_has_no_name() -> None:
    assert wrappers.name([]) == ""


def test_words_of_the_program_stay_as_they_are() -> None:
    assert wrappers.inner(["nice", "-n", "5", "ab", "-n", "9", "x y"]) == ["ab", "-n", "9", "x y"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("redis-benchmark -t get,set", ["redis-benchmark", "-t", "get,set"]),
        ("./server 80 >log 2>&1 <in", ["./server", "80"]),
        ("awk '$1 > 5 && $2' x@y%z", ["awk", "$1 > 5 && $2", "x@y%z"]),
    ],
)
def test_words_in_a_line_of_a_shell_stay_whole(line: str, words: list[str]) -> None:
    assert wrappers.inner(["sh", "-c", line]) == words

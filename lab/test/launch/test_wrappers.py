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
    ],
)
def test_the_program_behind_wrappers(command: str, name: str) -> None:
    assert wrappers.name(shlex.split(command)) == name


def test_no_command_has_no_name() -> None:
    assert wrappers.name([]) == ""


def test_words_of_the_program_stay_as_they_are() -> None:
    assert wrappers.inner(["nice", "-n", "5", "ab", "-n", "9", "x y"]) == ["ab", "-n", "9", "x y"]

"""Requests and answers of the protocols of `reap load`."""

import pytest

from reap.load import analyse, words
from reap.load.records import Asked, Times

OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("protocol", "answer"),
    [
        ("line", b"STORED\r\n"),
        ("redis", b"+OK\r\n"),
        ("redis", b"-ERR no\r\n"),
        ("redis", b":12\r\n"),
        ("redis", b"$5\r\na\r\nbc\r\n"),
        ("redis", b"$0\r\n\r\n"),
        ("redis", b"$-1\r\n"),
        ("redis", b"*2\r\n$1\r\na\r\n*1\r\n:1\r\n"),
        ("redis", b"*0\r\n"),
        ("http", OK + b"Content-Length: 3\r\n\r\nabc"),
        ("http", OK + b"content-length:0\r\n\r\n"),
        ("http", b"HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n"),
        # What looks like the end of all chunks is in the first one.
        ("http", OK + b"Transfer-Encoding: chunked\r\n\r\n7;x=y\r\na0\r\n\r\nb\r\n0\r\n\r\n"),
    ],
)
def test_an_answer_ends_with_its_last_byte_and_not_before(protocol, answer):
    assert [at for at in range(len(answer) + 1) if analyse.is_whole(protocol, answer[:at])] == [len(answer)]


def test_an_answer_without_a_length_ends_with_the_connection():
    answer = b"HTTP/1.0 200 OK\r\n\r\nabc"
    assert not analyse.is_whole("http", answer)


@pytest.mark.parametrize(
    ("protocol", "answer", "failed"),
    [
        ("http", OK + b"\r\n", False),
        ("http", b"HTTP/1.1 302 Found\r\n\r\n", False),
        ("http", b"HTTP/1.1 503 Busy\r\n\r\n", True),
        ("http", b"nonsense", True),
        ("redis", b"$6\r\n-ERR a\r\n", False),
        ("redis", b"-ERR unknown command\r\n", True),
        ("line", b"END\r\n", False),
        ("line", b"SERVER_ERROR out of memory\r\n", True),
        ("line", b"ERROR\r\n", True),
    ],
)
def test_which_answers_say_that_a_request_failed(protocol, answer, failed):
    assert analyse.has_failed(protocol, answer) == failed


@pytest.mark.parametrize(
    ("head", "closes"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0", False),
        (b"HTTP/1.1 200 OK\r\nConnection: close", True),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0", True),
        (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive", False),
    ],
)
def test_which_answers_close_their_connection(head, closes):
    assert analyse.closes("http", head + b"\r\n\r\nConnection: close") == closes


@pytest.mark.parametrize(
    ("protocol", "text", "sent"),
    [
        ("http", "/a/{n}?b", b"GET /a/12?b HTTP/1.1\r\nHost: h:80\r\n\r\n"),
        ("redis", "SET key:{n} 'a b'", b"*3\r\n$3\r\nSET\r\n$6\r\nkey:12\r\n$3\r\na b\r\n"),
        ("line", r"set k{n} 0 0 2\r\n\xff1", b"set k12 0 0 2\r\n\xff1\r\n"),
    ],
)
def test_what_is_sent_of_a_request(protocol, text, sent):
    (request,) = analyse.encoded(protocol, "h:80", [text])
    assert analyse.numbered(protocol, request, 12) == sent


def test_percentiles_are_times_of_requests_and_only_those_that_so_many_have():
    asked = Asked(protocol="line", host="", port=1, requests=[], rate=100, count=200, connections=4, keys=1)
    times = Times(
        seconds=4.0,
        latencies=[each / 1000 for each in range(1, 201)],
        late=[0.0] * 197 + [0.5] * 3,
        failed=0,
        failure="",
    )
    said = words.lines(asked, times)
    assert said[0] == "200 requests, 0 failed; 50.0/s answered of 100/s due, on 4 connections"
    assert said[1].endswith("mean 100.500 ms, P50 100.000 ms, P99 198.000 ms, maximum 200.000 ms")
    assert said[2].endswith("P99 500.000 ms")

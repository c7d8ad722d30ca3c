"""The number of requests that a load generator says it made."""

import pytest

from reap.launch.records import LoadLatency
from reap.server.generators import Counted, counted

REDIS_QUIET = "SET: rps=0.0 (overall: 0.0)\rSET: 5527.92 requests per second, p50=7.359 msec\n\n" * 2
REDIS = """====== SET ======
  3000 requests completed in 0.05 seconds
  50 parallel clients

====== GET ======
  3000 requests completed in 0.04 seconds
"""
AB = """Concurrency Level:      8
Complete requests:      2000
Failed requests:        0
"""
WRK = """Running 1s test @ http://127.0.0.1:8080/
  10 connections
  20455 requests in 1.00s, 3.10MB read
Requests/sec:  20450.11
"""
OHA = """Status code distribution:
  [200] 1980 responses
  [503] 20 responses
"""
# As src/printer.rs of oha 1.16 writes it.
OHA_AT_A_RATE = """Summary:
  Success rate:\t100.00%
  Slowest:\t9.2000 ms
  Average:\t0.9150 ms
  Requests/sec:\t499.1234

Response time histogram:
  0.100 ms [1]   |

Response time distribution:
  10.00% in 0.2100 ms
  50.00% in 0.4100 ms
  99.00% in 5.2500 ms
  99.90% in 9.1000 ms
  99.99% in 9.2000 ms

Status code distribution:
  [200] {} responses
"""
MEMCSLAP = """Time to generate       2000 test keys:                0.030 seconds.
Time to set            8000 keys by    4 threads:     0.783 seconds.
"""
PGBENCH_AT_A_RATE = """number of transactions actually processed: 400/400
number of failed transactions: 0 (0.000%)
latency average = 1.474 ms
latency stddev = 1.666 ms
rate limit schedule lag: avg 0.592 (max 4.944) ms
initial connection time = 21.216 ms
tps = 197.466310 (without initial connection time)
"""
PGBENCH = """number of transactions per client: 100
number of transactions actually processed: 800/800
number of failed transactions: 3 (0.375%)
"""


@pytest.mark.parametrize(
    ("command", "said", "expected"),
    [
        ("redis-benchmark -p 1 -q -n 500 -t set,get", REDIS_QUIET, Counted(requests=1000)),
        ("redis-benchmark -q -n500", REDIS_QUIET, Counted(requests=1000)),
        ("redis-benchmark -q", REDIS_QUIET, Counted(requests=200_000)),
        ("/usr/bin/redis-benchmark -t set,get", REDIS, Counted(requests=6000)),
        ("ab -n 2000 http://localhost/", AB, Counted(requests=2000)),
        ("ab -n 2000 x", AB + "Non-2xx responses:      7\n", Counted(requests=2000, failed=7)),
        ("wrk -d 1 x", WRK, Counted(requests=20455)),
        ("wrk x", WRK + "  Non-2xx or 3xx responses: 5\n", Counted(requests=20455, failed=5)),
        ("oha -n 2000 x", OHA, Counted(requests=2000, failed=20)),
        ("pgbench -c 8 -t 100", PGBENCH, Counted(requests=800, failed=3)),
        ("memcslap --servers=x", MEMCSLAP, Counted(requests=8000)),
        ("memtier_benchmark -n 100 -c 5 -t 2", "", Counted(requests=1000)),
        ("memtier_benchmark --requests=100 --clients 5", "", Counted(requests=2000)),
        ("taskset -c 1 ab -n 2000 x", AB, Counted(requests=2000)),
    ],
)
def test_what_a_known_load_says(command: str, said: str, expected: Counted) -> None:
    assert counted(command.split(), said) == expected


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sh -c ab;ab", AB),
        ("curl ab", AB),
        ("ab x", "apr_socket_recv: Connection refused"),
        ("memtier_benchmark --test-time=3", ""),
        ("memtier_benchmark -n allkeys", ""),
        ("redis-benchmark -q -n 5", "Could not connect"),
        ("", AB),
    ],
)
def test_what_is_not_known(command: str, said: str) -> None:
    assert counted(command.split(), said) is None


@pytest.mark.parametrize(
    ("command", "said", "latency"),
    [
        (
            "pgbench -t 200 --rate=200",
            PGBENCH_AT_A_RATE,
            LoadLatency(due_per_second=200, per_second=197.466310, mean_ns=1_474_000),
        ),
        (
            "pgbench -t 200 -R 200",
            PGBENCH_AT_A_RATE,
            LoadLatency(due_per_second=200, per_second=197.466310, mean_ns=1_474_000),
        ),
        ("pgbench -t 200", PGBENCH_AT_A_RATE, None),
        (
            "oha -n 2000 -q 500 --latency-correction x",
            OHA_AT_A_RATE.format(2000),
            LoadLatency(
                due_per_second=500,
                per_second=499.1234,
                mean_ns=915_000,
                p50_ns=410_000,
                p99_ns=5_250_000,
                p999_ns=9_100_000,
            ),
        ),
        (
            "oha -n 200 -q 500 --latency-correction x",
            OHA_AT_A_RATE.format(200),
            LoadLatency(
                due_per_second=500, per_second=499.1234, mean_ns=915_000, p50_ns=410_000, p99_ns=5_250_000
            ),
        ),
        ("oha -n 2000 -q 500 x", OHA_AT_A_RATE.format(2000), None),
    ],
)
def test_latency_is_that_of_an_open_loop_alone(command: str, said: str, latency: LoadLatency | None) -> None:
    assert counted(command.split(), said).latency == latency

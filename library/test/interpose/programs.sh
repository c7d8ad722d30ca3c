#!/bin/sh
# programs.sh NAME LIBRARY: runs a program of others twice, with the C library's malloc and with LIBRARY
# preloaded, and compares what it prints. 77: it is not on this machine.
set -eu
name=$1
library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C PERL_HASH_SEED=0 PYTHONHASHSEED=0
cd "$work"

both() {
    "$@" >plain 2>&1
    LD_PRELOAD=$library "$@" >served 2>&1
    test -s plain
    cmp plain served
}

# Which must be the system's: another may bring its own malloc.
find_program() {
    for path in /usr/bin/"$1" /bin/"$1"; do
        if test -x "$path"; then
            echo "$path"
            return
        fi
    done
    echo "$1 is not on this machine" >&2
    exit 77
}

case $name in
perl)
    program=$(find_program perl)
    both "$program" -e '
        my %h; my @a;
        for my $i (1 .. 60000) { push @{$h{$i % 997}}, "x" x ($i % 300); push @a, [$i, {n => "v$i"}]; }
        splice(@a, 1000, 40000);
        my $s = 0; $s += length(join ",", @{$h{$_}}) for sort keys %h;
        print "$s ", scalar(@a), " ", substr(join("", sort map { $_->[1]{n} } @a), 0, 500), "\n";'
    ;;
python)
    program=$(find_program python3)
    # Its own small-object allocator left out, and threads, and children that are forked beside them.
    PYTHONMALLOC=malloc
    export PYTHONMALLOC
    both "$program" -c '
import json, os, re, threading, subprocess, sys
data = [{"id": i, "name": "n%d" % i, "tags": ["t%d" % (i * k % 91) for k in range(5)]} for i in range(8000)]
back = json.loads(json.dumps(data))
print(back == data, len(re.sub("[aeiou]", "", json.dumps(back))))
found = []
def work(n):
    found.append(sum(len(str(x) * (x % 50)) for x in range(n * 1000)))
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for t in threads: t.start()
pids = []
for _ in range(5):
    pid = os.fork()
    if pid == 0:
        os._exit(len([str(i) for i in range(20000)]) % 7)
    pids.append(pid)
print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids])
for t in threads: t.join()
print(sorted(found), subprocess.check_output(["echo", "child"]))'
    ;;
gcc)
    program=$(find_program gcc)
    i=0
    while test $i -lt 100; do
        echo "struct s$i { int a[$i + 1]; char *b; }; int f$i(struct s$i *s, int n) {
              int t = 0; for (int k = 0; k < n && k <= $i; k++) t += s->a[k] * (k ^ $i); return s->b ? t : -t; }"
        i=$((i + 1))
    done >program.c
    both "$program" -O2 -S -o - program.c
    ;;
sort)
    program=$(find_program sort)
    awk 'BEGIN { srand(1); for (i = 0; i < 200000; i++) print int(rand() * 1e9), i }' >lines
    both "$program" --parallel=4 -S 2M -n lines
    ;;
threads)
    # A library that is loaded late, in a thread, and unloaded: by the interpreter that does so.
    program=$(find_program python3)
    both "$program" -c '
import ctypes, sqlite3, threading, zlib
def work(n):
    base = sqlite3.connect(":memory:")
    base.execute("create table t (a integer, b text)")
    base.executemany("insert into t values (?, ?)", ((i, "x" * (i % 97)) for i in range(5000)))
    out[n] = base.execute("select sum(length(b)), count(*) from t where a % 3 = ?", (n % 3,)).fetchone()
    out[n] += (zlib.crc32(zlib.compress(b"abc" * 50000)),)
out = {}
for _ in range(3):
    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for t in threads: t.start()
    for t in threads: t.join()
print(sorted(out.items()))'
    ;;
esac

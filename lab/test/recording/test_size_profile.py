"""What a heap is littered with: from recordings whose truth is known, and in files that may hold anything."""

import json

import msgspec
import pytest
from any_records import ANY
from hypothesis import given
from hypothesis import strategies as st
from programs import compile_c
from recorded import recorded

from reap.base.errors import ReapError
from reap.base.records import Estimate, exactly
from reap.fragment.run import load_profile
from reap.recording.analyse.size_profile import SizeProfile, decode, encode, narrow, size_profile

# Keeps 100 blocks of 40 bytes for good, turns over a thousand of 48, and has 50 of 600 together for a while.
# Ten more are beyond the usual cut-off.
TRUTH = r"""
    #include <stdlib.h>
    int main(void) {
        static void *some[100], *large[10], *more[50];
        for (int i = 0; i < 100; i++) some[i] = malloc(40);
        for (int i = 0; i < 1000; i++) free(malloc(48));
        for (int i = 0; i < 10; i++) large[i] = malloc(4096 + 1000 * i);
        for (int i = 0; i < 50; i++) more[i] = malloc(600);
        for (int i = 0; i < 50; i++) free(more[i]);
        return 0;
    }"""


def profile_of(folder, source, depth, *words, cut_off=4096, name="truth"):
    program = compile_c(name, source, ["-O1", "-fno-builtin", "-pthread"])
    return size_profile(recorded(folder, depth, program, *words).recording, cut_off=cut_off)


def test_triage_counts_every_allocation_below_the_cut_off(tmp_path):
    profile = profile_of(tmp_path, TRUTH, "triage")
    assert profile.counted == "allocations"
    assert profile.sizes == [(40, 100), (48, 1000), (600, 50)]
    assert profile.left_out == 10
    assert profile.left_out_bytes == 10 * 4096 + 45 * 1000
    assert profile.program.endswith("/truth")
    assert profile.processes == profile.threads == 1
    assert 110 <= profile.peak.value <= 161, "at least what is left at the end"


def test_fault_11_full_counts_what_is_in_use_at_the_peak(tmp_path):
    profile = profile_of(tmp_path, TRUTH, "full")
    assert profile.counted == "in use at the peak"
    assert profile.sizes == [(40, 100), (600, 50)], "none of the thousand that come and go"
    assert profile.peak == exactly(150)


def test_fault_10_sizes_at_the_cut_off_are_left_out_and_not_binned_below_it(tmp_path):
    source = (
        "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 30; i++) malloc(4080 + i); return 0; }"
    )
    for depth in ("triage", "full"):
        profile = profile_of(tmp_path, source, depth, name="around")
        assert profile.sizes == [(4080 + i, 1) for i in range(16)]
        assert profile.left_out == 14
    profile = profile_of(tmp_path, source, "full", cut_off=4090, name="around")
    assert [size for size, _ in profile.sizes] == list(range(4080, 4090))


def test_fault_3_realloc_of_nothing_is_an_object_in_use(tmp_path):
    source = r"""
        #include <stdlib.h>
        int main(void) {
            static void *some[10000];
            for (int i = 0; i < 10000; i++) some[i] = realloc(NULL, 24);
            for (int i = 0; i < 10000; i++) free(some[i]);
            return 0;
        }"""
    profile = profile_of(tmp_path, source, "full", name="reallocs")
    assert profile.sizes == [(24, 10000)]
    assert profile.peak == exactly(10000)


def test_a_cut_off_beyond_a_page_takes_bins_by_their_mean_size(tmp_path):
    profile = profile_of(tmp_path, TRUTH, "full", cut_off=1 << 20)
    assert profile.left_out == 0
    assert sum(count for _, count in profile.sizes) == 160
    large = [(size, count) for size, count in profile.sizes if size >= 4096]
    assert sum(size * count for size, count in large) == pytest.approx(10 * 4096 + 45 * 1000, abs=10)


def test_threads_are_those_at_once(tmp_path):
    source = r"""
        #include <pthread.h>
        #include <stdlib.h>
        static pthread_barrier_t all;
        static void *work(void *wait) {
            for (int i = 0; i < 10; i++) free(malloc(100));
            if (wait) pthread_barrier_wait(&all);
            return NULL;
        }
        int main(void) {
            pthread_t one[3];
            for (int i = 0; i < 5; i++) { pthread_create(one, 0, work, 0); pthread_join(*one, 0); }
            pthread_barrier_init(&all, 0, 3);
            for (int i = 0; i < 3; i++) pthread_create(one + i, 0, work, one);
            for (int i = 0; i < 3; i++) pthread_join(one[i], 0);
            return 0;
        }"""
    assert profile_of(tmp_path, source, "triage", name="threads").threads == 4


def test_a_program_that_allocates_nothing_small_is_refused(tmp_path):
    source = "#include <stdlib.h>\nint main(void) { return malloc(100000) == 0; }"
    with pytest.raises(ReapError, match="allocates nothing of less than 4096 bytes"):
        profile_of(tmp_path, source, "triage", name="large")


GOOD = SizeProfile(
    format="reap size profile",
    version=1,
    program="/usr/bin/perl",
    command=["perl", "-e", "1"],
    counted="allocations",
    cut_off=4096,
    sizes=[(16, 5), (100, 7)],
    left_out=3,
    left_out_bytes=20000,
    peak=Estimate(value=12, low=12, high=20),
)

sizes_of_any = st.dictionaries(st.integers(0, 4095), st.integers(1, 10**9), min_size=1).map(
    lambda counts: sorted(counts.items())
)


@ANY
@given(sizes=sizes_of_any, peak=st.integers(1, 10**9), threads=st.integers(1, 1000), word=st.text())
def test_a_file_holds_the_whole_profile(sizes, peak, threads, word):
    profile = msgspec.structs.replace(
        GOOD, sizes=sizes, peak=exactly(peak), threads=threads, command=[word.replace("\0", "")]
    )
    assert decode(encode(profile), "a.json") == profile


@ANY
@given(data=st.binary())
def test_any_bytes_are_a_profile_or_refused_in_a_sentence(data):
    with pytest.raises(ReapError, match=r"a\.json is no size profile"):
        decode(data, "a.json")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)


@ANY
@given(field=st.sampled_from(SizeProfile.__struct_fields__), value=json_values)
def test_a_file_with_one_strange_field_is_sound_or_refused(field, value):
    fields = {**msgspec.to_builtins(GOOD), field: value}
    try:
        profile = decode(json.dumps(fields).encode("utf-8", "surrogatepass"), "a.json")
    except ReapError:
        pass  # with a message: no other error comes out
    else:
        assert profile.sizes
        assert profile.count < 2**48
        assert all(0 <= size < profile.cut_off for size, _ in profile.sizes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": "something else"}, "no size profile, but 'something else'"),
        ({"version": 2}, "of version 2; this reap reads version 1"),
        ({"sizes": [[16, 0]]}, "a count below 1"),
        ({"sizes": [[16, 1], [16, 1]]}, "each once"),
        ({"sizes": [[5000, 1]]}, "cut-off of 4096"),
        ({"sizes": [[16, 2**60]]}, "beyond what can be drawn"),
        ({"sizes": [], "left_out": 0}, "allocates nothing"),
        ({"peak": {"value": 0, "low": 0, "high": 0}}, "hardly anything in use"),
        ({"peak": {"value": -1, "low": 0, "high": 0}}, "impossible"),
        ({"threads": 0}, "no thread"),
        ({"threads": 5_000_000_000}, "5000000000 threads are more than a system can have"),
        ({"left_out_bytes": -780}, "less than nothing"),
    ],
)
def test_what_cannot_be_is_refused_by_name(changes, said):
    with pytest.raises(ReapError, match=said):
        decode(json.dumps({**msgspec.to_builtins(GOOD), **changes}).encode(), "a.json")


def test_a_cut_off_can_be_lowered_and_not_raised():
    lower = narrow(GOOD, 100)
    assert lower.sizes == [(16, 5)]
    assert (lower.left_out, lower.left_out_bytes, lower.cut_off) == (10, 20700, 100)
    assert narrow(GOOD, 10000) == GOOD
    with pytest.raises(ReapError, match="less than 16 bytes"):
        narrow(GOOD, 16)


# Two processes with some blocks of 40 bytes and of 600, most of them in the child.
FORKS = r"""
    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>
    int main(void) {
        for (int i = 0; i < 31; i++) malloc(i % 3 ? 40 : 600);
        if (fork()) return wait(0) < 0;
        for (int i = 0; i < 100; i++) malloc(i % 7 ? 40 : 600);
        return 0;
    }"""


@pytest.mark.parametrize("source", [TRUTH, FORKS])
@pytest.mark.parametrize("depth", ["full", "triage"])
def test_a_file_gives_the_peak_that_its_recording_gives_for_a_lower_cut_off(tmp_path, depth, source):
    program = compile_c(f"lower-{len(source)}", source, ["-O1", "-fno-builtin", "-pthread"])
    path = recorded(tmp_path, depth, program).path
    wide = load_profile(path, cut_off=4096)
    for cut_off in (601, 600, 64, 41):
        taken, narrowed = load_profile(path, cut_off=cut_off), narrow(wide, cut_off)
        assert narrowed.sizes == taken.sizes
        assert round(narrowed.peak.value) == round(taken.peak.value), cut_off
    if depth == "full":
        assert narrowed.peak.value < wide.peak.value
    with pytest.raises(ReapError, match="allocates nothing of less than 40 bytes"):
        narrow(wide, 40)


def test_a_recording_and_a_file_are_told_apart(tmp_path):
    program = compile_c("truth", TRUTH, ["-O1", "-fno-builtin", "-pthread"])
    recording = recorded(tmp_path, "full", program).path
    taken = load_profile(recording, cut_off=4096)
    (tmp_path / "p.json").write_bytes(encode(taken))
    assert load_profile(tmp_path / "p.json", cut_off=4096) == taken
    with pytest.raises(ReapError, match="cannot be read"):
        load_profile(tmp_path / "none", cut_off=4096)
    with pytest.raises(ReapError, match="cannot be read"):
        load_profile(tmp_path, cut_off=4096)

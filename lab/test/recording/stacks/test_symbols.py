"""Functions and lines of addresses, as addr2line says them, and quickly where a unit is large."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from building import OUT, compiled
from recorded import recorded

INLINED = r"""
#include <cstdlib>
#include <functional>
namespace outer { namespace {
    struct Maker {
        static inline __attribute__((always_inline)) void *three(int size) { return std::malloc(size); }
        static inline __attribute__((always_inline)) void *two(int size) {
            { void *volatile made = three(size); return made; }
        }
        __attribute__((noinline)) void *one(int size) { void *volatile made = two(size); return made; }
    };
    template <typename T> __attribute__((noinline)) void *templated(T size) {
        void *volatile made = Maker::two(size);
        return made;
    }
} }
__attribute__((noinline, cold)) static void *rare(int size) {
    void *volatile made = outer::Maker::three(size);
    return made;
}
int main(int count, char **) {
    struct Local {
        __attribute__((noinline)) static void *made(int size) {
            void *volatile block = outer::Maker::two(size);
            return block;
        }
    };
    const auto lambda = [count](int size) __attribute__((noinline)) {
        void *volatile block = std::malloc(size * count);
        return block;
    };
    std::function<void *(int)> called = [](int size) { return std::malloc(size); };
    void *blocks[] = {
        outer::Maker().one(10), outer::templated(20L), outer::templated('c'), Local::made(30), lambda(40),
        called(50), count > 0 ? rare(60) : nullptr, std::malloc(70),
    };
    for (void *block : blocks) std::free(block);
}
"""


def program(text, *flags):
    return compiled("symbols", ["g++", "-x", "c++", "-g", "-w", *flags, "-", "-o", OUT], text=text)


def frames_by_address(recording, path):
    """What is said of each address in the program, innermost function first."""
    found = {}
    for image, number, *_ in recording.stacks(100000):
        chain = recording.frames(image, number)
        # Not _start, which is no C++: the line before it is taken for its own.
        for address in {frame[1] for frame in chain if frame[0] == path and frame[2] != "_start"}:
            found[address] = [frame[2:5] for frame in chain if frame[:2] == (path, address)]
    return found


def said_by_addr2line(path, address):
    words = ["addr2line", "-C", "-f", "-i", "-e", path, hex(address)]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    for function, place in zip(lines[::2], lines[1::2], strict=True):
        file, _, line = place.partition(" ")[0].rpartition(":")
        yield function, file, int(line) if line.isdigit() else 0


MANGLED = {
    "_RNvCs1234_7mycrate3foo": "mycrate::foo",
    "_RNvXs2_NtCs1234_7mycrate3mapINtB5_3MapmENtNtCs5_4core5clone5Clone5clone": (
        "<mycrate::map::Map<u32> as core::clone::Clone>::clone"
    ),
    "_ZN4core3fmt5write17h0123456789abcdefE": "core::fmt::write",
    "_D4main5Place3putMFiZPv": "main.Place.put(int)",
    "_ZN5outer4makeILi3EEEPvi": "void* outer::make<3>(int)",
    "_Detach": "_Detach",
}
"""Of Rust (its two manglings), D, C++ and C."""


def test_names_of_rust_and_d_and_cxx(tmp_path):
    text = "#include <stdlib.h>\n" + "".join(
        f'void *f{i}(int) __asm__("{name}");\n'
        f"__attribute__((noinline)) void *f{i}(int n) {{ void *volatile made = malloc(n); return made; }}\n"
        for i, name in enumerate(MANGLED)
    )
    calls = "".join(f"free(f{i}({i} + 100));" for i in range(len(MANGLED)))
    words = ["gcc", "-x", "c", "-O1", "-w", "-", "-o", OUT]
    path = compiled("mangled", words, text=f"{text}int main(void) {{ {calls} }}\n")
    recording = recorded(tmp_path, "full", path).recording
    names = {
        frame[2] for image, number, *_ in recording.stacks(100) for frame in recording.frames(image, number)
    }
    assert set(MANGLED.values()) <= names


def test_debug_information_beside_the_program(tmp_path):
    """Found by the link that the program has; its sections are compressed."""
    path = tmp_path / "program"
    path.write_bytes(Path(program(INLINED, "-O1", "-gz=zlib")).read_bytes())
    path.chmod(0o755)
    subprocess.run(["objcopy", "--only-keep-debug", path, tmp_path / "program.debug"], check=True)
    link = f"--add-gnu-debuglink={tmp_path / 'program.debug'}"
    subprocess.run(["objcopy", "--strip-all", link, path], check=True)
    sites = recorded(tmp_path, "full", str(path)).profile.sites
    assert any("<stdin>:" in site.location for site in sites), sites


def is_as_addr2line_says(tmp_path, path):
    known = frames_by_address(recorded(tmp_path, "full", path).recording, path)
    inlined = 0
    for address, frames in known.items():
        truth = list(said_by_addr2line(path, address))
        assert [line for _, _, line in frames] == [line for _, _, line in truth], (
            hex(address),
            frames,
            truth,
        )
        # Of the innermost addr2line says the symbol of them all.
        assert [function for function, _, _ in frames[1:]] == [function for function, _, _ in truth[1:]]
        inlined += len(frames) > 1
    assert len(known) > 8
    assert inlined >= 5


@pytest.mark.parametrize("flags", [["-O1"], ["-O2"], ["-O2", "-flto"], ["-O2", "-gdwarf-4"]], ids="".join)
def test_inlined_functions_are_those_that_addr2line_says(tmp_path, flags):
    is_as_addr2line_says(tmp_path, program(INLINED, *flags))


@pytest.mark.parametrize("flags", [["-O2"], ["-O2", "-gdwarf-4"]], ids="".join)
def test_a_program_without_a_table_of_units_has_its_lines(tmp_path, flags):
    """As clang and rustc write it."""
    path = tmp_path / "program"
    removed = ["objcopy", "--remove-section", ".debug_aranges", program(INLINED, *flags), path]
    subprocess.run(removed, check=True)
    is_as_addr2line_says(tmp_path, str(path))


@pytest.mark.parametrize("version", ["-gdwarf-5", "-gdwarf-4"])
def test_split_debug_information_has_the_same_functions(tmp_path, version):
    known = []
    for flag in ("-gno-split-dwarf", "-gsplit-dwarf"):
        words = ["g++", "-x", "c++", "-O2", "-w", version, flag, "-c", "-", "-o", "program.o"]
        subprocess.run(words, input=INLINED, text=True, check=True, cwd=tmp_path)
        path = str(tmp_path / "program")
        subprocess.run(["g++", "program.o", "-o", path], check=True, cwd=tmp_path)
        known.append(frames_by_address(recorded(tmp_path, "full", path).recording, path))
    assert known[0] == known[1]
    assert sum(len(frames) > 1 for frames in known[0].values()) >= 5
    (tmp_path / "program.dwo").unlink()
    os.mkfifo(tmp_path / "program.dwo")  # opening it would not end
    sites = recorded(tmp_path, "full", path).profile.sites
    assert any("<stdin>:" in site.location for site in sites), sites


@pytest.mark.timed
def test_showing_sites_of_a_large_unit_takes_no_time(tmp_path):
    # One unit of 6000 functions, as link-time optimization makes them, of which 300 allocate. To walk it once
    # takes as long as some two million turns of Python; a walk for each frame of each stack 60 times as long.
    functions = [
        f"__attribute__((noinline)) void *f{n}(int size) {{ void *volatile made = "
        + (f"f{n - 20}(size + {n})" if n % 400 >= 20 else f"malloc(size + {n})")
        + "; return made; }"
        for n in range(6000)
    ]
    calls = "".join(f"free(f{n}({n}));" for n in range(0, 6000, 20))
    text = "#include <stdlib.h>\n" + "\n".join(functions) + f"\nint main() {{ {calls} }}\n"
    path = compiled("unit", ["gcc", "-x", "c", "-g", "-O1", "-w", "-", "-o", OUT], text=text)
    recording = recorded(tmp_path, "full", path).recording
    before = time.process_time()
    known = frames_by_address(recording, path)
    seconds = time.process_time() - before
    before = time.process_time()
    turns = sum(each & 1 for each in range(1_000_000))
    turns_seconds = time.process_time() - before
    assert len(known) >= 300
    assert turns == 500_000
    assert seconds < 40 * turns_seconds, (seconds, turns_seconds)

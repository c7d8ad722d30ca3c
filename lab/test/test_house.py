"""The rules of the house that a program can check: who may know whom, and what may not be lying about."""

import ast
import itertools
import re
import subprocess
import sys
import tomllib
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from reap import api
from reap.allocators import elf
from reap.allocators.records import OWN
from reap.launch import price

pytestmark = pytest.mark.bare

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "lab"
PACKAGE = LAB / "reap"
STUDIES = ROOT / "studies" / "reap_studies"

# Whose files each native folder may include beside its own; a header's folder tells whose it is. What listens
# to marks knows the header by which programs make them.
NATIVE = {
    "format": set(),
    "spawn": {"format"},
    "calibrate": set(),
    "older": {"format", "preload"},  # is linked into preloads, and reads modules as they do
    "glibc": {"format"},  # walks memory that whoever links it reads
    "preload": {"format", "glibc", "marks", "older"},
    "drag": {"format", "marks", "older", "preload"},  # two of its engines are preloads
    "native": {"format", "glibc"},
    "kit": {"format", "native", "spawn"},  # writes what the launcher and native write together
}


def committed(*patterns: str) -> list[Path]:
    """Files of ours that git knows or would add."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for line in listing.stdout.splitlines() if (path := ROOT / line).is_file()]


def lint_imports(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The import contracts, checked of the package that is installed."""
    command = [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_folders_import_only_what_they_may():
    answer = lint_imports()
    assert answer.returncode == 0, answer.stdout


def contracts() -> list[dict]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def test_a_folder_without_a_place_in_the_contracts_fails(tmp_path):
    text = (ROOT / "pyproject.toml").read_text()
    place = '    "(rss)",\n'
    assert text.count(place) == 1
    without = tmp_path / "without.toml"
    without.write_text(text.replace(place, ""))
    answer = lint_imports("--config", str(without))
    assert answer.returncode != 0
    assert "reap.rss" in answer.stdout + answer.stderr


def package_root(path: Path) -> Path:
    """The folder that the package of a file is in."""
    return STUDIES.parent if path.is_relative_to(STUDIES) else LAB


PARTS = {"command", "page", "part", "terminal", "view", "words", "judge", "run", "analyse"}
"""The names that modules of a capability have, as the order among them is in the contracts."""


def test_every_capability_keeps_the_order_of_names():
    """In a capability, which has a command, the order of each folder with several of the names is checked."""
    folders, inside, *_ = contracts()
    ordered = set(re.findall(r"\w+", " ".join(inside["layers"])))
    assert ordered == {*PARTS, "records"}
    for command in [*PACKAGE.glob("*/command.py"), STUDIES / "scenario" / "command.py"]:
        for init in command.parent.rglob("__init__.py"):
            name = ".".join(init.parent.relative_to(package_root(command)).parts)
            held = {path.stem for path in init.parent.iterdir()}
            if "command" in held or len(held & PARTS) > 1:
                assert name in inside["containers"], f"{name} has no place in the second contract"
    first = {layer.strip("()") for each in folders["layers"] for layer in re.split(r" [|:] ", each)}
    assert {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()} <= first


def pure_modules() -> list[Path]:
    """The files that the third contract names, by pattern."""
    found: set[Path] = set()
    for name in contracts()[2]["source_modules"]:
        path = name.replace(".", "/")
        for root in (LAB, STUDIES.parent):
            found |= {*root.glob(f"{path}.py"), *root.glob(f"{path}/**/*.py")}
    return sorted(found)


def test_what_analyses_opens_nothing():
    """The import contract sees modules; this sees the builtin."""
    assert len(pure_modules()) > 50
    for path in pure_modules():
        called = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        names = {function.id for function in called if isinstance(function, ast.Name)}
        assert not names & {"open", "__import__", "exec", "eval"}, path.name


def test_no_two_headers_of_native_define_one_name():
    """They are one library: of two structs of one name, the functions of one are called for the other."""
    defined = re.compile(r"^(?:struct|class|enum(?: class)?) (\w+)\b(?!::)[^;]*$", re.MULTILINE)
    texts = [path.read_text() for path in committed("lab/native/*.h")]
    names = Counter(name for text in texts for name in defined.findall(text))
    assert len(names) > 50
    assert not [name for name, count in names.items() if count > 1]


def test_native_folders_include_only_what_they_may():
    headers: dict[str, set[str]] = {"mark.h": {"marks"}}
    sources = [path for path in committed("lab/*.h", "lab/*.c", "lab/*.cpp") if "reap" not in path.parts[-2:]]
    for path in sources:
        headers.setdefault(path.name, set()).add(path.relative_to(LAB).parts[0])
    for path in sources:
        folder = path.relative_to(LAB).parts[0]
        if folder not in NATIVE or "test" in path.parts:  # a test may bring writer and reader together
            continue
        for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.MULTILINE):
            owners = headers.get(Path(name).name, {"nobody"})
            allowed = {folder} | NATIVE[folder]
            assert owners & allowed, f"{path.relative_to(ROOT)} includes {name} of {', '.join(owners)}"


def test_what_is_linked_with_valgrind_keeps_to_itself():
    """Its licence is Valgrind's: every file there says so, and nothing else includes one of them."""
    folder = LAB / "drag" / "valgrind"
    ours = [path for path in committed("lab/drag/valgrind/**") if path.suffix in (".c", ".h")]
    assert len(ours) > 3
    for path in ours:
        assert "SPDX-License-Identifier: GPL-2.0-or-later" in path.read_text()[:400], path.name
    assert "lab/drag/valgrind" in (ROOT / "LICENSE").read_text()
    names = {path.name for path in ours if path.suffix == ".h"}
    headers = [path for path in committed("*.h") if folder not in path.parents]
    for path in committed("*.h", "*.c", "*.cpp", "*.hpp"):
        if folder not in path.parents:
            included = set(re.findall(r'#\s*include\s*[<"](?:[^">]*/)?([^">/]+)[">]', path.read_text()))
            beside = {other.name for other in headers if path.is_relative_to(other.parent)}
            elsewhere = (included & names) - beside
            assert not elsewhere, path.name


def test_the_library_includes_only_what_comes_before():
    """core < source < layer < face < interpose; the test kit stands apart, and none of these knows it."""
    order = ["core", "source", "layer", "face", "interpose"]
    headers = ROOT / "library" / "include" / "reap"
    for path in committed("library/include/reap/**/*.h", "library/include/reap/**/*.hpp"):
        folder = path.relative_to(headers).parts[0]
        if folder not in order:
            continue
        for other in re.findall(r'^\s*#\s*include\s*[<"]reap/(\w+)/', path.read_text(), re.MULTILINE):
            allowed = order[: order.index(folder) + 1]
            assert other in allowed, f"{path.relative_to(ROOT)} includes a header of {other}"


CHEAP = [
    *("array", "bit", "concepts", "cstddef", "cstdint", "cstdio", "cstdlib", "cstring", "ctime", "exception"),
    *("limits", "new", "tuple", "type_traits", "utility"),
    "stdexcept",  # for libc++ alone
]
QUICK = ["best_fit", "fixed_block", "obstack", "per_class", "reap", "region", "region_emulator"]
QUICK += ["size_class_allocator", "stack_like"]


def test_layers_include_no_header_that_takes_long_to_compile():
    """Not <algorithm>, <atomic>, <memory> or <mutex>: each has more lines than a layer with all else it uses.

    Layers for threads, and Mempool's iterators, need what they include.
    """
    root = ROOT / "library" / "include"
    waiting = [f"reap/layer/{name}.h" for name in QUICK]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        text = (root / name).read_text()
        waiting += re.findall(r'^#\s*include "(reap/[^"]+)"', text, re.MULTILINE)
        for header in re.findall(r"^#\s*include <(\w+)>", text, re.MULTILINE):
            assert header in CHEAP, f"{name} includes <{header}>"


def test_each_header_of_the_library_has_its_test():
    """layer/region.h has region_test.cpp, or a test that includes it; a part is tested with its whole."""
    headers = committed("library/include/reap/**/*.h", "library/include/reap/**/*.hpp")
    users = "".join(path.read_text() for path in [*committed("library/test/**/*.c*"), *headers])
    tests = {path.name for path in committed("library/test/**/*_test.cpp")}
    for path in headers:
        name = path.relative_to(ROOT / "library" / "include")
        assert f"{path.stem}_test.cpp" in tests or f'"{name}"' in users, f"{name} has no test"


def preloads() -> list[Path]:
    return sorted(Path(str(files("reap"))).glob("lib/libreap-*.so"))


def test_preloads_are_installed():
    """The wheel has one for each folder of lab/preload that makes one, price, drag, and our allocators."""
    sources = [path.relative_to(LAB / "preload") for path in committed("lab/preload/*/*.cpp")]
    folders = {path.parts[0] for path in sources} - {"common", "fuzz", "price", "test", "unwind"}
    prices = [f"price-{name}" for name in (price.FIRST, price.BUMP, *price.CAUSES)]
    made = {f"libreap-{name}.so" for name in [*folders, *prices, "drag-callbacks", "drag-sample"]}
    assert {path.name for path in preloads()} == {*made, *OWN.values()}


def test_the_library_s_headers_are_installed():
    """The wheel carries them, so that whoever is advised to link the library has it."""
    installed = Path(str(files("reap"))) / "include" / "reap"
    headers = [path.relative_to(ROOT / "library/include/reap") for path in committed("library/include/*.h*")]
    assert headers
    assert [str(header) for header in headers if not (installed / header).is_file()] == []


@pytest.mark.parametrize("path", preloads(), ids=lambda path: path.name)
def test_preloads_need_libc_alone(path):
    needed = elf.opened(path).needed()
    assert {name for name in needed if not name.startswith(("libc.so.", "ld-linux"))} == set()


@pytest.mark.parametrize("path", preloads(), ids=lambda path: path.name)
def test_preloads_export_no_cpp_names_but_operators(path):
    """What a preload exports enters the program's name space: the calls it listens to, and nothing else."""
    (table,) = elf.opened(path).symbol_tables(dynamic_only=True)
    exported = [name for name, _, _ in table.defined()]
    # _Znw, _Zna, _Zdl, _Zda: operator new, new[], delete, delete[].
    strange = [name for name in exported if name.startswith("_Z") and not re.match(r"_Z(n[wa]|d[la])", name)]
    assert strange == []


def test_what_draws_has_no_template_of_a_capability():
    """Only the shells of a page, without and with charts, and the parts that several pages repeat."""
    templates = {path.name for path in (PACKAGE / "draw").rglob("*.j2")}
    assert templates == {"shell.html.j2", "charted.html.j2", "parts.html.j2"}


def test_no_folder_is_empty():
    for init in [*PACKAGE.rglob("__init__.py"), *STUDIES.rglob("__init__.py")]:
        others = [path for path in init.parent.glob("*.py") if path != init]
        assert others, f"{init.parent.relative_to(ROOT)} holds nothing"
    for name in NATIVE:
        if (LAB / name).exists():
            assert list((LAB / name).rglob("*.[ch]*")), f"lab/{name} holds nothing"


def test_each_verb_has_a_file_of_its_own():
    """No file defines two commands."""
    for path in [*PACKAGE.rglob("*.py"), *STUDIES.rglob("*.py")]:
        commands = [
            node.name
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef)
            and any(re.search(r"\bcommand\b", ast.unparse(decorator)) for decorator in node.decorator_list)
        ]
        assert len(commands) <= 1, f"{path.relative_to(ROOT)} defines {', '.join(commands)}"


SOURCES = ("*.py", "*.js", "*.c", "*.cpp", "*.h", "*.hpp")


def test_no_folder_has_more_than_twenty_sources():
    held = Counter(str(path.parent.relative_to(ROOT)) for path in committed(*SOURCES))
    assert {folder for folder, count in held.items() if count > 20} == set()


def test_no_file_is_too_long():
    """350 lines of Python, 500 of its tests, 600 of C++; a longer C++ file gives its reason at the top."""
    for path in committed(*SOURCES):
        name = str(path.relative_to(ROOT))
        if "vendor" in path.parts or path.suffix == ".js":
            continue
        text = path.read_text()
        limit = 600
        if path.suffix == ".py":
            limit = 500 if name.startswith(("lab/test/", "studies/test/")) else 350
        reason = limit == 600 and re.search(r"\blong because\b", text[:2000])
        assert reason or text.count("\n") <= limit, f"{name} has more than {limit} lines"


def test_nothing_is_left_for_later():
    # The words in two parts, or this file would find itself.
    later = re.compile("TO" + "DO|FIX" + "ME|XX" + "X:|NotImplemented" + "Error")
    ours = committed("lab", "library", "setup", "studies", "docs", "*.md", "CMakeLists.txt", "Makefile")
    binary = {".lock", ".png", ".jpg", ".webp", ".woff2"}
    text = [path for path in ours if path.suffix not in binary and "vendor" not in path.parts]
    found = [str(path.relative_to(ROOT)) for path in text if later.search(path.read_text(errors="replace"))]
    assert found == []


def test_the_lock_and_the_package_ask_for_the_same():
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())
    studies = tomllib.loads((ROOT / "studies/pyproject.toml").read_text())["project"]["dependencies"]
    wanted = {*asked["project"]["dependencies"], *asked["build-system"]["requires"], *studies}
    wanted -= {f"reap-lab=={asked['project']['version']}"}
    lines = (ROOT / "setup/python/runtime.in").read_text().splitlines()
    assert {line for line in lines if line and not line.startswith("#")} == wanted


def test_the_locks_agree():
    """The environment of the tests is that of the command, and more."""

    def pins(name: str) -> set[str]:
        text = (ROOT / "setup" / "python" / f"{name}.lock").read_text()
        return set(re.findall(r"^[a-z][^ ]*==[^ \\]+(?: ; [^\\]+)?", text, re.MULTILINE))

    assert {pin.strip() for pin in pins("runtime")} <= {pin.strip() for pin in pins("test")}
    # Installed in one .venv, in any order: neither replaces what the other brought.
    kept = ("test", "docs", "release")
    versions = {name: {pin.split(";")[0].strip() for pin in pins(name)} for name in kept}
    for one, other in itertools.combinations(versions, 2):
        names = {pin.partition("==")[0] for pin in versions[one]}
        assert {pin for pin in versions[other] if pin.partition("==")[0] in names} <= versions[one], other


def test_what_others_import_is_what_is_typed():
    """The imports that a type checker follows in reap.api, and the table by which names are found."""
    tree = ast.parse((PACKAGE / "api.py").read_text())
    typed = next(node for node in tree.body if isinstance(node, ast.If))
    found = {}
    for node in (each for each in typed.body if isinstance(each, ast.ImportFrom)):
        for name in node.names:
            whole = f"{node.module}.{name.name}"
            module = (LAB / whole.replace(".", "/")).with_suffix(".py").is_file()
            given = name.asname if name.asname == name.name else name.asname.removeprefix("_")
            found[given] = whole if module else f"{node.module}:{name.name}"
    assert found == api.PLACES
    for name in api.PLACES:
        assert getattr(api, name) is not None
    assert len(api.PLACES) < 105
    with pytest.raises(AttributeError, match=r"reap\.api has no such"):
        _ = api.such

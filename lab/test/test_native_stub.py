"""What the stub of reap.native promises is what the compiled module has."""

import ast
from pathlib import Path

import pytest

from reap import native

STUB = ast.parse((Path(__file__).resolve().parents[1] / "reap" / "native.pyi").read_text())
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


def is_dictionary(name: str) -> bool:
    """Those of the stub alone: at run time they are plain dictionaries."""
    bases = [base.id for base in CLASSES[name].bases if isinstance(base, ast.Name)]
    return any(base == "TypedDict" or (base in CLASSES and is_dictionary(base)) for base in bases)


BOUND = [name for name in CLASSES if not is_dictionary(name)]


def members(body: list[ast.stmt]) -> set[str]:
    functions = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    values = {node.target for node in body if isinstance(node, ast.AnnAssign)}
    return functions | {target.id for target in values if isinstance(target, ast.Name)}


def properties(name: str) -> set[str]:
    found = [node for node in CLASSES[name].body if isinstance(node, ast.FunctionDef)]
    return {node.name for node in found if any(ast.unparse(by) == "property" for by in node.decorator_list)}


def test_everything_at_its_top_is_in_the_module():
    assert (members(STUB.body) | set(BOUND)) - set(dir(native)) == set()


@pytest.mark.parametrize("name", BOUND)
def test_a_class_has_what_its_stub_declares(name):
    assert members(CLASSES[name].body) - set(dir(getattr(native, name))) == set()


@pytest.mark.parametrize("name", [name for name in BOUND if properties(name)])
def test_a_record_s_stub_declares_all_it_has(name):
    bound = getattr(native, name)
    # Those of a base have a stub there.
    fields = {each for each in vars(bound) if not each.startswith("_")}
    assert fields - members(CLASSES[name].body) == set()


def test_damage_is_false_where_there_is_none(tmp_path):
    path = tmp_path / "x.reap"
    native.create_trace(str(path), native.FULL, native.MONOTONIC_NS, native.SAMPLER_NONE, 0)
    native.finish_trace(str(path))
    damage = native.Recording(str(path), "").damage()
    assert not damage
    assert repr(damage) == "Damage(empty=0, foreign=0, corrupt=0, truncated=0, malformed=0)"

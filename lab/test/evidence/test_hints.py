"""Names of functions are hints: whole words of a function's own name, and nothing more."""

import pytest

from reap.evidence.analyse.hints import hints, own_name, words
from reap.evidence.analyse.owners import Sample


def sample(function: str, count: int = 1, *, inside: bool = False, path: str = "/usr/bin/x") -> Sample:
    return Sample(path, function, "", False, None, inside, False, count)


@pytest.mark.parametrize(
    "function",
    [
        "SparseMatrix::multiply(std::vector<double> const&, std::vector<double>&) const",
        "parser::Table::sum()",
        "json::Value::~Value()",
        "JsonParser::~JsonParser()",
        "std::vector<json::parser>::push_back(json::parser&&)",
        "multiply(Token)",
        "sparse_dot",
        "complex_multiply",
        "flexible",
        "std::_Rb_tree<int, std::pair<int const, json::Value>, std::less<int> >::_M_erase(void*)",
        "",
    ],
)
def test_a_part_of_a_word_a_class_an_argument_and_a_destructor_say_nothing(function):
    assert hints([sample(function, 1000)]) == []


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("nlohmann::basic_json<>::parse(std::string const&, bool)", "parse"),
        ("bool ns::Reader<int (*)(char)>::parse_value<true>(char const*) const", "parse_value"),
        ("json::(anonymous namespace)::Lexer::nextToken[abi:cxx11]()", "nextToken"),
        ("encoding/json.(*decodeState).unescape", "unescape"),
        ("XMLParser_parseBuffer", "XMLParser_parseBuffer"),
        ("____strtod_l_internal", "____strtod_l_internal"),
    ],
)
def test_a_whole_word_of_the_own_name_is_a_hint(function, name):
    assert own_name(function) == name
    (hint,) = hints([sample(function, 7), sample("main", 90)])
    assert (hint.what, hint.samples, hint.functions) == ("parsing", 7, [name])


def test_a_library_named_after_a_format_and_the_allocator_say_nothing():
    assert hints([sample("walk", path="/usr/lib/libjson-c.so.5")]) == []
    assert hints([sample("parse", inside=True)]) == []


def test_a_name_without_end_is_read_in_no_time():
    assert words("a" + "<(" * 500_000) == ["a"]
    assert words("a" + "::b<c>" * 500_000 + "::parse()") != ["parse"]

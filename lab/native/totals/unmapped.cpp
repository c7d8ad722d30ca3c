#include "totals/unmapped.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace reap::native {
namespace {

// Takes ":123" off the end of a text; 0 where it does not end so.
int take_number(std::string_view &text) {
    const size_t colon = text.rfind(':');
    int number = 0;
    if (colon == std::string_view::npos) return 0;
    const auto [end, error] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number <= 0) return 0;
    text.remove_suffix(text.size() - colon);
    return number;
}

// V8 writes "JS:*function file:line:column"; others write a name.
SourceFrame compiled_frame(std::string_view name) {
    std::string_view rest = name;
    const int column = take_number(rest);
    const int line = column != 0 ? take_number(rest) : 0;
    const size_t space = rest.rfind(' ');
    if (line == 0 || space == std::string_view::npos) return {std::string(name), "", 0, false};
    return {std::string(rest.substr(0, space)), std::string(rest.substr(space + 1)), line, false};
}

} // namespace

SourceFrame unmapped_frame(const Definitions &definitions, uint32_t image, uint64_t address) {
    if (const PythonLocation *python = definitions.python(image, address))
        return {python->function.empty() ? "<unnamed>" : python->function, python->file,
                static_cast<int>(python->line), false};
    if (const CompiledCode *code = definitions.compiled(image, address - 1))
        return compiled_frame(code->name);
    return {};
}

} // namespace reap::native

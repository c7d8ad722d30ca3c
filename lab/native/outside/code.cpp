#include "outside/code.h"

#include <cstring>
#include <unistd.h>

#include "files/regular.h"

namespace reap::native {
namespace {

constexpr size_t kWindow = 48; // the number is loaded not long before

// mov $NUMBER,%eax; or xor %eax,%eax for 0; the last before the call counts.
int64_t number_in(const unsigned char *code, size_t length) {
    for (size_t at = length; at-- > 0;) {
        if (code[at] == 0xb8 && at + 5 <= length) {
            int32_t number = 0;
            std::memcpy(&number, code + at + 1, sizeof number);
            if (number >= 0 && number < 1024) return number;
        }
        if (at + 2 <= length && (code[at] == 0x31 || code[at] == 0x33) && code[at + 1] == 0xc0) return 0;
    }
    return kUnknownCall;
}

int32_t displacement(const unsigned char *code) {
    int32_t value = 0;
    std::memcpy(&value, code, sizeof value);
    return value;
}

} // namespace

int64_t Code::call_before(const std::string &path, uint64_t offset) {
    if (offset < 2) return kNoCall;
    const auto [known, fresh] = known_.try_emplace({path, offset}, kNoCall);
    if (!fresh) return known->second;
    const size_t wanted = offset < kWindow ? offset : kWindow;
    unsigned char code[kWindow];
    if (!read(path, offset - wanted, code, wanted)) return kNoCall;
    if (code[wanted - 2] != 0x0f || code[wanted - 1] != 0x05) return kNoCall;
    return known->second = number_in(code, wanted - 2);
}

const std::string &Code::called_before(Symbolizer &symbols, const std::string &path, uint64_t address) {
    const auto [known, fresh] = called_.try_emplace({path, address});
    if (fresh) known->second = find_called(symbols, path, address);
    return known->second;
}

bool Code::read(const std::string &path, uint64_t offset, unsigned char *out, size_t count) {
    std::unique_ptr<Descriptor> &file = files_[path];
    if (!file) file = std::make_unique<Descriptor>(open_regular(path));
    return pread(file->get(), out, count, static_cast<off_t>(offset)) == static_cast<ssize_t>(count);
}

std::string Code::find_called(Symbolizer &symbols, const std::string &path, uint64_t address) {
    constexpr size_t longest = 6;
    unsigned char call[longest];
    const uint64_t offset = symbols.offset_at(path, address);
    if (offset < longest || !read(path, offset - longest, call, longest)) return {};
    const auto target = address + static_cast<uint64_t>(int64_t{displacement(call + 2)});
    if (call[0] == 0xff && call[1] == 0x15) return symbols.imported(path, target); // call *SLOT(%rip)
    if (call[1] != 0xe8) return {};                                                // call TARGET
    // An entry of the procedure linkage table: perhaps endbr64 and a prefix, then jmp *SLOT(%rip).
    unsigned char entry[12];
    if (!read(path, symbols.offset_at(path, target), entry, sizeof entry)) return {};
    size_t at = std::memcmp(entry, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0;
    if (entry[at] == 0xf2) ++at;
    if (entry[at] != 0xff || entry[at + 1] != 0x25) return symbols.function(path, target);
    const auto beyond = static_cast<uint64_t>(int64_t{displacement(entry + at + 2)});
    return symbols.imported(path, target + at + 6 + beyond);
}

} // namespace reap::native

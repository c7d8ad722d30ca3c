#include "attach/probe/entry.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace reap::native {
namespace {

constexpr std::array<unsigned char, 4> kEndbr = {0xf3, 0x0f, 0x1e, 0xfa};

bool begins_with_endbr(std::span<const unsigned char> code) {
    return code.size() >= kEndbr.size() && std::equal(kEndbr.begin(), kEndbr.end(), code.begin());
}

// Pushes, jumps, calls and nops: arch/x86/kernel/uprobes.c.
bool is_emulated(std::span<const unsigned char> code) {
    if (code.size() < 2) return false;
    const auto pushes = [](unsigned char byte) { return (byte & 0xf8) == 0x50; };
    const bool jumps = (code[0] & 0xf0) == 0x70 || code[0] == 0xe8 || code[0] == 0xe9 || code[0] == 0xeb ||
                       (code[0] == 0x0f && (code[1] & 0xf0) == 0x80);
    return pushes(code[0]) || (code[0] == 0x41 && pushes(code[1])) || code[0] == 0x90 || jumps;
}

// Bytes of the ModRM byte with what belongs to it.
size_t operand_bytes(std::span<const unsigned char> code) {
    if (code.size() < 2) return 2;
    const unsigned mode = code[0] >> 6;
    const unsigned base = code[0] & 7;
    if (mode == 3) return 1;
    size_t length = base == 4 ? 2 : 1;
    if (mode == 0 && (base == 5 || (base == 4 && (code[1] & 7) == 5))) length += 4;
    return length + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
}

enum class Writes : uint8_t { Nothing, Register, Operand, Accumulator, Unknown };

struct Form {
    Writes writes = Writes::Unknown;
    size_t immediate = 0;
    bool operands = true;
};

// Of the opcodes that compilers begin functions with; all else is unknown.
Form form_of(unsigned char opcode, unsigned extension) {
    switch (opcode) {
    case 0x85: // test
    case 0x39: // cmp
    case 0x3b:
        return {Writes::Nothing, 0, true};
    case 0x03: // add, or, and, sub, xor
    case 0x0b:
    case 0x23:
    case 0x2b:
    case 0x33:
    case 0x8b: // mov
    case 0x8d: // lea
        return {Writes::Register, 0, true};
    case 0x01:
    case 0x09:
    case 0x21:
    case 0x29:
    case 0x31:
    case 0x89:
        return {Writes::Operand, 0, true};
    case 0x81:
        return {extension == 7 ? Writes::Nothing : Writes::Operand, 4, true};
    case 0x83:
        return {extension == 7 ? Writes::Nothing : Writes::Operand, 1, true};
    case 0x80:
        return {extension == 7 ? Writes::Nothing : Writes::Unknown, 1, true};
    case 0xc1: // shifts
        return {Writes::Operand, 1, true};
    case 0x25: // and
        return {Writes::Accumulator, 4, false};
    default:
        return {};
    }
}

bool may_change(unsigned number, bool arguments) {
    // rax, r8 to r11; rsi, rdx and rcx where they say nothing
    constexpr unsigned always = 1u << 0 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 11;
    const unsigned free = always | (arguments ? 0u : 1u << 6 | 1u << 2 | 1u << 1);
    return (free >> number & 1) != 0;
}

// The length of an instruction that a probe can be put behind; 0 of any other.
size_t harmless_length(std::span<const unsigned char> code, bool arguments) {
    if (begins_with_endbr(code)) return kEndbr.size();
    size_t at = 0;
    if (at < code.size() && code[at] == 0x64) ++at; // of the thread's own memory
    unsigned rex = 0;
    if (at < code.size() && (code[at] & 0xf0) == 0x40) rex = code[at++];
    if (at + 1 >= code.size()) return 0;
    const unsigned char opcode = code[at++];
    const unsigned modrm = code[at];
    const Form form = form_of(opcode, modrm >> 3 & 7);
    const unsigned operand = (modrm & 7) | (rex & 1) << 3;
    const unsigned number = (modrm >> 3 & 7) | (rex & 4) << 1;
    const bool harmless =
        form.writes == Writes::Nothing || form.writes == Writes::Accumulator ||
        (form.writes == Writes::Register && may_change(number, arguments)) ||
        (form.writes == Writes::Operand && modrm >> 6 == 3 && may_change(operand, arguments));
    if (!harmless) return 0;
    return at + (form.operands ? operand_bytes(code.subspan(at)) : 0) + form.immediate;
}

// Whether the operand of a direct call or jump leads to an address at this distance from the first byte.
bool leads(std::span<const unsigned char> code, size_t operand, int64_t distance) {
    int32_t relative = 0;
    if (operand + sizeof relative > code.size()) return false;
    std::memcpy(&relative, code.data() + operand, sizeof relative);
    return static_cast<int64_t>(operand + sizeof relative) + relative == distance;
}

} // namespace

ProbeSpot cheapest_spot(std::span<const unsigned char> code, bool arguments) {
    for (size_t at = 0; at < code.size();) {
        if (is_emulated(code.subspan(at))) return {at, true};
        const size_t length = harmless_length(code.subspan(at), arguments);
        if (length == 0) break;
        at += length;
    }
    return {};
}

std::vector<AddressRange> around_probe(std::span<const unsigned char> code, bool emulated) {
    constexpr size_t longest = 15;
    if (!emulated || code.size() < 2) return {{0, longest + 1}};
    const bool near = (code[0] & 0xf0) == 0x70 || code[0] == 0xeb;
    const bool conditional = code[0] == 0x0f;
    const bool leads = near || conditional || code[0] == 0xe8 || code[0] == 0xe9;
    const size_t operand = conditional ? 2 : 1;
    const size_t length = leads ? operand + (near ? 1 : sizeof(int32_t)) : code[0] == 0x41 ? 2 : 1;
    std::vector<AddressRange> found{{0, length + 1}};
    int32_t relative = code[1] < 0x80 ? code[1] : code[1] - 0x100;
    if (leads && !near && code.size() >= length)
        std::memcpy(&relative, code.data() + operand, sizeof relative);
    const auto target = static_cast<uint64_t>(static_cast<int64_t>(length) + relative);
    if (leads) found.push_back({target, target + 1});
    return found;
}

int64_t jump_distance(std::span<const unsigned char> code) {
    const size_t at = begins_with_endbr(code) ? kEndbr.size() : 0;
    if (code.size() < at + 5 || code[at] != 0xe9) return 0;
    int32_t distance = 0;
    std::memcpy(&distance, code.data() + at + 1, sizeof distance);
    return static_cast<int64_t>(at) + 5 + distance;
}

bool calls(std::span<const unsigned char> code, int64_t distance) {
    for (size_t at = 0; at < code.size(); ++at) {
        if (code[at] == 0xe8 && leads(code, at + 1, distance)) return true;
    }
    return false;
}

bool jumps(std::span<const unsigned char> code, int64_t distance) {
    for (size_t at = 0; at < code.size(); ++at) {
        if (code[at] == 0xe9 && leads(code, at + 1, distance)) return true;
        const bool conditional = code[at] == 0x0f && at + 1 < code.size() && (code[at + 1] & 0xf0) == 0x80;
        if (conditional && leads(code, at + 2, distance)) return true;
    }
    return false;
}

bool is_stub(std::span<const unsigned char> code) {
    size_t at = begins_with_endbr(code) ? kEndbr.size() : 0;
    if (at < code.size() && code[at] == 0xf2) ++at;
    return at + 1 < code.size() && code[at] == 0xff && code[at + 1] == 0x25;
}

} // namespace reap::native

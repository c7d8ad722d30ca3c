// The format is that of `.eh_frame` in the Linux Standard Base and of call frame information in DWARF 5. What
// libgcc does differently from DWARF is kept: rows apply while they begin below the return address, and
// DW_CFA_restore forgets a register's rule instead of returning to that of the CIE.
#include "frame_rule.h"

#include <cstddef>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

#include "platform.h"

// libgcc's, which is linked statically. The module's table is found without a lock.
extern "C" {
struct dwarf_eh_bases {
    void *text;
    void *data;
    void *function;
};
const unsigned char *_Unwind_Find_FDE(void *address, dwarf_eh_bases *bases);
}

namespace reap::preload {
namespace {

constexpr uint64_t kRbp = 6;
constexpr uint64_t kRsp = 7;
constexpr uint64_t kReturnAddress = 16;

// Reads from a table. A read past the end makes it invalid, and returns zero from then on.
class Reader {
  public:
    Reader() = default;
    Reader(const unsigned char *at, const unsigned char *end) noexcept : at_(at), end_(end) {}

    template <class Number>
    Number number() noexcept {
        Number value{};
        if (const unsigned char *from = skip(sizeof value)) memcpy(&value, from, sizeof value);
        return value;
    }

    uint64_t uleb() noexcept {
        uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const auto byte = number<uint8_t>();
            if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
            if ((byte & 0x80) == 0) return value;
        }
    }

    int64_t sleb() noexcept {
        uint64_t value = 0;
        for (unsigned shift = 0;;) {
            const auto byte = number<uint8_t>();
            if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
            shift += 7;
            if ((byte & 0x80) != 0) continue;
            if (shift < 64 && (byte & 0x40) != 0) value |= ~UINT64_C(0) << shift;
            return static_cast<int64_t>(value);
        }
    }

    // The start of the next `bytes` bytes, which are skipped; null if there are not so many.
    const unsigned char *skip(uint64_t bytes) noexcept {
        if (bytes > static_cast<uint64_t>(end_ - at_)) {
            at_ = end_;
            valid_ = false;
            return nullptr;
        }
        const unsigned char *from = at_;
        at_ += bytes;
        return from;
    }

    // The bits of an encoded pointer, relative to nothing; 0 if it is omitted.
    uint64_t pointer(uint8_t encoding) noexcept {
        constexpr uint8_t kOmitted = 0xff;
        constexpr uint8_t kAligned = 0x50;
        if (encoding == kOmitted) return 0;
        switch (encoding == kAligned ? encoding : encoding & 0x07) {
        case 0x00:
        case 0x04:
            return number<uint64_t>();
        case 0x01:
            return uleb();
        case 0x02:
            return number<uint16_t>();
        case 0x03:
            return number<uint32_t>();
        default:
            fail();
            return 0;
        }
    }

    void fail() noexcept {
        at_ = end_;
        valid_ = false;
    }
    [[nodiscard]] bool valid() const noexcept { return valid_; }
    [[nodiscard]] bool more() const noexcept { return at_ < end_; }
    [[nodiscard]] const unsigned char *at() const noexcept { return at_; }

  private:
    const unsigned char *at_ = nullptr;
    const unsigned char *end_ = nullptr;
    bool valid_ = true;
};

// The body of the CIE or FDE at `record`, after its length.
Reader body(const unsigned char *record) noexcept {
    uint32_t length;
    memcpy(&length, record, sizeof length);
    const unsigned char *begin = record + sizeof length;
    constexpr uint32_t kMostLength = 0xfffffff0; // more: a 64-bit record, which libgcc does not read either
    return {begin, length < kMostLength ? begin + length : begin};
}

// What the CIE says for all its functions.
struct Common {
    uint64_t code_alignment = 1;
    int64_t data_alignment = 1;
    uint8_t pointer_encoding = 0;
    bool has_augmentation_data = false;
    bool supported = false;
};

// Reads the CIE up to its instructions.
Common read_common(Reader &cie) noexcept {
    Common common;
    cie.skip(4); // its mark
    const auto version = cie.number<uint8_t>();
    const auto *augmentation = reinterpret_cast<const char *>(cie.at());
    while (cie.number<uint8_t>() != 0) {
    }
    common.code_alignment = cie.uleb();
    common.data_alignment = cie.sleb();
    const uint64_t column = version == 1 ? cie.number<uint8_t>() : cie.uleb();
    if ((version != 1 && version != 3) || column != kReturnAddress || !cie.valid()) return common;
    if (*augmentation != '\0') {
        if (*augmentation != 'z') return common;
        common.has_augmentation_data = true;
        const uint64_t length = cie.uleb();
        const unsigned char *data = cie.skip(length);
        if (data == nullptr) return common;
        Reader values(data, data + length);
        while (*++augmentation != '\0') {
            switch (*augmentation) {
            case 'R':
                common.pointer_encoding = values.number<uint8_t>();
                break;
            case 'L':
                values.skip(1);
                break;
            case 'P':
                values.pointer(values.number<uint8_t>());
                break;
            default:
                return common; // 'S', a signal frame, or unknown
            }
        }
        if (!values.valid()) return common;
    }
    common.supported = true;
    return common;
}

enum class How : uint8_t { Unsaved, Undefined, AtCfa, AtRbp, Other };

struct RegisterRule {
    How how = How::Unsaved;
    int64_t offset = 0;
};

// A row of the table: the rules of the registers that matter.
struct Row {
    RegisterRule rbp;
    RegisterRule rsp;
    RegisterRule return_address;
    Cfa cfa = Cfa::Unknown;        // Unknown: none yet
    uint64_t cfa_register = 0;     // for Cfa::Rsp, which stands for a register plus offset until the end
    int64_t cfa_offset = 0;        // of the register; an expression does not change it
    int64_t expression_offset = 0; // for Cfa::RbpIndirect

    RegisterRule *of(uint64_t number) noexcept {
        if (number == kRbp) return &rbp;
        if (number == kRsp) return &rsp;
        return number == kReturnAddress ? &return_address : nullptr;
    }
};

// Runs the instructions that build the rows of a function, up to the row of one return address. It can go on
// to that of another from there.
class Interpreter {
  public:
    void start(const Common &common, uint64_t function) noexcept {
        common_ = common;
        at_ = row_begin_ = function;
        row_ = {};
        depth_ = 0;
    }

    // False if it met an instruction that it does not know.
    bool run(Reader &code, uint64_t return_address) noexcept {
        while (code.more() && at_ < return_address) {
            row_begin_ = at_;
            if (!step(code) || !code.valid()) return false;
        }
        return code.valid();
    }

    // Whether it has not gone beyond the row of this return address.
    [[nodiscard]] bool reaches(uint64_t return_address) const noexcept { return return_address > row_begin_; }

    // Where the next row begins; below the return address if there is none.
    [[nodiscard]] uint64_t next_row() const noexcept { return at_; }
    [[nodiscard]] FrameRule rule() const noexcept;

  private:
    bool step(Reader &code) noexcept;
    bool rare_step(uint8_t instruction, Reader &code) noexcept;
    void advance(uint64_t by) noexcept { at_ += by * common_.code_alignment; }
    void set(uint64_t number, RegisterRule rule) noexcept {
        if (RegisterRule *known = row_.of(number)) *known = rule;
    }
    void set_saved(uint64_t number, int64_t factored) noexcept {
        set(number, {How::AtCfa, factored * common_.data_alignment});
    }
    void set_cfa_register(uint64_t number) noexcept {
        row_.cfa_register = number;
        row_.cfa = Cfa::Rsp;
    }
    void set_cfa_expression(Reader &code) noexcept;
    static RegisterRule saved_expression(Reader &code) noexcept;

    static constexpr size_t kMostRemembered = 8;
    Common common_;
    uint64_t row_begin_ = 0;
    uint64_t at_ = 0; // where the next row begins
    Row row_;
    Row remembered_[kMostRemembered];
    size_t depth_ = 0;
};

constexpr uint8_t kBregRbp = 0x76; // DW_OP_breg6
constexpr uint8_t kDeref = 0x06;   // DW_OP_deref

// Of expressions for the CFA only "the word at rbp + n" is supported.
void Interpreter::set_cfa_expression(Reader &code) noexcept {
    const uint64_t length = code.uleb();
    const unsigned char *begin = code.skip(length);
    row_.cfa = Cfa::Unsupported;
    if (begin == nullptr) return;
    Reader expression(begin, begin + length);
    if (expression.number<uint8_t>() != kBregRbp) return;
    const int64_t offset = expression.sleb();
    if (expression.number<uint8_t>() != kDeref || expression.more() || !expression.valid()) return;
    row_.cfa = Cfa::RbpIndirect;
    row_.expression_offset = offset;
}

// Of expressions for a saved register only "at rbp + n" is supported.
RegisterRule Interpreter::saved_expression(Reader &code) noexcept {
    const uint64_t length = code.uleb();
    const unsigned char *begin = code.skip(length);
    if (begin == nullptr) return {How::Other, 0};
    Reader expression(begin, begin + length);
    if (expression.number<uint8_t>() != kBregRbp) return {How::Other, 0};
    const int64_t offset = expression.sleb();
    return {expression.valid() && !expression.more() ? How::AtRbp : How::Other, offset};
}

bool Interpreter::step(Reader &code) noexcept {
    const auto instruction = code.number<uint8_t>();
    const uint8_t operand = instruction & 0x3f;
    switch (instruction & 0xc0) {
    case 0x40: // advance_loc
        advance(operand);
        return true;
    case 0x80: // offset
        set_saved(operand, static_cast<int64_t>(code.uleb()));
        return true;
    case 0xc0: // restore
        set(operand, {});
        return true;
    default:
        return rare_step(instruction, code);
    }
}

bool Interpreter::rare_step(uint8_t instruction, Reader &code) noexcept {
    uint64_t number;
    switch (instruction) {
    case 0x00: // nop
        return true;
    case 0x02: // advance_loc1
        advance(code.number<uint8_t>());
        return true;
    case 0x03: // advance_loc2
        advance(code.number<uint16_t>());
        return true;
    case 0x04: // advance_loc4
        advance(code.number<uint32_t>());
        return true;
    case 0x05: // offset_extended
        number = code.uleb();
        set_saved(number, static_cast<int64_t>(code.uleb()));
        return true;
    case 0x06: // restore_extended
    case 0x08: // same_value
        set(code.uleb(), {});
        return true;
    case 0x07: // undefined
        set(code.uleb(), {How::Undefined, 0});
        return true;
    case 0x09: // register
        number = code.uleb();
        code.uleb();
        set(number, {How::Other, 0});
        return true;
    case 0x0a: // remember_state
        if (depth_ == kMostRemembered) return false;
        remembered_[depth_++] = row_;
        return true;
    case 0x0b: // restore_state; the CFA too
        if (depth_ == 0) return false;
        row_ = remembered_[--depth_];
        return true;
    case 0x0c: // def_cfa
        set_cfa_register(code.uleb());
        row_.cfa_offset = static_cast<int64_t>(code.uleb());
        return true;
    case 0x0d: // def_cfa_register
        set_cfa_register(code.uleb());
        return true;
    case 0x0e: // def_cfa_offset
        row_.cfa_offset = static_cast<int64_t>(code.uleb());
        return true;
    case 0x0f: // def_cfa_expression
        set_cfa_expression(code);
        return true;
    case 0x10: // expression
        number = code.uleb();
        set(number, saved_expression(code));
        return true;
    case 0x11: // offset_extended_sf
        number = code.uleb();
        set_saved(number, code.sleb());
        return true;
    case 0x12: // def_cfa_sf
        set_cfa_register(code.uleb());
        row_.cfa_offset = code.sleb() * common_.data_alignment;
        return true;
    case 0x13: // def_cfa_offset_sf
        row_.cfa_offset = code.sleb() * common_.data_alignment;
        return true;
    case 0x14: // val_offset
        number = code.uleb();
        code.uleb();
        set(number, {How::Other, 0});
        return true;
    case 0x15: // val_offset_sf
        number = code.uleb();
        code.sleb();
        set(number, {How::Other, 0});
        return true;
    case 0x16: // val_expression
        number = code.uleb();
        code.skip(code.uleb());
        set(number, {How::Other, 0});
        return true;
    case 0x2e: // GNU_args_size
        code.uleb();
        return true;
    default: // set_loc, and those of other machines
        return false;
    }
}

constexpr FrameRule kUnsupported{0, 0, Cfa::Unsupported, SavedRbp::Unchanged};
constexpr FrameRule kOutside{0, 0, Cfa::Outside, SavedRbp::Unchanged};
constexpr FrameRule kEnd{0, 0, Cfa::End, SavedRbp::Unchanged};

FrameRule Interpreter::rule() const noexcept {
    if (row_.return_address.how == How::Undefined) return kEnd;
    if (row_.return_address.how != How::AtCfa || row_.return_address.offset != -8) return kUnsupported;
    if (row_.rsp.how != How::Unsaved && row_.rsp.how != How::Undefined) return kUnsupported;
    FrameRule rule = kUnsupported;
    int64_t cfa_offset = row_.cfa_offset;
    if (row_.cfa == Cfa::RbpIndirect) {
        rule.cfa = Cfa::RbpIndirect;
        cfa_offset = row_.expression_offset;
    } else if (row_.cfa == Cfa::Rsp && row_.cfa_register == kRsp) {
        rule.cfa = Cfa::Rsp;
    } else if (row_.cfa == Cfa::Rsp && row_.cfa_register == kRbp) {
        rule.cfa = Cfa::Rbp;
    } else {
        return kUnsupported;
    }
    switch (row_.rbp.how) {
    case How::Unsaved:
    case How::Undefined:
        break; // libgcc keeps the callee's value for both
    case How::AtCfa:
        rule.rbp = SavedRbp::AtCfa;
        break;
    case How::AtRbp:
        rule.rbp = SavedRbp::AtRbp;
        break;
    case How::Other:
        return kUnsupported;
    }
    rule.cfa_offset = static_cast<int32_t>(cfa_offset);
    rule.rbp_offset = static_cast<int16_t>(row_.rbp.offset);
    const bool fits = rule.cfa_offset == cfa_offset && rule.rbp_offset == row_.rbp.offset;
    return fits ? rule : kUnsupported;
}

// Whether `address` is where a signal handler returns to: `mov $15, %rax; syscall`. libgcc unwinds such a
// frame without tables.
bool returns_from_signal(uint64_t address) noexcept {
    constexpr unsigned char kReturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
    const auto *code = reinterpret_cast<const unsigned char *>(address);
    // The first byte alone first, as libgcc does: the next page may not be mapped.
    if (*static_cast<const volatile unsigned char *>(code) != kReturn[0]) return false;
    return memcmp(code, kReturn, sizeof kReturn) == 0;
}

// Whether the code is in a module that may be unloaded without a call of dlclose: the C library does so with
// the character sets of iconv.
bool may_vanish(void *code) noexcept {
    dl_find_object module{};
    return _dl_find_object(code, &module) == 0 && strstr(module.dlfo_link_map->l_name, "/gconv/") != nullptr;
}

// A function's instructions, run as far as they were needed.
struct Program {
    const unsigned char *record = nullptr; // its FDE
    uint64_t end = 0;                      // of the function
    Reader code;
    Interpreter interpreter;

    // Up to the first row. False if the FDE or its CIE is none that is supported.
    bool start(const unsigned char *fde_record, uint64_t function) noexcept {
        Reader fde = body(fde_record);
        const unsigned char *delta_at = fde.at();
        Reader cie = body(delta_at - fde.number<int32_t>());
        const Common common = read_common(cie);
        if (!common.supported || !fde.valid()) return false;
        fde.pointer(common.pointer_encoding); // the function, which is known
        end = function + fde.pointer(common.pointer_encoding & 0x0f);
        if (common.has_augmentation_data) fde.skip(fde.uleb());
        if (!fde.valid()) return false;
        interpreter.start(common, function);
        code = fde;
        return interpreter.run(cie, end);
    }
};

} // namespace

// A function with thousands of calls has as many rows, and would be run from its beginning for each of them.
struct LatestPrograms {
    static constexpr size_t kPrograms = 16;
    Program programs[kPrograms];

    Program &place(const unsigned char *record) noexcept {
        return programs[(reinterpret_cast<uintptr_t>(record) >> 3) % kPrograms];
    }
};

LatestPrograms *make_latest_programs() noexcept {
    return static_cast<LatestPrograms *>(map_private(sizeof(LatestPrograms)));
}

void forget(LatestPrograms &latest) noexcept {
    for (Program &program : latest.programs) program.record = nullptr;
}

DecodedRule decode_frame_rule(uint64_t return_address, LatestPrograms *latest) noexcept {
    dwarf_eh_bases bases{};
    auto *call = reinterpret_cast<void *>(return_address - 1);
    const unsigned char *record = _Unwind_Find_FDE(call, &bases);
    if (record == nullptr) {
        dl_find_object module{};
        const bool known = _dl_find_object(call, &module) == 0;
        if (returns_from_signal(return_address)) return {kUnsupported, return_address + 1};
        return {known ? kEnd : kOutside, return_address + 1};
    }
    DecodedRule decoded{kUnsupported, return_address + 1};
    if (may_vanish(call)) return decoded;

    Program alone;
    Program &program = latest == nullptr ? alone : latest->place(record);
    const bool continues = program.record == record && program.interpreter.reaches(return_address);
    program.record = nullptr;
    if (!continues && !program.start(record, reinterpret_cast<uint64_t>(bases.function))) return decoded;
    if (!program.interpreter.run(program.code, return_address)) return decoded;
    program.record = record;
    decoded.rule = program.interpreter.rule();
    // A row applies to the address where the next begins: it is that of a call at its end.
    const uint64_t next = program.interpreter.next_row();
    decoded.row_end = 1 + (next >= return_address && next < program.end ? next : program.end);
    return decoded;
}

} // namespace reap::preload

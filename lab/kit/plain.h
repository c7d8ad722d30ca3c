// Text without the control characters that terminals obey, which names of files may have.
#pragma once

#include <string>
#include <string_view>

namespace reap::kit {

// Each of ASCII, and each of eight bits in UTF-8, becomes `instead`.
inline std::string plain(std::string_view text, char instead) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto each = static_cast<unsigned char>(text[i]);
        const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
        const bool eight_bits = each == 0xc2 && next >= 0x80 && next <= 0x9f;
        if (eight_bits) ++i;
        out.push_back(eight_bits || each < ' ' || each == 0x7f ? instead : static_cast<char>(each));
    }
    return out;
}

} // namespace reap::kit

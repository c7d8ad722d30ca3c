// Drag recordings made by hand.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

#include "reap_drag.h"

namespace reap::test {

class DragBuilder {
  public:
    explicit DragBuilder(uint32_t base = 0) {
        const reap_drag_header header = {REAP_DRAG_MAGIC, 1, 2, base, 0};
        const auto *bytes = reinterpret_cast<const unsigned char *>(&header);
        bytes_.assign(bytes, bytes + sizeof header);
    }

    DragBuilder &event(unsigned kind, const std::vector<uint64_t> &numbers, unsigned flags = 0) {
        bytes_.push_back(static_cast<unsigned char>(kind | flags << REAP_DRAG_KIND_BITS));
        for (uint64_t number : numbers) {
            for (; number >= 128; number >>= 7) bytes_.push_back(static_cast<unsigned char>(number | 128));
            bytes_.push_back(static_cast<unsigned char>(number));
        }
        return *this;
    }

    [[nodiscard]] std::vector<unsigned char> &bytes() { return bytes_; }

    // The path of a file with these bytes; the next one made has the same path.
    [[nodiscard]] std::string write() const {
        static const std::string path = [] {
            std::string name = "/tmp/reap-drag-XXXXXX";
            const int file = ::mkstemp(name.data());
            if (file >= 0) ::close(file);
            static std::string made;
            made = name;
            std::atexit([] { ::unlink(made.c_str()); });
            return name;
        }();
        std::FILE *file = std::fopen(path.c_str(), "wb");
        if (file == nullptr) std::abort();
        std::fwrite(bytes_.data(), 1, bytes_.size(), file);
        std::fclose(file);
        return path;
    }

  private:
    std::vector<unsigned char> bytes_;
};

} // namespace reap::test

// A file of any bytes, for readers that take a path.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

namespace reap::test {

class ScratchFile {
  public:
    ScratchFile() {
        const int file = ::mkstemp(path_.data());
        if (file < 0) std::abort();
        ::close(file);
    }
    ~ScratchFile() { ::unlink(path_.c_str()); }
    ScratchFile(const ScratchFile &) = delete;
    ScratchFile &operator=(const ScratchFile &) = delete;

    [[nodiscard]] const std::string &path() const { return path_; }

    const std::string &write(const void *bytes, size_t size) const {
        std::FILE *file = std::fopen(path_.c_str(), "wb");
        if (file == nullptr) std::abort();
        if (size > 0) std::fwrite(bytes, 1, size, file);
        std::fclose(file);
        return path_;
    }

    const std::string &write(const std::vector<unsigned char> &bytes) const {
        return write(bytes.data(), bytes.size());
    }

  private:
    std::string path_ = "/tmp/reap-file-XXXXXX";
};

// Appends a value as it lies in memory.
template <class Value>
void append(std::vector<unsigned char> &bytes, const Value &value) {
    const auto *begin = reinterpret_cast<const unsigned char *>(&value);
    bytes.insert(bytes.end(), begin, begin + sizeof value);
}

} // namespace reap::test

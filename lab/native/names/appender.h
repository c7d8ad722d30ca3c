// Adds definitions to a trace that nobody writes any more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/file.h"
#include "reap_trace.h"
#include "trace/block_file.h"
#include "trace/definitions.h"

namespace reap::native {

// A long record that is being made.
class LongFields {
  public:
    LongFields &number(uint64_t value);
    LongFields &text(std::string_view value);
    [[nodiscard]] const std::vector<unsigned char> &bytes() const noexcept { return bytes_; }

  private:
    std::vector<unsigned char> bytes_;
};

// Whether a trace takes additions: no process can write to it any more, and it is not compressed.
bool is_complete(const BlockFile &trace) noexcept;

// Blocks of definitions behind those of a trace, sealed. They do not count until `publish`: who is killed
// before it leaves the trace as it was. Throws std::system_error.
class Appender {
  public:
    Appender(const std::string &path, const BlockFile &trace);
    ~Appender(); // takes back what was not published
    Appender(const Appender &) = delete;
    Appender &operator=(const Appender &) = delete;

    // What follows is of this image.
    void begin_image(const ImageInfo &image);
    // A record that is too long for a block is skipped.
    void add(reap_tag tag, const LongFields &fields);
    void publish();

  private:
    void write_block();
    void write(const void *bytes, size_t length, uint64_t offset);

    std::string path_;
    Descriptor file_;
    const BlockFile &trace_;
    uint32_t next_;
    bool published_ = false;
    reap_block_header head_{};
    std::vector<unsigned char> payload_;
};

} // namespace reap::native

// Compressed traces, any part of which can be read. They have the index of Zstandard's seekable format; what
// it lists is a piece of the trace, in a frame for each of its columns. Earlier ones have a frame a piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <list>
#include <string>
#include <vector>

#include "files/columns.h"
#include "files/file.h"

namespace reap::native {

// A regular file that may be compressed, open for reading. Not for several threads at once.
class ZstdFile {
  public:
    // Throws what File throws, and BadTrace when it is compressed in another way or cut short.
    explicit ZstdFile(const std::string &path);

    [[nodiscard]] bool compressed() const noexcept { return compressed_; }

    // Its size without compression, when it was opened or measured again.
    [[nodiscard]] uint64_t size() const noexcept { return size_; }
    void measure() noexcept;

    // As File::read_at. A damaged piece reads as an error. Keeps at most 32 MB of pieces. The one behind the
    // latest is decompressed meanwhile, by another core if there is one.
    size_t read_at(void *out, size_t length, uint64_t offset);

  private:
    struct Piece {
        uint64_t offset; // in the file
        uint64_t begin;  // without compression
        uint32_t length;
        uint32_t size; // without compression
    };
    struct Kept {
        size_t piece;
        std::vector<unsigned char> bytes; // empty if it is damaged
    };

    void read_table();
    const std::vector<unsigned char> &piece(size_t number);
    [[nodiscard]] bool is_kept(size_t number) const noexcept;
    [[nodiscard]] bool is_begun(size_t number) const noexcept;
    void begin(size_t number);
    void keep(Kept &&read);
    [[nodiscard]] Kept read_piece(size_t number) const;
    bool decompress(const std::vector<unsigned char> &packed, std::vector<unsigned char> &bytes) const;

    File file_;
    bool compressed_ = false;
    bool in_columns_ = false;
    uint64_t size_ = 0;
    std::vector<Piece> pieces_;
    std::list<Kept> kept_; // the latest first
    std::future<Kept> next_;
    size_t next_number_ = 0; // of the piece in `next_`, if there is one
};

// Replaces a file by the same, compressed. Until it is whole it has another name in the same folder, so that
// the file is never lost. Returns its new size. Throws std::system_error, and then leaves it as it was.
uint64_t compress_file(const std::string &path);

} // namespace reap::native

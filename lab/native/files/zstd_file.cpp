#include "files/zstd_file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <system_error>
#include <unistd.h>

#include <zstd.h>

#include "reap_trace.h"

namespace reap::native {
namespace {

constexpr uint32_t kFrameMagic = 0xfd2fb528;
constexpr uint32_t kTableMagic = 0x184d2a5e;   // of a frame that decompressors skip
constexpr uint32_t kColumnsMagic = 0x184d2a5d; // the same
constexpr uint32_t kFooterMagic = 0x8f92eab1;
constexpr size_t kFooter = 9; // number of pieces, descriptor, magic
constexpr uint32_t kPieceBytes = 1 << 20;
constexpr uint32_t kMostPieceBytes = 16 << 20;               // of another writer
constexpr size_t kLengths = kColumns * 2 * sizeof(uint32_t); // of each column, as it is and compressed
constexpr size_t kPieceHead = 8 + kLengths;                  // a frame that decompressors skip
constexpr size_t kMostKept = 32;
constexpr int kLevel = 6;

uint32_t number_at(const unsigned char *bytes) {
    uint32_t value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

} // namespace

ZstdFile::ZstdFile(const std::string &path) : file_(path), size_(file_.size()) {
    uint32_t magic = 0;
    if (file_.read_at(&magic, sizeof magic, 0) != sizeof magic) return;
    in_columns_ = magic == kColumnsMagic;
    compressed_ = in_columns_ || magic == kFrameMagic;
    if (compressed_) read_table();
}

void ZstdFile::measure() noexcept {
    if (compressed_) return; // nobody writes to it
    file_.measure();
    size_ = file_.size();
}

void ZstdFile::read_table() {
    const uint64_t whole = file_.size();
    unsigned char footer[kFooter];
    const bool has_footer = whole > kFooter && file_.read_at(footer, kFooter, whole - kFooter) == kFooter &&
                            number_at(footer + 5) == kFooterMagic;
    if (!has_footer) throw BadTrace("it is compressed by zstd and has no index, or its end is missing");
    const uint64_t count = number_at(footer);
    const size_t entry = (footer[4] & 0x80) != 0 ? 12 : 8; // with a checksum
    const uint64_t length = count * entry;
    if (length + kFooter + 8 > whole) throw BadTrace("its index is damaged");
    std::vector<unsigned char> table(length);
    if (file_.read_at(table.data(), length, whole - kFooter - length) != length)
        throw BadTrace("its index cannot be read");
    uint64_t offset = 0;
    size_ = 0;
    pieces_.reserve(count);
    for (uint64_t at = 0; at < length; at += entry) {
        const Piece piece{offset, size_, number_at(table.data() + at), number_at(table.data() + at + 4)};
        if (piece.size > kMostPieceBytes || piece.length > whole - offset)
            throw BadTrace("its index is damaged");
        offset += piece.length;
        size_ += piece.size;
        pieces_.push_back(piece);
    }
}

bool ZstdFile::decompress(const std::vector<unsigned char> &packed, std::vector<unsigned char> &bytes) const {
    if (!in_columns_)
        return ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size()) == bytes.size();
    if (packed.size() < kPieceHead) return false;
    const size_t blocks = (bytes.size() + REAP_BLOCK_BYTES - 1) / REAP_BLOCK_BYTES;
    Columns columns;
    size_t left = bytes.size() + blocks;
    size_t at = kPieceHead;
    for (size_t i = 0; i < kColumns; ++i) {
        const unsigned char *lengths = packed.data() + 8 + i * 2 * sizeof(uint32_t);
        const size_t length = number_at(lengths);
        const size_t part = number_at(lengths + sizeof(uint32_t));
        if (length > left || part > packed.size() - at) return false;
        left -= length;
        columns[i].resize(length);
        if (length != 0 && ZSTD_decompress(columns[i].data(), length, packed.data() + at, part) != length)
            return false;
        at += part;
    }
    return left == 0 && join_columns(columns, bytes.data(), bytes.size());
}

const std::vector<unsigned char> &ZstdFile::piece(size_t number) {
    for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
        if (kept->piece != number) continue;
        kept_.splice(kept_.begin(), kept_, kept);
        begin(number + 1);
        return kept_.front().bytes;
    }
    if (!is_begun(number)) {
        begin(number + 1);
        keep(read_piece(number));
    } else {
        // Rather than wait for it, as when only heads are read: meanwhile the one behind it.
        const bool waits = next_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
        if (waits && number + 1 < pieces_.size() && !is_kept(number + 1)) keep(read_piece(number + 1));
        keep(next_.get());
        begin(number + 1);
    }
    return kept_.front().bytes;
}

void ZstdFile::keep(Kept &&read) {
    if (kept_.size() >= kMostKept) kept_.pop_back();
    kept_.push_front(std::move(read));
}

bool ZstdFile::is_begun(size_t number) const noexcept { return next_.valid() && next_number_ == number; }

bool ZstdFile::is_kept(size_t number) const noexcept {
    return std::ranges::any_of(kept_, [number](const Kept &kept) { return kept.piece == number; });
}

// Has a piece decompressed that will probably be wanted next.
void ZstdFile::begin(size_t number) {
    if (number >= pieces_.size() || is_kept(number) || is_begun(number)) return;
    try {
        next_ = std::async(std::launch::async, [this, number] { return read_piece(number); });
        next_number_ = number;
    } catch (const std::system_error &) {
        next_ = {}; // no thread: it is decompressed when it is wanted
    }
}

ZstdFile::Kept ZstdFile::read_piece(size_t number) const {
    const Piece &wanted = pieces_[number];
    std::vector<unsigned char> packed(wanted.length);
    Kept read{number, std::vector<unsigned char>(wanted.size)};
    const bool whole = file_.read_at(packed.data(), packed.size(), wanted.offset) == packed.size() &&
                       decompress(packed, read.bytes);
    if (!whole) read.bytes.clear();
    return read;
}

size_t ZstdFile::read_at(void *out, size_t length, uint64_t offset) {
    if (!compressed_) return file_.read_at(out, length, offset);
    size_t done = 0;
    const auto next = std::upper_bound(pieces_.begin(), pieces_.end(), offset,
                                       [](uint64_t at, const Piece &piece) { return at < piece.begin; });
    for (auto number = static_cast<size_t>(next - pieces_.begin()); done < length; ++number) {
        if (number == 0 || number > pieces_.size()) break;
        const std::vector<unsigned char> &bytes = piece(number - 1);
        const uint64_t skip = offset + done - pieces_[number - 1].begin;
        if (skip >= bytes.size()) break;
        const size_t part = std::min<size_t>(length - done, bytes.size() - skip);
        std::memcpy(static_cast<char *>(out) + done, bytes.data() + skip, part);
        done += part;
    }
    return done;
}

namespace {

[[noreturn]] void fail(const std::string &path, int error = errno) {
    throw std::system_error(error, std::generic_category(), path);
}

// Writes one after another; removed again unless it is kept.
class Part {
  public:
    explicit Part(std::string path)
        : path_(std::move(path)),
          file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
        if (file_.get() < 0) fail(path_);
    }
    ~Part() {
        if (!kept_) ::unlink(path_.c_str());
    }
    Part(const Part &) = delete;
    Part &operator=(const Part &) = delete;

    void write(const void *bytes, size_t length) {
        for (size_t done = 0; done < length;) {
            const ssize_t wrote =
                ::write(file_.get(), static_cast<const char *>(bytes) + done, length - done);
            if (wrote < 0 && errno == EINTR) continue;
            if (wrote <= 0) fail(path_);
            done += static_cast<size_t>(wrote);
        }
        size_ += length;
    }

    void number(uint32_t value) { write(&value, sizeof value); }

    // It takes the place of the file.
    void keep_as(const std::string &path) {
        if (::rename(path_.c_str(), path.c_str()) != 0) fail(path);
        kept_ = true;
    }

    [[nodiscard]] uint64_t size() const noexcept { return size_; }

  private:
    std::string path_;
    Descriptor file_;
    uint64_t size_ = 0;
    bool kept_ = false;
};

// A piece of the trace after another, each column compressed for itself.
class Compressor {
  public:
    explicit Compressor(const std::string &path) : context_(ZSTD_createCCtx(), &ZSTD_freeCCtx) {
        if (!context_) fail(path, ENOMEM);
        ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
        ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
    }

    // Valid until the next call; empty where there is no memory.
    const std::vector<unsigned char> &compress(const unsigned char *piece, size_t length) {
        split_columns(piece, length, columns_);
        packed_.assign(kPieceHead, 0);
        put_number(0, kColumnsMagic);
        put_number(4, kLengths);
        for (size_t i = 0; i < kColumns; ++i) {
            const std::vector<unsigned char> &column = columns_[i];
            if (column.empty()) continue;
            const size_t before = packed_.size();
            packed_.resize(before + ZSTD_compressBound(column.size()));
            const size_t part = ZSTD_compress2(context_.get(), packed_.data() + before,
                                               packed_.size() - before, column.data(), column.size());
            if (ZSTD_isError(part) != 0) {
                packed_.clear();
                break;
            }
            packed_.resize(before + part);
            put_number(8 + i * 8, static_cast<uint32_t>(column.size()));
            put_number(12 + i * 8, static_cast<uint32_t>(part));
        }
        return packed_;
    }

  private:
    void put_number(size_t at, uint32_t value) { std::memcpy(packed_.data() + at, &value, sizeof value); }

    std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_;
    Columns columns_;
    std::vector<unsigned char> packed_;
};

} // namespace

uint64_t compress_file(const std::string &path) {
    const File from(path);
    Part to(path + ".part");
    Compressor compressor(path);
    std::vector<unsigned char> bytes(kPieceBytes);
    std::vector<uint32_t> table; // of each piece its length, with and without compression
    for (uint64_t offset = 0; offset < from.size();) {
        const size_t got = from.read_at(bytes.data(), bytes.size(), offset);
        if (got == 0) fail(path, EIO);
        const std::vector<unsigned char> &packed = compressor.compress(bytes.data(), got);
        if (packed.empty()) fail(path, ENOMEM);
        to.write(packed.data(), packed.size());
        table.push_back(static_cast<uint32_t>(packed.size()));
        table.push_back(static_cast<uint32_t>(got));
        offset += got;
    }
    const auto count = static_cast<uint32_t>(table.size() / 2);
    to.number(kTableMagic);
    to.number(count * 8 + static_cast<uint32_t>(kFooter));
    to.write(table.data(), table.size() * sizeof table[0]);
    to.number(count);
    to.write("", 1); // no checksums in the table: the frames have theirs
    to.number(kFooterMagic);
    to.keep_as(path);
    return to.size();
}

} // namespace reap::native

#include "files/zstd_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <system_error>
#include <unistd.h>

#include <zstd.h>

namespace reap::native {
namespace {

constexpr uint32_t kFrameMagic = 0xfd2fb528;
constexpr uint32_t kTableMagic = 0x184d2a5e; // of a frame that decompressors skip
constexpr uint32_t kFooterMagic = 0x8f92eab1;
constexpr size_t kFooter = 9; // number of frames, descriptor, magic
constexpr uint32_t kFrameBytes = 1 << 20;
constexpr uint32_t kMostFrameBytes = 16 << 20; // of another writer
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
    compressed_ = file_.read_at(&magic, sizeof magic, 0) == sizeof magic && magic == kFrameMagic;
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
    frames_.reserve(count);
    for (uint64_t at = 0; at < length; at += entry) {
        const Frame frame{offset, size_, number_at(table.data() + at), number_at(table.data() + at + 4)};
        if (frame.size > kMostFrameBytes || frame.length > whole - offset)
            throw BadTrace("its index is damaged");
        offset += frame.length;
        size_ += frame.size;
        frames_.push_back(frame);
    }
}

const std::vector<unsigned char> &ZstdFile::frame(size_t number) {
    for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
        if (kept->frame != number) continue;
        kept_.splice(kept_.begin(), kept_, kept);
        return kept_.front().bytes;
    }
    if (kept_.size() >= kMostKept) kept_.pop_back();
    const Frame &wanted = frames_[number];
    std::vector<unsigned char> packed(wanted.length);
    std::vector<unsigned char> bytes(wanted.size);
    const bool whole =
        file_.read_at(packed.data(), packed.size(), wanted.offset) == packed.size() &&
        ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size()) == bytes.size();
    if (!whole) bytes.clear();
    kept_.push_front({number, std::move(bytes)});
    return kept_.front().bytes;
}

size_t ZstdFile::read_at(void *out, size_t length, uint64_t offset) {
    if (!compressed_) return file_.read_at(out, length, offset);
    size_t done = 0;
    const auto next = std::upper_bound(frames_.begin(), frames_.end(), offset,
                                       [](uint64_t at, const Frame &frame) { return at < frame.begin; });
    for (auto number = static_cast<size_t>(next - frames_.begin()); done < length; ++number) {
        if (number == 0 || number > frames_.size()) break;
        const std::vector<unsigned char> &bytes = frame(number - 1);
        const uint64_t skip = offset + done - frames_[number - 1].begin;
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

} // namespace

uint64_t compress_file(const std::string &path) {
    const File from(path);
    Part to(path + ".part");
    const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
    if (!context) fail(path, ENOMEM);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
    std::vector<unsigned char> bytes(kFrameBytes);
    std::vector<unsigned char> packed(ZSTD_compressBound(kFrameBytes));
    std::vector<uint32_t> table; // of each frame its length, with and without compression
    for (uint64_t offset = 0; offset < from.size();) {
        const size_t got = from.read_at(bytes.data(), bytes.size(), offset);
        if (got == 0) fail(path, EIO);
        const size_t length = ZSTD_compress2(context.get(), packed.data(), packed.size(), bytes.data(), got);
        if (ZSTD_isError(length) != 0) fail(path, ENOMEM);
        to.write(packed.data(), length);
        table.push_back(static_cast<uint32_t>(length));
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

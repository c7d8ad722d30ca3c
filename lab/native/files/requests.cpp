#include "files/requests.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "files/file.h"
#include "reap_requests.h"

namespace reap::native {
namespace {

constexpr size_t kHead = offsetof(reap_requests_block, requests);
constexpr size_t kMost = sizeof(reap_requests_block::requests) / sizeof(reap_request);

// The nearest rank of sorted times.
uint64_t rank(const std::vector<uint64_t> &times, double share) {
    if (times.empty()) return 0;
    const auto place = static_cast<size_t>(std::ceil(share * static_cast<double>(times.size())));
    return times[std::clamp<size_t>(place, 1, times.size()) - 1];
}

} // namespace

void create_requests(const std::string &path) {
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) throw std::system_error(errno, std::generic_category(), path);
    std::vector<unsigned char> block(REAP_REQUESTS_BLOCK_BYTES);
    const reap_requests_file header{REAP_REQUESTS_MAGIC, 1, 0, 0, 0};
    std::memcpy(block.data(), &header, sizeof header);
    for (size_t done = 0; done < block.size();) {
        const ssize_t wrote = ::write(file.get(), block.data() + done, block.size() - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) throw std::system_error(errno, std::generic_category(), path);
        done += static_cast<size_t>(wrote);
    }
}

RequestTimes read_requests(const std::string &path) {
    const File file(path);
    RequestTimes out;
    reap_requests_file header{};
    const uint64_t blocks = file.size() / REAP_REQUESTS_BLOCK_BYTES;
    if (blocks == 0 || file.read_at(&header, sizeof header, 0) != sizeof header ||
        header.magic != REAP_REQUESTS_MAGIC)
        return out;
    out.unfinished = header.unfinished;
    out.unmatched = header.unmatched;
    out.lost = header.lost;
    std::vector<uint64_t> times;
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    const auto block = std::make_unique<reap_requests_block>();
    for (uint64_t index = 1; index < blocks; ++index) {
        const uint64_t offset = index * REAP_REQUESTS_BLOCK_BYTES;
        // What was reserved and not used is passed over, unread.
        if (file.read_at(block.get(), kHead, offset) != kHead || block->magic != REAP_REQUESTS_BLOCK_MAGIC ||
            block->count > kMost)
            continue;
        out.unfinished += block->open != 0 ? 1 : 0;
        const size_t read =
            file.read_at(block->requests, block->count * sizeof(reap_request), offset + kHead);
        for (size_t i = 0; i < read / sizeof(reap_request); ++i) {
            const reap_request &request = block->requests[i];
            if (request.begin > request.end) continue;
            times.push_back(request.end - request.begin);
            first = std::min(first, request.begin);
            last = std::max(last, request.end);
        }
    }
    if (times.empty()) return out;
    std::sort(times.begin(), times.end());
    out.count = times.size();
    out.per_second =
        static_cast<double>(times.size()) / std::max(static_cast<double>(last - first) / 1e9, 1e-9);
    out.p50_ns = rank(times, 0.5);
    out.p99_ns = rank(times, 0.99);
    out.p999_ns = rank(times, 0.999);
    out.max_ns = times.back();
    return out;
}

} // namespace reap::native

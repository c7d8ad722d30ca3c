#include "drag/samples.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>

#include "files/file.h"

namespace reap::native {
namespace {

// In the order of enum reap_drag_problem.
constexpr const char *kProblems[] = {"", "no memory", "no pagemap", "full"};

bool is_empty(const reap_drag_samples &header) {
    const auto *bytes = reinterpret_cast<const unsigned char *>(&header);
    return std::all_of(bytes, bytes + sizeof header, [](unsigned char each) { return each == 0; });
}

// Names that are each ended by a zero byte; what is not ended is none.
std::vector<std::string> names_in(std::string_view text) {
    std::vector<std::string> out;
    for (size_t end = text.find('\0'); end != std::string_view::npos; end = text.find('\0')) {
        out.emplace_back(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    return out;
}

} // namespace

DragSampleFile read_drag_samples(const std::string &path) {
    const File file(path);
    DragSampleFile out;
    const auto header = std::make_unique<reap_drag_samples>();
    const size_t got = file.read_at(header.get(), sizeof *header, 0);
    if (got == 0) return out; // killed before its file had a length
    if (got < sizeof *header) throw BadTrace("is no file of drag samples: it is too short");
    // A process that was killed while it made its file has left zeros.
    if ((header->magic != REAP_DRAG_SAMPLES_MAGIC && !is_empty(*header)) ||
        header->problem >= std::size(kProblems))
        throw BadTrace("is no file of drag samples, or of another version");
    out.pid = header->pid;
    out.program = field_text(header->program, sizeof header->program);
    out.clock = header->clock;
    out.ended = header->ended != 0;
    out.problem = kProblems[header->problem];
    out.seconds = static_cast<double>(header->spent_ns) / 1e9;
    out.modules = names_in({header->module, std::min<size_t>(header->modules, sizeof header->module)});
    const uint64_t room = std::max<uint64_t>(file.size(), sizeof *header) - sizeof *header;
    out.samples.resize(std::min<uint64_t>(header->rows, room / sizeof(reap_drag_sample)));
    const size_t read =
        file.read_at(out.samples.data(), out.samples.size() * sizeof(reap_drag_sample), sizeof *header);
    out.samples.resize(read / sizeof(reap_drag_sample));
    std::erase_if(out.samples, [&](const reap_drag_sample &each) {
        return each.size == 0 || each.size > each.stands || each.birth > out.clock;
    });
    return out;
}

std::vector<uint64_t> frames_of(const reap_drag_sample &sample) {
    std::vector<uint64_t> out;
    std::copy_if(std::begin(sample.frames), std::end(sample.frames), std::back_inserter(out),
                 [](uint64_t frame) { return frame != 0; });
    return out;
}

} // namespace reap::native

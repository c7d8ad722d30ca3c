#include "outside.h"

#include <algorithm>
#include <optional>
#include <ranges>

#include "record_reader.h"

namespace reap::native {
namespace {

struct Mapping {
    uint64_t start;
    uint64_t end;
    uint64_t offset; // in the file, of `start`
    std::string path;
};

// C++ runtimes: operator new and delete are the allocator's front door, whatever they call.
const std::vector<std::string> &operator_names() {
    static const std::vector<std::string> names = {
        "_Znwm",
        "_Znam",
        "_ZnwmRKSt9nothrow_t",
        "_ZnamRKSt9nothrow_t",
        "_ZnwmSt11align_val_t",
        "_ZdlPv",
        "_ZdaPv",
        "_ZdlPvm",
        "_ZdaPvm",
        "_ZdlPvSt11align_val_t",
    };
    return names;
}

std::string base_name(const std::string &path) { return path.substr(path.rfind('/') + 1); }

class Judge {
  public:
    Judge(const Definitions &definitions, Symbolizer &symbols, const Context &context)
        : definitions_(definitions), symbols_(symbols), recorder_(context.recorder),
          providers_(context.allocators.begin(), context.allocators.end()) {
        for (const ImageInfo &image : definitions.images()) {
            if (!image.provider.empty()) providers_.insert(image.provider);
            images_by_pid_[image.pid].push_back(image.number);
        }
    }

    void map(uint32_t pid, Mapping mapping) { mappings_[pid].push_back(std::move(mapping)); }

    void judge(uint32_t pid, bool kernel, uint64_t pointer, const std::vector<uint64_t> &stack,
               SampleTotals &out) {
        const std::optional<Place> place = find(pid, pointer);
        if (place && place->path.ends_with(recorder_)) {
            ++out.recorder;
            return;
        }
        ++out.all;
        if (kernel) ++out.kernel;
        if (!place) {
            ++out.unknown;
            return;
        }
        bool inside = in_allocator(*place);
        // brk, mmap, munmap and madvise are called through small wrappers in libc: the allocator is then the
        // caller, whose return address lies near the top of the stack.
        if (!inside && kernel && base_name(place->path).starts_with("libc.so")) {
            for (const uint64_t word : stack) {
                const std::optional<Place> caller = find(pid, word);
                if (caller && in_allocator(*caller)) {
                    inside = true;
                    break;
                }
            }
        }
        if (inside) {
            ++out.inside;
            if (kernel) ++out.kernel_inside;
        }
    }

  private:
    struct Place {
        std::string path;
        uint64_t address; // in the file
    };

    std::optional<Place> find(uint32_t pid, uint64_t pointer) {
        if (pointer < 4096) return std::nullopt;
        const auto known = mappings_.find(pid);
        if (known != mappings_.end()) {
            for (const Mapping &mapping : std::views::reverse(known->second)) {
                if (pointer >= mapping.start && pointer < mapping.end) {
                    const uint64_t offset = mapping.offset + (pointer - mapping.start);
                    return Place{mapping.path, symbols_.address_at(mapping.path, offset)};
                }
            }
        }
        const auto images = images_by_pid_.find(pid);
        if (images == images_by_pid_.end()) return std::nullopt;
        for (const uint32_t image : std::views::reverse(images->second)) {
            if (const Module *module = definitions_.module(image, pointer)) {
                return Place{module->path, pointer - module->bias};
            }
        }
        return std::nullopt;
    }

    bool in_allocator(const Place &place) {
        const auto [entry, fresh] = ranges_.try_emplace(place.path);
        if (fresh) {
            const std::string name = base_name(place.path);
            if (name.starts_with("libc.so") || name.starts_with("libc-2")) {
                entry->second = symbols_.malloc_ranges(place.path);
            } else if (name.starts_with("libstdc++") || name.starts_with("libc++")) {
                entry->second = symbols_.functions(place.path, operator_names());
            } else if (std::any_of(providers_.begin(), providers_.end(), [&](const std::string &provider) {
                           return base_name(provider) == name;
                       })) {
                entry->second = {{0, UINT64_MAX}}; // a file of its own: all of it is the allocator
            }
        }
        return std::any_of(entry->second.begin(), entry->second.end(), [&](const AddressRange &range) {
            return place.address >= range.begin && place.address < range.end;
        });
    }

    const Definitions &definitions_;
    Symbolizer &symbols_;
    std::string recorder_;
    std::set<std::string> providers_;
    std::map<uint32_t, std::vector<uint32_t>> images_by_pid_;
    std::map<uint32_t, std::vector<Mapping>> mappings_;
    std::map<std::string, std::vector<AddressRange>> ranges_;
};

bool left_out(const std::vector<Window> &windows, uint32_t pid, uint64_t ticks) {
    return std::ranges::any_of(windows, [&](const Window &window) {
        return window.pid == pid && ticks >= window.begin && ticks < window.end;
    });
}

} // namespace

Outside read_outside(BlockFile &file, const Definitions &definitions, Symbolizer &symbols,
                     const Context &context) {
    Outside out;
    Judge judge(definitions, symbols, context);
    std::vector<unsigned char> payload;
    for (const BlockInfo &block : file.blocks()) {
        if (block.head.kind != REAP_BLOCK_OUTSIDE || !file.payload(block, payload)) continue;
        RecordReader in(payload.data(), payload.data() + payload.size());
        while (!in.done()) {
            auto [tag, fields] = next_long(in);
            if (!in.good()) {
                ++file.damage().malformed;
                break;
            }
            const uint64_t ticks = block.head.base_ticks + fields.varint();
            const auto pid = static_cast<uint32_t>(fields.varint());
            if (tag == REAP_TAG_RESIDENT) {
                const uint64_t bytes = fields.varint();
                if (fields.good()) out.resident.push_back({ticks, bytes});
            } else if (tag == REAP_TAG_MAPPING) {
                const uint64_t start = fields.varint();
                const uint64_t length = fields.varint();
                const uint64_t offset = fields.varint();
                const std::string_view path = fields.string();
                if (fields.good()) judge.map(pid, {start, start + length, offset, std::string(path)});
            } else if (tag == REAP_TAG_IP) {
                fields.varint(); // thread
                const uint64_t mode = fields.varint();
                const uint64_t pointer = fields.varint();
                const uint64_t count = fields.varint();
                std::vector<uint64_t> stack;
                for (uint64_t i = 0; i < count && fields.good(); ++i) stack.push_back(fields.varint());
                if (fields.good() && !left_out(context.left_out, pid, ticks)) {
                    judge.judge(pid, mode != 0, pointer, stack, out.samples);
                }
            }
        }
    }
    std::stable_sort(out.resident.begin(), out.resident.end(),
                     [](const ResidentPoint &a, const ResidentPoint &b) { return a.ticks < b.ticks; });
    return out;
}

} // namespace reap::native

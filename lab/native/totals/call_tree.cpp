#include "totals/call_tree.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "totals/unmapped.h"

namespace reap::native {
namespace {

// A place as the recording has it: a module and an address, not looked up yet.
struct RawPlace {
    std::string module;
    uint64_t address;
    bool process;
    const Module *mapped; // the address is one of this module's file; null: of none
    SourceFrame source;   // of code in no module: what is known
};

class TreeBuilder {
  public:
    TreeBuilder(const Summary &summary, const Definitions &definitions)
        : summary_(summary), definitions_(definitions) {}

    CallTree build(ModuleNames &names, double least) {
        for (const ImageTotals &image : summary_.images) add(image);
        const std::vector<bool> kept = prune(least);
        expand(names, kept);
        return std::move(tree_);
    }

  private:
    using Totals = std::array<double, CallTree::kMeasures>;

    struct Node {
        uint32_t parent;
        uint32_t place;
        Totals own{};
    };

    // What one stack allocated. Sums of an estimate may end a little below 0.
    static Totals totals_of(const SiteTotals &site) {
        return {site.objects, site.bytes, site.temporary, std::max(site.at_peak, 0.0),
                std::max(site.at_exit, 0.0)};
    }

    uint32_t place(RawPlace raw) {
        std::string key = raw.module;
        key.push_back(raw.process ? 'p' : 'f');
        key.append(reinterpret_cast<const char *>(&raw.address), sizeof raw.address);
        if (raw.mapped != nullptr) key.append(raw.mapped->build_id);
        const auto [known, fresh] = known_places_.try_emplace(std::move(key), raw_.size());
        if (fresh) raw_.push_back(std::move(raw));
        return static_cast<uint32_t>(known->second);
    }

    // Lines of Python code, and functions compiled at run time, are the same in all processes.
    uint32_t unmapped_place(uint64_t call, SourceFrame source) {
        if (source.function.empty()) return place({"", call, false, nullptr, {}});
        std::string key = "s" + source.file + '\n' + source.function + '\n' + std::to_string(source.line);
        const auto [known, fresh] = known_places_.try_emplace(std::move(key), raw_.size());
        if (fresh) raw_.push_back({"", call & ~REAP_PYTHON_FRAME, false, nullptr, std::move(source)});
        return static_cast<uint32_t>(known->second);
    }

    // A process that was forked inherits its parent's frames; they are the same objects.
    uint32_t place_of(uint32_t image, uint32_t id, const Frame &frame) {
        const auto [known, fresh] = frames_.try_emplace(&frame, 0);
        if (fresh) {
            const uint64_t call = frame.address - 1; // inside the call instruction, not behind it
            const Module *module = definitions_.module_of(image, id);
            if (module != nullptr) {
                known->second = place({module->path, call - module->bias, false, module, {}});
            } else {
                known->second = unmapped_place(call, unmapped_frame(definitions_, image, frame.address));
            }
        }
        return known->second;
    }

    uint32_t child(uint32_t parent, uint32_t place) {
        const uint64_t key = uint64_t{parent} << 32 | place;
        const auto [known, fresh] = children_.try_emplace(key, static_cast<uint32_t>(nodes_.size()));
        if (fresh) nodes_.push_back({parent, place});
        return known->second;
    }

    void add(const ImageTotals &totals) {
        const auto allocated = [](const SiteTotals &site) { return site.objects > 0; };
        if (std::none_of(totals.sites.begin(), totals.sites.end(), allocated)) return;
        const int64_t at = definitions_.find(totals.image);
        const std::string process =
            at < 0 ? std::string() : definitions_.images()[static_cast<size_t>(at)].executable;
        const uint32_t root = child(CallTree::kNone, place({process, 0, true, nullptr, {}}));
        std::vector<uint32_t> &known = tree_.nodes[totals.image];
        known.assign(totals.sites.size(), CallTree::kNone);
        std::vector<std::pair<uint32_t, uint32_t>> path; // stack, place; innermost first
        for (uint32_t stack = 0; stack < totals.sites.size(); ++stack) {
            if (!allocated(totals.sites[stack])) continue;
            path.clear();
            uint32_t id = stack;
            while (id != 0 && known[id] == CallTree::kNone) {
                const Frame *frame = definitions_.frame(totals.image, id);
                if (frame == nullptr) break;
                path.emplace_back(id, place_of(totals.image, id, *frame));
                id = frame->parent; // always a smaller number
            }
            uint32_t node = id != 0 && known[id] != CallTree::kNone ? known[id] : root;
            for (const auto &[frame_id, frame_place] : std::views::reverse(path)) {
                node = child(node, frame_place);
                known[frame_id] = node;
            }
            if (node == root)
                known[stack] = node = child(root, place({"", 0, false, nullptr, {}})); // no stack
            const Totals own = totals_of(totals.sites[stack]);
            for (size_t measure = 0; measure < own.size(); ++measure) {
                nodes_[node].own[measure] += own[measure];
            }
        }
    }

    // Which nodes are kept; the totals of the others go to their parents.
    std::vector<bool> prune(double least) {
        std::vector<Totals> all(nodes_.size()); // callees included
        Totals whole{};
        for (size_t at = nodes_.size(); at-- > 0;) {
            const uint32_t parent = nodes_[at].parent;
            for (size_t measure = 0; measure < whole.size(); ++measure) {
                all[at][measure] += nodes_[at].own[measure];
                (parent == CallTree::kNone ? whole : all[parent])[measure] += all[at][measure];
            }
        }
        std::vector<bool> kept(nodes_.size());
        for (size_t at = nodes_.size(); at-- > 0;) {
            Node &node = nodes_[at];
            bool keep = node.parent == CallTree::kNone || least <= 0;
            for (size_t measure = 0; measure < whole.size(); ++measure) {
                keep = keep || (all[at][measure] > 0 && all[at][measure] >= least * whole[measure]);
            }
            kept[at] = keep;
            if (keep) continue;
            ++tree_.left_out;
            for (size_t measure = 0; measure < whole.size(); ++measure) {
                nodes_[node.parent].own[measure] += node.own[measure];
            }
        }
        return kept;
    }

    // Looks places up; a function that was inlined becomes a node below the one that it was inlined into.
    void expand(ModuleNames &names, const std::vector<bool> &kept) {
        std::vector<std::pair<uint32_t, uint32_t>> spans(raw_.size()); // of each place: first, count
        std::vector<uint32_t> moved(nodes_.size(), CallTree::kNone);
        for (size_t at = 0; at < nodes_.size(); ++at) {
            const Node &node = nodes_[at];
            uint32_t parent = node.parent == CallTree::kNone ? CallTree::kNone : moved[node.parent];
            if (!kept[at]) {
                moved[at] = parent;
                continue;
            }
            auto &[first, count] = spans[node.place];
            if (count == 0) {
                first = static_cast<uint32_t>(tree_.places.size());
                count = look_up(names, raw_[node.place]);
            }
            for (uint32_t i = 0; i < count; ++i) parent = append(parent, first + i);
            moved[at] = parent;
            for (size_t measure = 0; measure < node.own.size(); ++measure) {
                tree_.own[measure].back() = node.own[measure];
            }
        }
        for (auto &[image, known] : tree_.nodes) {
            for (uint32_t &node : known) {
                if (node != CallTree::kNone) node = moved[node];
            }
        }
    }

    // Adds a place and those it was inlined into, outermost first; how many.
    uint32_t look_up(ModuleNames &names, const RawPlace &raw) {
        if (raw.mapped == nullptr) {
            tree_.places.push_back({raw.module, raw.address, raw.source, raw.process});
            return 1;
        }
        const std::vector<SourceFrame> &found = names.resolve(*raw.mapped, raw.address);
        for (const SourceFrame &frame : std::views::reverse(found)) {
            tree_.places.push_back({raw.module, raw.address, frame, false});
        }
        return static_cast<uint32_t>(found.size());
    }

    uint32_t append(uint32_t parent, uint32_t place) {
        tree_.parents.push_back(parent);
        tree_.at.push_back(place);
        for (std::vector<double> &column : tree_.own) column.push_back(0);
        return static_cast<uint32_t>(tree_.parents.size() - 1);
    }

    const Summary &summary_;
    const Definitions &definitions_;
    CallTree tree_;
    std::vector<Node> nodes_;
    std::vector<RawPlace> raw_;
    std::unordered_map<std::string, size_t> known_places_;
    std::unordered_map<const Frame *, uint32_t> frames_;
    std::unordered_map<uint64_t, uint32_t> children_; // by parent and place
};

} // namespace

uint32_t CallTree::node_of(uint32_t image, uint32_t stack) const noexcept {
    const auto known = nodes.find(image);
    return known == nodes.end() || stack >= known->second.size() ? kNone : known->second[stack];
}

CallTree call_tree(const Summary &summary, const Definitions &definitions, ModuleNames &names, double least) {
    return TreeBuilder(summary, definitions).build(names, least);
}

namespace {

// How the stacks of an image end, by number; each frame is looked at once.
class StackEnds {
  public:
    StackEnds(const Definitions &definitions, uint32_t image)
        : definitions_(definitions), image_(image), known_(definitions.frame_limit(image)) {}

    struct End {
        bool known = false;
        bool outside = false;
        bool left_out = false;
    };

    End of(uint32_t stack) {
        uint32_t at = stack;
        for (chain_.clear(); at != 0 && at < known_.size() && !known_[at].known;) {
            chain_.push_back(at);
            const Frame *frame = definitions_.frame(image_, at);
            at = frame == nullptr ? 0 : frame->parent;
        }
        End end = at != 0 && at < known_.size() ? known_[at] : End{false, chain_.empty(), false};
        bool outermost = !end.known;
        for (const uint32_t frame : chain_ | std::views::reverse) {
            const Frame *const entry = definitions_.frame(image_, frame);
            const bool mark = entry != nullptr && entry->address == REAP_FRAMES_LEFT_OUT;
            if (outermost && !mark) end.outside = definitions_.module_of(image_, frame) == nullptr;
            end.left_out = end.left_out || mark;
            end.known = true;
            outermost = false;
            known_[frame] = end;
        }
        return end;
    }

  private:
    const Definitions &definitions_;
    uint32_t image_;
    std::vector<End> known_;
    std::vector<uint32_t> chain_;
};

} // namespace

IncompleteStacks incomplete_stacks(const Summary &summary, const Definitions &definitions) {
    IncompleteStacks out;
    for (const ImageTotals &image : summary.images) {
        StackEnds ends(definitions, image.image);
        for (uint32_t stack = 0; stack < image.sites.size(); ++stack) {
            const double objects = image.sites[stack].objects;
            if (objects <= 0) continue;
            out.all += objects;
            const StackEnds::End end = ends.of(stack);
            if (end.left_out) {
                out.cut += objects;
            } else if (end.outside) {
                out.ended += objects;
            }
        }
    }
    return out;
}

} // namespace reap::native

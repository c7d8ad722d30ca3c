#include "names/keep.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <unordered_map>

#include "names/addresses.h"
#include "names/appender.h"
#include "outside/outside.h"

namespace reap::native {
namespace {

// Writes names, each string once.
class Writer {
  public:
    Writer(Appender &out, const KeptNames &known) : out_(out) {
        for (const auto &[number, text] : known.strings()) {
            numbers_.emplace(text, number);
            last_ = std::max(last_, number);
        }
    }

    void add(const Module &module, uint64_t address, const std::vector<SourceFrame> &frames) {
        LongFields fields;
        fields.number(REAP_NAMES_ADDRESS)
            .number(number_of(module.path))
            .number(number_of(module.build_id))
            .number(address)
            .number(frames.size());
        for (const SourceFrame &frame : frames) {
            fields.number(number_of(frame.function))
                .number(number_of(frame.file))
                .number(static_cast<uint64_t>(std::max(frame.line, 0)))
                .number(frame.inlined ? 1 : 0);
        }
        out_.add(REAP_TAG_NAMES, fields);
    }

  private:
    uint32_t number_of(const std::string &text) {
        if (text.empty()) return 0;
        const auto [entry, fresh] = numbers_.try_emplace(text, last_ + 1);
        if (fresh) out_.add(REAP_TAG_STRING, LongFields().number(++last_).text(cut(text)));
        return entry->second;
    }

    // A template's name may be longer than a block.
    static std::string_view cut(const std::string &text) {
        constexpr size_t longest = 16384;
        return std::string_view(text).substr(0, longest);
    }

    Appender &out_;
    std::unordered_map<std::string, uint32_t> numbers_;
    uint32_t last_ = 0;
};

bool same(const SourceFrame &a, const SourceFrame &b) {
    return a.function == b.function && a.file == b.file && a.line == b.line && a.inlined == b.inlined;
}

// Whether what was found now says more than what the trace has.
bool is_better(const std::vector<SourceFrame> &now, const std::vector<SourceFrame> &before) {
    const auto has_name = [](const SourceFrame &frame) { return !frame.function.empty(); };
    return std::ranges::any_of(now, has_name) && !std::ranges::equal(now, before, same);
}

bool add_samples(Appender &out, const SampleTotals &samples) {
    if (samples.all + samples.recorder == 0) return false;
    out.add(REAP_TAG_NAMES, LongFields()
                                .number(REAP_NAMES_SAMPLES)
                                .number(samples.all)
                                .number(samples.inside)
                                .number(samples.kernel_inside)
                                .number(samples.kernel)
                                .number(samples.recorder)
                                .number(samples.unknown));
    return true;
}

bool is_among(const std::vector<std::string> &paths, const std::string &path) {
    return std::ranges::any_of(paths, [&path](const std::string &each) {
        std::error_code gone;
        return each == path || std::filesystem::equivalent(each, path, gone);
    });
}

void add_refused(KeepOutcome &outcome, const std::vector<std::string> &paths) {
    for (const std::string &path : paths)
        if (!is_among(outcome.refused, path)) outcome.refused.push_back(path);
}

KeepOutcome keep_names_of(const std::string &path, const KeepOptions &options, View view) {
    BlockFile trace(path, view);
    KeepOutcome outcome;
    outcome.complete = is_complete(trace);
    if (!outcome.complete) return outcome;
    const Definitions definitions(trace);
    if (definitions.images().empty()) return outcome;

    Symbolizer symbols;
    ModuleFiles files(symbols, trace.began_unix_ns(), options.folders, options.held);
    ModuleNames names(definitions, symbols, files);
    const KeptNames &known = definitions.kept();
    Appender out(path, trace);
    out.begin_image(definitions.images().front());
    Writer writer(out, known);
    for (const ModuleAddresses &each : addresses_of(definitions)) {
        const Module &module = *each.module;
        outcome.addresses += each.addresses.size();
        const auto &[naming, opened] = files.of(module);
        if (naming != Naming::Certain) continue;
        const KeptModule *const had = known.module(module.path, module.build_id);
        const auto is_kept = [had](uint64_t address) { return had != nullptr && had->contains(address); };
        std::vector<uint64_t> wanted = each.addresses;
        if (!options.again) std::erase_if(wanted, is_kept);
        symbols.prepare(opened, wanted);
        if (symbols.failed().contains(opened)) continue; // another reader may name what this one did not
        add_refused(outcome, symbols.refused(opened));
        for (const uint64_t address : wanted) {
            const bool is_known = is_kept(address);
            const std::vector<SourceFrame> found = names.look_up(module, address);
            if (found.empty() || (is_known && !is_better(found, names.resolve(module, address)))) continue;
            writer.add(module, address, found);
            ++outcome.kept;
        }
    }
    bool added = outcome.kept != 0;
    if (known.samples() == nullptr && !options.again)
        added |=
            add_samples(out, read_outside(trace, definitions, symbols, {options.recorder, {}, {}}).samples);
    if (added) out.publish();
    add_refused(outcome, files.refused());
    return outcome;
}

} // namespace

KeepOutcome keep_names(const std::string &path, const KeepOptions &options) {
    KeepOutcome outcome = keep_names_of(path, options, View::Recorder);
    if (BlockFile(path, View::Recorder).header().beside == 0) return outcome;
    const KeepOutcome beside = keep_names_of(path, options, View::Beside);
    outcome.addresses += beside.addresses;
    outcome.kept += beside.kept;
    add_refused(outcome, beside.refused);
    return outcome;
}

} // namespace reap::native

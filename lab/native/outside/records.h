// The records that the launcher wrote of a program from outside, one after another.
#pragma once

#include <cstdint>
#include <vector>

#include "reap_trace.h"
#include "trace/block_file.h"
#include "trace/record_reader.h"

namespace reap::native {

// Calls `use` with (tag, ticks, pid, fields) for each, in the order of the file; a block that is cut short
// counts as damage, and the next one is read.
template <class Use>
void each_record(BlockFile &file, Use use) {
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
            use(tag, ticks, pid, fields);
        }
    }
}

} // namespace reap::native

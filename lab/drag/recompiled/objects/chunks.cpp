#include "objects/chunks.h"

#include "objects/address_map.h"
#include "objects/blocks.h"

namespace reap::drag {

bool any_objects = false;

namespace {

AddressMap chunks; // by address

// Of pages that were looked at last: the last block that has bytes in there.
struct Page {
    uintptr_t number; // 0: nothing is known
    uintptr_t block;  // 0: there is none
    size_t size;
};
constexpr size_t kPages = 256;
constexpr unsigned kPage = 12;
Page pages[kPages];

bool lies_in(uintptr_t address, uintptr_t block, size_t size) noexcept { return address - block < size; }

const Page &look_at_page(uintptr_t number) noexcept {
    Page &page = pages[number % kPages];
    if (page.number == number) return page;
    const uintptr_t begin = number << kPage;
    const uintptr_t end = begin + (uintptr_t{1} << kPage);
    // Most pools go through a large block from page to page: then nothing has to be looked for.
    const uintptr_t around[] = {number - 1, number + 1};
    for (const uintptr_t beside : around) {
        const Page &known = pages[beside % kPages];
        if (known.number != beside || known.block > begin || end - known.block > known.size) continue;
        page = {number, known.block, known.size};
        return page;
    }
    const Neighbour last = block_below(end - 1);
    page = {number, 0, 0};
    if (last.block != nullptr && last.address + last.block->size > begin) {
        page.block = last.address;
        page.size = last.block->size;
    }
    return page;
}

// The block that a byte lies in; 0: none.
uintptr_t block_around(uintptr_t address) noexcept {
    const Page &page = look_at_page(address >> kPage);
    if (address >= page.block) return lies_in(address, page.block, page.size) ? page.block : 0;
    const Neighbour found = block_below(address);
    return found.block != nullptr && lies_in(address, found.address, found.block->size) ? found.address : 0;
}

} // namespace

void carve(uintptr_t object) noexcept {
    any_objects = true;
    const uintptr_t block = block_around(object);
    if (block != 0 && chunks.find(block) == nullptr) chunks.add(block, 1);
}

void block_born(uintptr_t block, size_t size) noexcept {
    // What was known of these pages is over. There are so few that all may go.
    if (size >> kPage >= kPages) {
        for (Page &page : pages) page = {};
        return;
    }
    for (uintptr_t at = block >> kPage; at <= (block + size) >> kPage; ++at) pages[at % kPages] = {};
}

bool block_died(uintptr_t block, size_t size) noexcept {
    block_born(block, size); // as little is known of its pages from now on
    AddressMap::Entry *entry = chunks.find(block);
    if (entry == nullptr) return false;
    chunks.remove(entry);
    return true;
}

bool is_chunk(uintptr_t block) noexcept { return chunks.find(block) != nullptr; }

} // namespace reap::drag

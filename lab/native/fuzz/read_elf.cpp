// The reader of ELF files against hostile ones: whatever the bytes, it refuses them or reads within them.
//
// The first byte decides whether what marks such a file is put right, so that the fuzzer gets past it.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <vector>

#include "../test/elf/read_all.h"
#include "../test/scratch_file.h"

namespace {

void put_right(std::vector<unsigned char> &bytes) {
    Elf64_Ehdr header;
    if (bytes.size() < sizeof header) return;
    std::memcpy(&header, bytes.data(), sizeof header);
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    std::memcpy(bytes.data(), &header, sizeof header);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    static const reap::test::ScratchFile file;
    std::vector<unsigned char> bytes(data + 1, data + size);
    if (data[0] % 4 != 0) put_right(bytes);
    try {
        reap::test::read_all(file.write(bytes));
    } catch (const reap::native::BadElf &) { // what is none is refused
    }
    return 0;
}

#include "reap/testkit/misuse_matrix.h"

#include <cstddef>
#include <cstdio>
#include <gtest/gtest.h>
#include <string>

#include "cases.h"

// The misuse matrix of every case, printed. Under AddressSanitizer every cell that applies has to be found,
// by reading as well as by writing; without it 95 in a hundred, by writing. In hardened mode what it promises
// has to be found, in the layers that have it.

namespace {

using reap::Misuse;
using reap::test::Case;
using reap::testkit::MisuseCell;

/// Whether hardened mode promises to notice it: in layers that free single objects, and of an object that is
/// no large one. Misuse of large ones reaches what was returned to the source.
bool is_promised(const std::string &name, const MisuseCell &cell) {
    const auto is_of = [&name](const char *layer) { return name.starts_with(layer); };
    const bool is_hardened = is_of("Reap") || is_of("SizedReap") || is_of("OwnedReap") ||
                             is_of("FixedBlock") || is_of("SizeClassAllocator") || is_of("PerClass") ||
                             is_of("Mempool") || is_of("PerThread");
    const bool is_off = name == "PerClass/off"; // each object goes back to the source at once
    if (!is_hardened || is_off || cell.size > 1000 || cell.by_reading) return false;
    // The matrix takes a mark where it can: what is freed under it is not used again, nor looked at.
    const bool has_marks = is_of("Reap") || is_of("SizedReap");
    return cell.what == Misuse::double_free || cell.what == Misuse::foreign_free ||
           (cell.what == Misuse::use_after_free && !has_marks);
}

TEST(MisuseMatrix, OfEveryCaseIsAsHardenedModePromises) {
    if (!reap::hardened) GTEST_SKIP() << "only in hardened mode";
    std::size_t promised = 0;
    for (const Case &one : reap::test::all_cases()) {
        if (!one.checks_misuse) continue;
        const auto matrix = reap::testkit::misuse_matrix(one.make);
        std::printf("%s: %zu of %zu\n%s", one.name.c_str(), matrix.noticed(false), matrix.applicable(false),
                    matrix.to_string().c_str());
        for (const auto &cell : matrix.cells()) {
            if (cell.outcome == MisuseCell::not_applicable || !is_promised(one.name, cell)) continue;
            ++promised;
            EXPECT_EQ(cell.outcome, MisuseCell::found)
                << one.name << ", " << cell.size << " bytes: " << reap::to_string(cell.what)
                << ", said: " << cell.said;
        }
    }
    EXPECT_GE(promised, 100U);
}

TEST(MisuseMatrix, OfEveryCaseIsFoundInCheckedMode) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    std::size_t applicable = 0;
    std::size_t noticed = 0;
    for (const Case &one : reap::test::all_cases()) {
        // Pages are allocated, and what is done to them is not looked at.
        if (!one.checks_misuse) continue;
        // A process that AddressSanitizer is in takes long to fork: a layer's variations are left out.
        if (reap::test::brief && one.name.find('/') != std::string::npos) continue;
        constexpr std::size_t few[] = {8, 200, std::size_t{600} << 10};
        const auto matrix = reap::test::brief ? reap::testkit::misuse_matrix(one.make, few)
                                              : reap::testkit::misuse_matrix(one.make);
        const std::size_t writes = matrix.applicable(false);
        const std::size_t reads = matrix.applicable(true);
        std::printf("%s: %zu of %zu, by reading %zu of %zu\n%s", one.name.c_str(), matrix.noticed(false),
                    writes, matrix.noticed(true), reads, matrix.to_string().c_str());
        EXPECT_GE(writes, 4U) << one.name;
        applicable += writes + reads;
        noticed += matrix.noticed(false) + matrix.noticed(true);
        if (REAP_ASAN) {
            EXPECT_EQ(matrix.noticed(false), writes) << one.name;
            EXPECT_EQ(matrix.noticed(true), reads) << one.name;
        }
        for (const auto &cell : matrix.cells()) {
            // What went back to the source with its object cannot be told from what never was the layer's; an
            // obstack frees by rewinding.
            if (cell.what == reap::Misuse::double_free || one.name.starts_with("Obstack")) continue;
            EXPECT_NE(cell.outcome, reap::testkit::MisuseCell::misnamed) << one.name << ": " << cell.said;
        }
    }
    std::printf("%zu of %zu in all\n", noticed, applicable);
    EXPECT_GE(noticed * 100, applicable * 95);
}

} // namespace

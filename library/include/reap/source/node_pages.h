#pragma once

#include <cerrno>
#include <climits>
#include <concepts>
#include <cstddef>
#include <sys/syscall.h>
#include <unistd.h>

#include "reap/core/failure.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/source/page_fallback.h"
#include "reap/source/system_pages.h"

namespace reap::inline REAP_MODE {

/// Pages whose memory is on one NUMA node, whichever thread touches them first.
///
/// It does not move threads there, and memory of another node is not taken when this one is full: then the
/// first touch ends the process, as out of memory does. Where the system refuses to bind (a kernel without
/// NUMA, a container that forbids mbind), the pages are ordinary, and the handler is told.
///
/// Stands on any source whose memory is whole pages of its own, as `NodePages<HugePages>`; to have pages that
/// are there at once, `PopulatedPages<NodePages<>>`. Copies are equal. Costs a
/// system call more than its source. By system calls alone: libnuma is not needed.
template <Source Pages = SystemPages>
class NodePages {
  public:
    static constexpr bool copies_are_equal = reap::copies_are_equal<Pages>;

    /// Throws std::invalid_argument if there is no such node with memory for this process.
    explicit NodePages(unsigned node, PageFallbackHandler told = nullptr)
        requires std::default_initializable<Pages>
        : node_(checked_node(node)), told_(told) {}
    NodePages(Pages pages, unsigned node, PageFallbackHandler told = nullptr)
        requires std::copy_constructible<Pages>
        : pages_(pages), node_(checked_node(node)), told_(told) {}

    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size, std::size_t alignment) noexcept {
        if (!is_possible(size, alignment, page_size())) return {};
        const Allocation got =
            obtain_at_least<Failure::returns_null>(pages_, size, detail::max(alignment, page_size()));
        if (got.data != nullptr && !bind(got) && told_ != nullptr) {
            told_({"NodePages",
                   "mbind was refused; is the kernel built with NUMA, and may this container use mbind?",
                   got.data, got.size, errno});
        }
        return got;
    }

    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return try_allocate_at_least(size, alignment).data;
    }

    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        pages_.deallocate(data, size, detail::max(alignment, page_size()));
    }

    [[nodiscard]] unsigned node() const noexcept { return node_; }
    [[nodiscard]] const Pages &source() const noexcept { return pages_; }

    /// Whether there is such a node with memory that this process may use. If the kernel does not report it,
    /// there is node 0.
    [[nodiscard]] static bool exists(unsigned node) noexcept {
        unsigned long mask[most_nodes / bits] = {};
        if (node >= most_nodes) return false;
        constexpr unsigned long allowed = 4; // MPOL_F_MEMS_ALLOWED
        if (::syscall(SYS_get_mempolicy, nullptr, mask, most_nodes, nullptr, allowed) != 0) return node == 0;
        return (mask[node / bits] >> node % bits & 1U) != 0;
    }

    /// The node that holds the page at this address, which is faulted in if necessary; -1 if the system does
    /// not report it.
    [[nodiscard]] static int node_of(const void *address) noexcept {
        constexpr unsigned long node_at_address = 1 | 2; // MPOL_F_NODE, MPOL_F_ADDR
        int node = -1;
        if (::syscall(SYS_get_mempolicy, &node, nullptr, 0UL, address, node_at_address) != 0) return -1;
        return node;
    }

    friend bool operator==(const NodePages &, const NodePages &) noexcept
        requires std::equality_comparable<Pages>
    = default;

  private:
    static constexpr unsigned long most_nodes = 1024; // the maximum that Linux can be built for
    static constexpr unsigned long bits = sizeof(unsigned long) * CHAR_BIT;

    static unsigned checked_node(unsigned node) {
        if (!exists(node))
            throw_invalid("reap::NodePages: no such memory node for this process; those there are: "
                          "/sys/devices/system/node/has_memory, Mems_allowed_list in /proc/self/status");
        return node;
    }

    bool bind(const Allocation &got) const noexcept {
        constexpr int mode = 2;           // MPOL_BIND
        constexpr unsigned long move = 2; // MPOL_MF_MOVE: also what was touched before
        unsigned long mask[most_nodes / bits] = {};
        mask[node_ / bits] |= 1UL << node_ % bits;
        // The kernel uses one bit less than it is told.
        return ::syscall(SYS_mbind, got.data, detail::max(got.size, std::size_t{1}), mode, mask,
                         most_nodes + 1, move) == 0;
    }

    [[no_unique_address]] HeldCopy<Pages> pages_;
    unsigned node_;
    PageFallbackHandler told_;
};

NodePages(unsigned) -> NodePages<>;
NodePages(unsigned, PageFallbackHandler) -> NodePages<>;
template <Source S>
NodePages(S &, unsigned) -> NodePages<Shared<S>>;
template <Source S>
NodePages(S &, unsigned, PageFallbackHandler) -> NodePages<Shared<S>>;

} // namespace reap::inline REAP_MODE

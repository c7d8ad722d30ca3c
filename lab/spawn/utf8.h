/* Any bytes as the inside of a JSON string.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_UTF8_H
#define REAP_SPAWN_UTF8_H

#include <cstddef>

namespace reap::spawn {

/// Writes `length` bytes of `data` to `escaped` as the inside of a JSON string, and a final 0. What is
/// not UTF-8 becomes U+FFFD. `escaped` needs six bytes for each byte, and one more.
void escape_json(const char *data, std::size_t length, char *escaped);

} // namespace reap::spawn

#endif

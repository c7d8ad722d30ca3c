/* Arbitrary bytes as the content of a JSON string.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_UTF8_H
#define REAP_SPAWN_UTF8_H

#include <cstddef>

namespace reap::spawn {

/// Writes `length` bytes of `data` to `escaped` as the content of a JSON string, and a final 0. Bytes that
/// are not UTF-8 become U+FFFD. `escaped` must have room for six bytes per byte, plus one.
void escape_json(const char *data, std::size_t length, char *escaped);

} // namespace reap::spawn

#endif

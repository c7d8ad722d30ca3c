# The module as a release ships it: it needs glibc alone, and an older one than this system's.
foreach(name dw elf lzma z zstd)
    find_library(STATIC_${name} lib${name}.a HINTS ${REAP_OLDER}/lib NO_CACHE REQUIRED)
    list(APPEND READER_LIBRARIES ${STATIC_${name}})
endforeach()

# link_statically(TARGET): exports only what Python looks up, so that another C++ runtime in the process stays apart. Its
# exceptions pass through the frames of nanobind-backend: both have to have one unwinder, libgcc_s.
function(link_statically target)
    set(exports ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/module/exports.map)
    target_link_libraries(${target} PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,reap-older>)
    target_link_options(${target} PRIVATE -L${REAP_OLDER}/2.28 -static-libstdc++ -shared-libgcc
                        LINKER:--gc-sections,--version-script=${exports})
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${exports})
endfunction()

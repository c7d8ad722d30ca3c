# What `cmake --install` puts where: find_package(Reap) and pkg-config find it there, wherever the prefix is moved.
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Reap)
install(DIRECTORY include/reap DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# Imported by gdb; see docs/library/gdb.md.
install(FILES gdb/reap_printers.py DESTINATION ${CMAKE_INSTALL_DATADIR}/reap/gdb)
install(TARGETS reap reap-headers reap-malloc EXPORT reap-targets)
if(TARGET reap-prebuilt)
    install(TARGETS reap-prebuilt EXPORT reap-targets)
endif()
if(TARGET reap-apr)
    install(TARGETS reap-apr) # to be preloaded; nobody links it
endif()
if(REAP_MODULE)
    install(TARGETS reap-module EXPORT reap-targets FILE_SET CXX_MODULES DESTINATION ${package}/module)
    set(modules CXX_MODULES_DIRECTORY module)
endif()
install(EXPORT reap-targets NAMESPACE Reap:: FILE ReapTargets.cmake DESTINATION ${package} ${modules})

# The C++ library that a static libreap needs, for those who do not link C++ anyway.
set(cxx_library stdc++)
if("c++" IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
    set(cxx_library c++)
endif()
configure_package_config_file(ReapConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/ReapConfig.cmake
    INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor version may change what a program relies on.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/ReapConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ReapConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/ReapConfigVersion.cmake
    DESTINATION ${package})

file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" up ${up})
file(RELATIVE_PATH libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(reap.pc.in ${CMAKE_CURRENT_BINARY_DIR}/reap.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/reap.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

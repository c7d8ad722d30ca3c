# An overlay port of this checkout: vcpkg install reap --overlay-ports=REAP/setup/packages/vcpkg
# A registry that has a release instead replaces the next line by vcpkg_from_github or vcpkg_download_distfile of it.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS options FEATURES hardened REAP_HARDENED)
# APR is no dependency of the port: whether the machine has it must make no difference.
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS ${options} -DBUILD_TESTING=OFF -DAPR_LIBRARY=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME Reap CONFIG_PATH lib/cmake/Reap)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")

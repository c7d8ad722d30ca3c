include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

consume(find_package ${CMAKE_CURRENT_LIST_DIR}/find_package consumer -DCMAKE_PREFIX_PATH=${WORK}/shared)
run(${WORK}/find_package/consumer)
# A program in C, whose project knows of no C++, and what libreap needs of C++ when it is static.
consume(find_package_c ${CMAKE_CURRENT_LIST_DIR}/find_package_c consumer -DCMAKE_PREFIX_PATH=${WORK}/static)
run(${WORK}/find_package_c/consumer)

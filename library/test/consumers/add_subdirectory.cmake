include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

consume(add_subdirectory ${CMAKE_CURRENT_LIST_DIR}/add_subdirectory -DREAP_ROOT=${ROOT})
run(${WORK}/add_subdirectory/consumer)

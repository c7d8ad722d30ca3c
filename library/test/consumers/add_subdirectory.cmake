include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

consume(add_subdirectory ${CMAKE_CURRENT_LIST_DIR}/add_subdirectory all -DREAP_ROOT=${ROOT})
run(${WORK}/add_subdirectory/consumer)
run(${WORK}/add_subdirectory/consumer_c)

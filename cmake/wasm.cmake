# WebAssembly by Debian's emscripten (tools/setup wasm), for browsers and for node:
#   cmake -S . -B build-wasm -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/wasm.cmake
# One thread: several need two headers that plain static hosting does not send. SIMD128 and exceptions are WebAssembly's own,
# which every browser since 2022 has.
execute_process(COMMAND em-config EMSCRIPTEN_ROOT OUTPUT_VARIABLE emscripten OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
include(${emscripten}/cmake/Modules/Platform/Emscripten.cmake)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(flags "-msimd128 -fwasm-exceptions -isystem ${CMAKE_CURRENT_LIST_DIR}/libcxx")
set(CMAKE_CXX_FLAGS_INIT "${flags}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-fwasm-exceptions")

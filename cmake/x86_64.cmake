# Cross build for x86-64, tests run by qemu with every instruction set it knows (7.2: AVX2 and FMA, no AVX-512):
#   cmake -S . -B build-amd64 -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/x86_64.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_CXX_COMPILER x86_64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-x86_64-static -L /usr/x86_64-linux-gnu -cpu max)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)

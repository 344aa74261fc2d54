#!/usr/bin/env bash
LIMIT=${LIMIT:-560}
G=$PWD/.gpuA
. $G/s/common.sh
. $G/s/setup.sh
export ATTEND=$A
step ops 60 /tmp/run-ops_test --gtest_filter='*Cuda*conv2d*g*:*Cuda*norm*:*Cuda*drop*' --gtest_brief=1
cmake -S . -B build -G Ninja -DATTEND_CUDA=ON -DATTEND_WERROR=ON -DCMAKE_CUDA_ARCHITECTURES=90a-real > /tmp/configure.log 2>&1 || tail -20 /tmp/configure.log
(nice -n 15 cmake --build build -j 11 --target all bench -- -k 0 > /tmp/build.log 2>&1; echo "build ended $? at $((SECONDS - start)) s"; grep -E "error|FAILED" /tmp/build.log | head -20) & b=$!
step cnn 90 tools/vision-runs cifar10-cnn=0.95 --collect $OUT
for r in vit-cifar10=3.7 vit-distilled-cifar10=3.7; do step $r 275 tools/vision-runs $r --collect $OUT; tail -1 runs/vision-runs/table.md; done
wait $b
echo "=== all ended at $((SECONDS - start)) s"

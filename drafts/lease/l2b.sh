#!/usr/bin/env bash
# Swin and MViT alone on the GPU, tests without GPU beside them on other cores; then the tests that use the GPU.
LIMIT=${LIMIT:-590}
G=$PWD/.gpuB
. $G/s/common.sh
cd /tmp/w || exit 1
A=/tmp/run-attend
export ATTEND=$A
tar xJf $G/a/models.tar.xz
tail -1 /tmp/build.log
(CUDA_VISIBLE_DEVICES= nice -n 15 timeout 440 ctest --test-dir build -j 11 --timeout 280 > /tmp/ctest1.txt 2>&1; echo "ctest without GPU $? at $((SECONDS - start)) s"; cp build/Testing/Temporary/LastTest.log /tmp/LastTest1.log) & b=$!
for r in $RUNS; do
  step $r 275 tools/vision-runs $r --collect $OUT
  tail -1 runs/vision-runs/table.md
done
wait $b
grep -E "tests passed|Failed|Timeout|SEGFAULT|\*\*\*" /tmp/ctest1.txt | tail -30
N=$(python3 $G/s/gpu_entries.py /tmp/LastTest1.log)
echo "with GPU: $N"
step ctest2 200 ctest --test-dir build -j 14 --timeout 190 -R "$N" > /tmp/ctest2.txt
grep -E "tests passed|Failed|Timeout|SEGFAULT|\*\*\*" /tmp/ctest2.txt | tail -30
cat /tmp/ctest1.txt /tmp/ctest2.txt > $OUT/ctest.txt; xz -T0 -3 -c build/Testing/Temporary/LastTest.log > $OUT/LastTest2.xz
echo "=== all ended at $((SECONDS - start)) s"

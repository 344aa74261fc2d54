#!/usr/bin/env bash
# Lease 2, call 1: build, all of ctest beside the curve, then vision and generation beside torch.
LIMIT=${LIMIT:-588}
G=$PWD/.gpu
. $G/s/common.sh
mkdir -p /tmp/w && cd /tmp/w || exit 1
tar xJf $G/b/src.tar.xz || exit 1
(tar xJf $G/b/models.tar.xz; mkdir -p /tmp/tok; tar xJf $G/b/tokenizers.tar.xz -C /tmp/tok; tar xJf $G/b/curve200.tar.xz) & u=$!
echo "unpacked at $((SECONDS - start)) s"
printf '#!/bin/sh\necho 1.0\n' > /tmp/fake && chmod +x /tmp/fake
cmake -S . -B build -G Ninja -DATTEND_CUDA=ON -DATTEND_WERROR=ON -DCMAKE_CUDA_ARCHITECTURES=90a-real > /tmp/configure.log 2>&1 || tail -20 /tmp/configure.log
(nice -n 10 timeout 280 python3 bench/vision.py /tmp/fake --models swin-t vit-b16 --rounds 1 --reps 1 > /tmp/warm.log 2>&1; echo "warm $? at $((SECONDS - start)) s") & warm=$!
cmake --build build -j 18 --target all bench -- -k 0 > /tmp/build.log 2>&1
echo "build ended $? at $((SECONDS - start)) s"
grep -E "error|FAILED" /tmp/build.log | head -20
wait $u
echo "$(ls models | wc -l) models"
(step curve 320 python3 bench/bleu_by_pairs.py --attend build/attend --points 25000 50000 100000 200000 --at-once 4 --json $OUT/curve.json) & c=$!
(timeout ${CTEST_MOST:-330} ctest --test-dir build -j 13 --timeout 300 > $OUT/ctest.txt 2>&1; echo "ctest $? at $((SECONDS - start)) s") & t=$!
wait $t
grep -E "tests passed|Failed|Timeout|SEGFAULT|\*\*\*" $OUT/ctest.txt | tail -40
xz -T0 -3 -c build/Testing/Temporary/LastTest.log > $OUT/LastTest.xz
wait $warm $c
tail -n 2 /tmp/warm.log | cut -c1-200
B=build/bench
step vision 150 python3 bench/vision.py $B/vision --models swin-t vit-b16 --rounds 2 --reps 20
step generation 90 python3 bench/gpt2_generation.py $B/gpt2_generation --device cuda --batches 1 64 --rounds 3 --peers reduce-overhead
echo "=== all ended at $((SECONDS - start)) s"

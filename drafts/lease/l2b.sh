#!/usr/bin/env bash
# Lease 2, call 2: serving beside torch, decoding kernels and beams, CIFAR beside torch, the rest of the curve.
LIMIT=${LIMIT:-420}
G=$PWD/.gpu
. $G/s/common.sh
cd /tmp/w || exit 1
(tar xJf $G/c/curve400.tar.xz) & u1=$!
(mkdir -p .data/cifar10; tar xJf $G/c/cifar10-jpg.tar.xz -C .data/cifar10) & u2=$!
B=build/bench
D=build/tests/decode_test
wait $u1 $u2
R=$(for i in $(seq 119); do grep -qx $i $G/s/done.txt || echo $i; done | paste -sd, | sed 's/\([0-9]*\)/\1,\1/;s/,/,/')
R=$(for i in $(seq 119); do grep -qx $i $G/s/done.txt || echo -n ",$i"; done)
(timeout 300 ctest --test-dir build -j 12 -I 0,0,0$R --timeout 290 --output-on-failure > $OUT/ctest2.txt 2>&1; echo "ctest $? at $((SECONDS - start)) s"; grep -E "tests passed|Failed|Timeout|\*\*\*" $OUT/ctest2.txt) & t=$!
step decode 40 $D --gtest_filter='*SingleStep*:*MemoryStep*:*Likeliest*' --gtest_brief=1
step steps 20 $B/cuda_kernels steps
head -n 512 .data/newstest/newstest2014-enfr.en > /tmp/news512.en
head -n 60 .data/newstest/newstest2014-enfr.en > /tmp/news60.en
M=$(ls -d runs/curve-*base* | head -1)
TIMEFORMAT="%R s"
for i in 1 2; do
  echo "beams-64"; time build/attend translate --model $M --device cuda --dtype bf16 --beams 4 --batch 64 --output /tmp/x64 /tmp/news512.en
  echo "beams-1"; time build/attend translate --model $M --device cuda --dtype bf16 --beams 4 --batch 1 --output /tmp/x1 /tmp/news60.en
  echo "one line"; head -n 1 /tmp/news60.en | (time build/attend translate --model $M --device cuda --dtype bf16 --beams 4 > /tmp/x0)
done
echo "same lines: $(head -n 60 /tmp/x64 | paste -d '\n' - /tmp/x1 | awk 'NR%2{a=$0;next}{n+=(a==$0)}END{print n}') of 60"
GPU_KERNELS_MS=60000 step beams-64 30 tools/gpu-kernels build/attend translate --model $M --device cuda --dtype bf16 --beams 4 --batch 64 --output /tmp/x /tmp/news512.en
GPU_KERNELS_MS=60000 step beams-1 30 tools/gpu-kernels build/attend translate --model $M --device cuda --dtype bf16 --beams 4 --batch 1 --output /tmp/x /tmp/news60.en
step profile-swin 20 tools/gpu-kernels $B/vision --model swin-t --batch 256 --train --reps 20
if [ -n "${GENERATION:-}" ]; then step generation 90 python3 bench/gpt2_generation.py $B/gpt2_generation --device cuda --batches 1 64 --rounds 3 --peers reduce-overhead; fi
wait $t
step serve 110 python3 bench/serve_load.py --program build/attend --load $B/load --bench $B/gpt2_generation --tokenizer $(find /tmp/tok -name tokenizer.json | grep -i gpt2 | head -1) --seconds 4 --rounds 1 --how reduce-overhead
step cnn 75 env ATTEND=build/attend tools/vision-runs cifar10-cnn=0.95
step baseline 60 python3 bench/cifar10_baseline.py build/attend --epochs 30 --cutout 8 --recipes
step sanitize 60 compute-sanitizer --tool memcheck --error-exitcode 9 --kernel-name kns=attend $D --gtest_filter='*SingleStep*' --gtest_brief=1 > $OUT/sanitize.txt 2>&1
tail -3 $OUT/sanitize.txt
step swin 60 python3 bench/vision.py $B/vision --models swin-t --rounds 1 --reps 20
step curve 200 python3 bench/bleu_by_pairs.py --attend build/attend --points 400000 --at-once 2 --json $OUT/curve400.json
echo "=== all ended at $((SECONDS - start)) s"

#!/usr/bin/env bash
# The curve beside all of ctest; then vision, generation and serving beside torch, alone.
LIMIT=${LIMIT:-540}
G=$PWD/.gpu
. $G/s/common.sh
cd /tmp/w
cat $G/a/models.part $G/b/models.part | xz -dc | tar xf - &
tar xf $G/b/curve.tar.xz -C .data & tar xf $G/b/tokenizers.tar.xz -C /tmp & wait
ls models | wc -l
(step curve 330 python3 bench/bleu_by_pairs.py --attend /tmp/attend --points 400000 200000 100000 50000 25000 --at-once 4 --json $OUT/curve.json --svg $OUT/curve.svg) & c=$!
(timeout 420 ctest --test-dir build -j ${JOBS:-14} --timeout 240 > $OUT/ctest.txt 2>&1; echo "ctest $? at $((SECONDS - start)) s"; grep -E "tests passed|Failed|Timeout|\*\*\*" $OUT/ctest.txt | tail -30; cp build/Testing/Temporary/LastTest.log /tmp/LastTest.log) & t=$!
(step sanitize 200 compute-sanitizer --tool memcheck --error-exitcode 9 build/tests/decode_test --gtest_filter='*SingleStep*:*Cross*' --gtest_brief=1) & s=$!
wait $c $t $s
xz -T0 -3 -c /tmp/LastTest.log > $OUT/LastTest.xz
B=build/bench
step vision 130 python3 bench/vision.py $B/vision --models resnet-50 swin-t --rounds 3 --reps 20
step generation 90 python3 bench/gpt2_generation.py $B/gpt2_generation --device cuda --batches 1 64 --rounds 3 --peers reduce-overhead
step serve 150 python3 bench/serve_load.py --program build/attend --load $B/load --bench $B/gpt2_generation --tokenizer $(find /tmp/tokenizers* /tmp/gpt2* -name tokenizer.json 2>/dev/null | grep -i gpt2 | head -1) --seconds 4 --rounds 1 --how reduce-overhead
echo "=== all ended at $((SECONDS - start)) s"

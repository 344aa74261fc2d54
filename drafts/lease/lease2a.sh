#!/usr/bin/env bash
# en-de base alone on the GPU, the build beside it; then the decoding kernels.
LIMIT=${LIMIT:-500}
G=$PWD/.gpu
. $G/s/common.sh
mkdir -p /tmp/w && cd /tmp/w
tar xf $G/a/src.tar.xz & (xz -dc $G/a/attend.xz > /tmp/attend && chmod +x /tmp/attend) & wait
(python3 tools/unpack-data $G/a > /tmp/unpack.log 2>&1; tail -1 /tmp/unpack.log | cut -c1-100)
echo "unpacked at $((SECONDS - start)) s"
cmake -S . -B build -G Ninja -DATTEND_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90a-real > /tmp/configure.log 2>&1 || tail -20 /tmp/configure.log
(nice -n 15 cmake --build build -j 12 --target all bench -- -k 0 > /tmp/build.log 2>&1; echo "build ended $? at $((SECONDS - start)) s"; grep -E "error|FAILED" /tmp/build.log | head -20) & b=$!
step news-en-de ${NEWS_MOST:-400} env ATTEND=/tmp/attend tools/news-models en-de --minutes ${MINUTES:-5.7} > /tmp/news.log 2>&1
grep -E "===" /tmp/news.log; tr '\r' '\n' < /tmp/news.log | grep -E "BLEU|step|newstest|wmt|tatoeba|europarl|loss" | tail -12; cat runs/news-en-de-scores.txt
cp runs/news-en-de/log.jsonl $OUT/en-de.log.jsonl
cat > /tmp/lines.txt <<E
The animal did not cross the street because it was too tired.
The animal did not cross the street because it was too wide.
The agreement on the European Economic Area was signed in August 1992.
I am a student.
He kicked the bucket.
Gutach: Increased safety for pedestrians
Two sets of lights so close to one another: intentional or just a silly error?
E
wait $b
B=build/bench
D=build/tests/decode_test
step lines 20 build/attend translate --model runs/news-en-de --device cuda --dtype bf16 /tmp/lines.txt
step decode_test 60 $D --gtest_filter='*SingleStep*:*Likeliest*' --gtest_brief=1
step steps 40 $B/cuda_kernels choices steps phases
for m in swin-t vit-b16; do step profile-$m 30 tools/gpu-kernels $B/vision --model $m --batch 256 --train --reps 20; done
$B/gpt2_generation --write /tmp/gpt2 > /dev/null
step same_tokens 60 $B/same_tokens --model /tmp/gpt2 --device cuda --dtype bf16 --batch 16
step same_tokens1 40 $B/same_tokens --model /tmp/gpt2 --device cuda --dtype bf16 --batch 1 --steps 3000
for b in 1 4; do for n in 1 16 64; do
  s=$((n == 1 ? 60 : 1024))
  echo "beams $b batch $n: $(timeout 40 $B/translation_decoding --model runs/news-en-de --input .data/newstest/newstest2014-ende.en --sentences $s --beams $b --batch $n --device cuda --dtype bf16 --reps 3 | tail -1 | cut -c1-200)"
done; done
step profile-gpt2 30 tools/gpu-kernels $B/gpt2_generation --model /tmp/gpt2 --device cuda --dtype bf16 --batch 64 --prompt 16 --tokens 128 --reps 5 --search
step vision 100 python3 bench/vision.py $B/vision --models swin-t --rounds 2 --reps 20
echo "=== all ended at $((SECONDS - start)) s"

#!/usr/bin/env bash
# Lease 1: en-de base alone on the GPU with the build beside it; then Swin's profile, decoding, CIFAR.
LIMIT=${LIMIT:-585}
G=$PWD/.gpu
. $G/s/common.sh
mkdir -p /tmp/w && cd /tmp/w || exit 1
tar xJf $G/a/src.tar.xz & u1=$!
tar xJf $G/a/attend.tar.xz -C /tmp & u2=$!
wait $u1 $u2
python3 tools/unpack-data $G/a > /tmp/unpack.log 2>&1 & u4=$!
cat > /tmp/run-attend <<'R'
#!/bin/sh
LD_LIBRARY_PATH=/tmp/lib:/usr/local/cuda/lib64:/usr/local/cuda/lib:/usr/local/cuda/targets/x86_64-linux/lib exec /tmp/attend "$@"
R
chmod +x /tmp/run-attend
A=/tmp/run-attend
$A --version || A=
wait $u4
tail -1 /tmp/unpack.log | cut -c1-150
echo "unpacked at $((SECONDS - start)) s"
cmake -S . -B build -G Ninja -DATTEND_CUDA=ON -DATTEND_WERROR=ON -DCMAKE_CUDA_ARCHITECTURES=90a-real > /tmp/configure.log 2>&1 || tail -20 /tmp/configure.log
if [ -z "$A" ]; then echo "attend of the other machine does not run"; cmake --build build -j 18 --target attend > /tmp/build0.log 2>&1; A=build/attend; fi
(nice -n 15 cmake --build build -j 13 --target all bench -- -k 0 > /tmp/build.log 2>&1; echo "build ended $? at $((SECONDS - start)) s"; grep -E "error|FAILED" /tmp/build.log | head -20) & b=$!
step news-en-de ${NEWS_MOST:-420} env ATTEND=$A tools/news-models en-de --minutes ${MINUTES:-5.6} > /tmp/news.log 2>&1
echo "news ended at $((SECONDS - start)) s"
tr '\r' '\n' < /tmp/news.log | grep -v '^ *$' | tail -n 25 | cut -c1-200; cat runs/news-en-de-scores.txt
cp runs/news-en-de/log.jsonl $OUT/en-de.log.jsonl
wait $b
B=build/bench
D=build/tests/decode_test
step ops 60 build/tests/ops_test --gtest_filter='Gpu*attention*' --gtest_brief=1
step profile-swin 30 tools/gpu-kernels $B/vision --model swin-t --batch 256 --train --reps 20
step swin 20 $B/vision --model swin-t --batch 256 --train --reps 30
step profile-vit 25 tools/gpu-kernels $B/vision --model vit-b16 --batch 256 --train --reps 10
step steps 30 $B/cuda_kernels steps phases
cat > /tmp/lines.txt <<T
The animal did not cross the street because it was too tired.
The animal did not cross the street because it was too wide.
The agreement on the European Economic Area was signed in August 1992.
I am a student.
He kicked the bucket.
Gutach: Increased safety for pedestrians
Two sets of lights so close to one another: intentional or just a silly error?
T
step lines 20 build/attend translate --model runs/news-en-de --device cuda --dtype bf16 /tmp/lines.txt
head -n 512 .data/newstest/newstest2014-ende.en > /tmp/news512.en
head -n 60 .data/newstest/newstest2014-ende.en > /tmp/news60.en
export GPU_KERNELS_MS=60000
step beams-64 30 tools/gpu-kernels build/attend translate --model runs/news-en-de --device cuda --dtype bf16 --beams 4 --batch 64 --output /tmp/x /tmp/news512.en
for i in 1 2; do TIMEFORMAT="beams-64 %R s"; time build/attend translate --model runs/news-en-de --device cuda --dtype bf16 --beams 4 --batch 64 --output /tmp/x /tmp/news512.en; done
step beams-1 30 tools/gpu-kernels build/attend translate --model runs/news-en-de --device cuda --dtype bf16 --beams 4 --batch 1 --output /tmp/x /tmp/news60.en
for i in 1 2; do TIMEFORMAT="beams-1 %R s"; time build/attend translate --model runs/news-en-de --device cuda --dtype bf16 --beams 4 --batch 1 --output /tmp/x /tmp/news60.en; done
TIMEFORMAT="one line %R s"; time build/attend translate --model runs/news-en-de --device cuda --dtype bf16 --beams 4 --output /tmp/x /tmp/lines.txt
unset GPU_KERNELS_MS
$B/gpt2_generation --write /tmp/gpt2 > /dev/null 2>&1
step profile-gpt2 25 tools/gpu-kernels $B/gpt2_generation --model /tmp/gpt2 --device cuda --dtype bf16 --batch 64 --prompt 16 --tokens 128 --reps 5 --search
step sanitize 60 compute-sanitizer --tool memcheck --error-exitcode 9 $D --gtest_filter='*SingleStep*' --gtest_brief=1
echo "=== all ended at $((SECONDS - start)) s"

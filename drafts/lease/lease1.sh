#!/usr/bin/env bash
# Lease 1: build, kernels of decoding steps, norms, and the tables of vision beside torch.
start=$SECONDS
LIMIT=${LIMIT:-575}
left() { echo $((LIMIT - (SECONDS - start))); }
exec > >(tee -a "$OUT/log.txt") 2>&1
step() {  # NAME MOST COMMAND..
  local name=$1 most=$2 l; shift 2
  l=$(left)
  if [ "$l" -lt 12 ]; then echo "=== $name: no time"; return; fi
  [ "$most" -lt "$l" ] || most=$l
  echo "=== $name (at $((SECONDS - start)) s, at most $most)"
  timeout --signal TERM --kill-after 5 "$most" "$@" 2>&1 | grep -v -i -E "warning|warn\(|^  *warnings|UserWarning"
  echo "=== $name ended ${PIPESTATUS[0]} at $((SECONDS - start)) s"
}
nvidia-smi --query-gpu=name,clocks.sm,memory.used --format=csv,noheader; nproc
export PYTHONUNBUFFERED=1 TORCHINDUCTOR_CACHE_DIR=/tmp/inductor TOKENIZERS_PARALLELISM=false
printf '#!/bin/sh\necho 1.0\n' > /tmp/fake && chmod +x /tmp/fake
cmake -S . -B build-gpu -G Ninja -DATTEND_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90a-real > /tmp/configure.log 2>&1 || tail -20 /tmp/configure.log
(cmake --build build-gpu -j 16 --target all bench -- -k 0 > /tmp/build.log 2>&1; echo "build ended $? at $((SECONDS - start)) s"; grep -E "error|FAILED" /tmp/build.log | head -20) &
build=$!
for m in vit-b16 swin-t resnet-50; do (timeout 250 python3 bench/vision.py /tmp/fake --models $m --rounds 1 --reps 1 > /tmp/warm-$m.log 2>&1; echo "warm $m $? at $((SECONDS - start)) s") & w="$w $!"; done
(timeout 200 python3 bench/detection.py /tmp/fake --rounds 1 --reps 1 > /tmp/warm-det.log 2>&1; echo "warm det $? at $((SECONDS - start)) s") & w="$w $!"
(timeout 200 python3 bench/drawing.py /tmp/fake --rounds 1 --reps 1 > /tmp/warm-draw.log 2>&1; echo "warm draw $? at $((SECONDS - start)) s") & w="$w $!"
wait $build
B=build-gpu/bench
test_of() { find build-gpu -name "$1" -type f -executable | head -1; }
step race 60 $B/cuda_kernels race
step phases 40 $B/cuda_kernels phases
step decode_test 60 $(test_of decode_test) --gtest_filter='*SingleStep*:*Likeliest*' --gtest_brief=1
step ops_norm 60 $(test_of ops_test) --gtest_filter='Gpu*:*Cuda*' --gtest_brief=1
step gpu_norm_check 30 $B/gpu_norm --check
wait $w
tail -n 3 /tmp/warm-*.log | cut -c1-200
step vision 230 python3 bench/vision.py $B/vision --rounds 3 --reps 20
step detection 90 python3 bench/detection.py $B/detection --rounds 3 --reps 10
step gpu_norm 30 $B/gpu_norm
step drawing 60 python3 bench/drawing.py $B/drawing --rounds 3
step choices 30 $B/cuda_kernels choices steps
strip -o /tmp/attend build-gpu/attend && xz -T0 -1 -c /tmp/attend > $OUT/attend.xz; ls -la $OUT /tmp/attend
echo "=== all ended at $((SECONDS - start)) s"

#!/usr/bin/env bash
# Call 1: images a second and kernels of each recipe while the rest builds, then decoding and serving beside torch.
LIMIT=${LIMIT:-470}
G=$PWD/.gpuA
. $G/s/common.sh
nvidia-smi --query-gpu=name,memory.total --format=csv,noheader; which nvidia-cuda-mps-control; nproc
mkdir -p /tmp/w && cd /tmp/w || exit 1
tar xJf $G/a/src.tar.xz & u1=$!
tar xJf $G/a/attend.tar.xz -C /tmp & u2=$!
(mkdir -p /tmp/d; cp $G/a/cifar10-jpg.tar.xz /tmp/d/) & u3=$!
mkdir -p models; tar xJf $G/a/vit-cifar10.tar.xz -C models
wait $u1 $u2 $u3
tar xJf $G/a/tokenizers.tar.xz -C /tmp
python3 tools/unpack-data /tmp/d > /tmp/unpack.log 2>&1
ls .data
cat > /tmp/run-attend <<'R'
#!/bin/sh
LD_LIBRARY_PATH=/tmp/lib:/usr/local/cuda/lib64:/usr/local/cuda/lib:/usr/local/cuda/targets/x86_64-linux/lib exec /tmp/attend "$@"
R
chmod +x /tmp/run-attend
A=/tmp/run-attend
$A --version || A=
echo "unpacked at $((SECONDS - start)) s"
cmake -S . -B build -G Ninja -DATTEND_CUDA=ON -DATTEND_WERROR=ON -DCMAKE_CUDA_ARCHITECTURES=90a-real > /tmp/configure.log 2>&1 || tail -20 /tmp/configure.log
if [ -z "$A" ]; then echo "carried attend does not run"; cmake --build build -j 18 --target attend > /tmp/build0.log 2>&1; A=build/attend; fi
(nice -n 15 cmake --build build -j 11 --target attend bench_load bench_gpt2_generation bench_translation_decoding bench_vision -- -k 0 > /tmp/build.log 2>&1; echo "build ended $? at $((SECONDS - start)) s"; grep -E "error|FAILED" /tmp/build.log | head -20) & b=$!
for c in .data/cifar10/test/*/; do mkdir -p /tmp/tiny/$(basename $c); ls $c | head -10 | while read f; do cp $c/$f /tmp/tiny/$(basename $c)/; done; done
probe() {  # NAME RECIPE FLAGS..
  local n=$1 r=$2; shift 2
  step "probe $n" 40 $A train recipes/$r.json --device cuda --minutes 0.17 --log-every 25 --valid /tmp/tiny --validate-every 1000000 --save-every 1000000 --out /tmp/p/$n "$@" > $OUT/probe-$n.txt 2>&1
  python3 - $n <<'P'
import json, sys, statistics
try:
    log=[json.loads(l) for l in open(f'/tmp/p/{sys.argv[1]}/log.jsonl')]
    r=[l for l in log if 'images_per_second' in l]
    print('PROBE', sys.argv[1], 'images/s', [round(x['images_per_second']) for x in r[-8:]], 'step', r[-1]['step'], 'loss', round(r[-1].get('loss',0),3), flush=True)
except Exception as e: print('PROBE', sys.argv[1], 'no log', e)
P
}
profile() {  # NAME RECIPE FLAGS..
  local n=$1 r=$2; shift 2
  GPU_KERNELS_MS=4000 step "profile $n" 40 tools/gpu-kernels $A train recipes/$r.json --device cuda --minutes 0.13 --log-every 25 --valid /tmp/tiny --validate-every 1000000 --save-every 1000000 --out /tmp/q/$n "$@" > $OUT/profile-$n.txt 2>&1
  grep -v -E '^\s*$' $OUT/profile-$n.txt | tail -n 30 | cut -c1-150
}
for r in vit cct swin mvit; do probe $r $r-cifar10; done
probe wide cifar10-wide
probe cnn cifar10-cnn
probe distilled vit-cifar10 --batch 512
probe sagan sagan-augmented-cifar10 
if which nvidia-cuda-mps-control; then
  export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps; mkdir -p /tmp/mps
  nvidia-cuda-mps-control -d && {
    probe mps-vit vit-cifar10 & p1=$!; probe mps-cct cct-cifar10 & p2=$!; probe mps-swin swin-cifar10 & p3=$!
    wait $p1 $p2 $p3; cat /tmp/mps/*.log | tail -5; echo quit | nvidia-cuda-mps-control; }
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
fi
for r in swin mvit cct vit; do profile $r $r-cifar10; done
profile wide cifar10-wide
wait $b
B=build/bench
step generation 100 python3 bench/gpt2_generation.py $B/gpt2_generation --device cuda --batches 1 64 --rounds 3 --peers reduce-overhead
step serve 90 python3 bench/serve_load.py --program build/attend --load $B/load --bench $B/gpt2_generation --tokenizer $(find /tmp -name tokenizer.json -path '*gpt2*' | head -1) --seconds 3 --rounds 2 --clients 1 16 --how reduce-overhead
mkdir -p /tmp/base
tar xJf $G/a/en-fr.tar.xz -C models
PYTHONPATH=bench python3 - <<'P'
import pathlib
from translation_decoding import special_tokens, VOCABULARY, write_base
m = pathlib.Path('models/en-fr'); s = special_tokens(m, VOCABULARY)
write_base(m, pathlib.Path('/tmp/base'), [s["end"], *s["suppressed"]])
P
for i in 1 2; do for set in "4 1 40" "1 16 256" "4 64 512" "4 16 128"; do set -- $set
  echo "beams $1 batch $2 lines $3"; $B/translation_decoding --model /tmp/base --input $G/a/news512.en --sentences $3 --beams $1 --batch $2 --device cuda --dtype bf16 --threads 8 --reps 4
done; done
echo "=== all ended at $((SECONDS - start)) s"

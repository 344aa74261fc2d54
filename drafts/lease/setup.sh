# Unpacks what was carried; $A is the program then.
nvidia-smi --query-gpu=name --format=csv,noheader
mkdir -p /tmp/w && cd /tmp/w || exit 1
tar xJf $G/a/src.tar.xz & u1=$!
tar xJf $G/a/attend.tar.xz -C /tmp & u2=$!
mkdir -p models; tar xJf $G/a/vit-cifar10.tar.xz -C models
wait $u1 $u2
python3 tools/unpack-data $G/a > /tmp/unpack.log 2>&1
ls .data
for p in attend ops_test; do
cat > /tmp/run-$p <<R
#!/bin/sh
LD_LIBRARY_PATH=/tmp/lib:/usr/local/cuda/lib64:/usr/local/cuda/lib:/usr/local/cuda/targets/x86_64-linux/lib exec /tmp/$p "\$@"
R
chmod +x /tmp/run-$p
done
A=/tmp/run-attend
$A --version || exit 1
echo "unpacked at $((SECONDS - start)) s"

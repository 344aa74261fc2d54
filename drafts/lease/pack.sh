#!/bin/bash
# packs the program, its libraries and the source for a call
cd "$(git rev-parse --show-toplevel)"
rm -rf /tmp/pk; mkdir -p /tmp/pk/lib; strip -o /tmp/pk/attend build-gpu/attend
strip -o /tmp/pk/ops_test build-gpu/tests/ops_test
for l in libjpeg.so.62 libwebp.so.7 libfmt.so.9 libpng16.so.16; do cp -L /lib/x86_64-linux-gnu/$l /tmp/pk/lib/; done
[ -f /usr/lib/x86_64-linux-gnu/libsharpyuv.so.0 ] && cp -L /usr/lib/x86_64-linux-gnu/libsharpyuv.so.0 /tmp/pk/lib/
tar cf - -C /tmp/pk . | xz -T2 -6 > .gpu/a/attend.tar.xz
git archive HEAD $(ls -A | grep -v -E '^(models|.git|.gpu|build.*|.data|node_modules|runs|.deps)$') | xz -T2 -6 > .gpu/a/src.tar.xz
ls -la .gpu/a

start=$SECONDS
left() { echo $((LIMIT - (SECONDS - start))); }
exec >> "$OUT/log.txt" 2>&1  # never a process substitution: "wait" without names waits for it, too
step() {  # NAME MOST COMMAND..
  local name=$1 most=$2 l; shift 2
  l=$(left)
  if [ "$l" -lt 10 ]; then echo "=== $name: no time"; return; fi
  [ "$most" -lt "$l" ] || most=$l
  echo "=== $name (at $((SECONDS - start)) s, at most $most)"
  timeout --signal TERM --kill-after 5 "$most" "$@" 2>&1 | grep -v -i -E "warning|warn\(|UserWarning|convert_frame"
  echo "=== $name ended ${PIPESTATUS[0]} at $((SECONDS - start)) s"
}
export PYTHONUNBUFFERED=1 TORCHINDUCTOR_CACHE_DIR=/tmp/inductor TOKENIZERS_PARALLELISM=false

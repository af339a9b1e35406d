#!/bin/sh
# Takes the smallest set of inputs that reaches the same code into fuzz/corpus,
# next to the seeds. Inputs above 4 KB stay out: the corpora are in the
# repository and must stay small (under 1 MB together).
#
#   fuzz/minimise.sh [TARGET]...
set -eu
cd "$(dirname "$0")"
all="container ftrace pmgraph klog tracedat perfetto capture_file udev board any"
for target in ${*:-$all}; do
    [ -d "target/corpus/$target" ] || continue
    work=target/minimised/$target
    rm -rf "$work"
    mkdir -p "$work" target/small
    rm -rf "target/small/$target"
    mkdir -p "target/small/$target"
    find "target/corpus/$target" -type f -size -5k -print0 |
        xargs -0 -r cp -t "target/small/$target"
    # Sorting by size is libFuzzer's own: small inputs win.
    cargo +nightly fuzz run --fuzz-dir . --sanitizer none "$target" "$work" \
        "corpus/$target" "target/small/$target" -- -merge=1 >"target/$target.merge.log" 2>&1
    find "corpus/$target" -type f ! -name 'seed-*' ! -name 'found-*' -delete
    # 80 of them, spread over all sizes, are plenty for a replay.
    count=$(find "$work" -type f -size -5k | wc -l)
    find "$work" -type f -size -5k -printf '%s %f\n' | sort -n |
        awk -v step=$((count / 80 + 1)) 'NR % step == 0' |
        while read -r _ name; do
            cp "$work/$name" "corpus/$target/"
        done
    # What the seeds already are need not be there twice.
    for f in "corpus/$target"/*; do
        case $f in */seed-*) continue ;; esac
        for s in "corpus/$target"/seed-*; do
            if cmp -s "$f" "$s"; then rm -f "$f" && break; fi
        done
    done
    printf '%-14s %4s files %8s bytes\n' "$target" "$(find "corpus/$target" -type f | wc -l)" \
        "$(find "corpus/$target" -type f -printf '%s\n' | awk '{n+=$1} END {print n+0}')"
done

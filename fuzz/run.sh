#!/bin/sh
# Fuzzes every reader and prints what each run did.
#
#   fuzz/run.sh [MINUTES] [TARGET]...     default: 1 minute each, all targets
#   RUNS=10000000 fuzz/run.sh 30 ftrace   at most so many executions
#   MAX_LEN=384 fuzz/run.sh 30            short inputs: many more executions
#
# What is found goes to fuzz/artifacts/TARGET; new inputs worth keeping to
# fuzz/target/corpus/TARGET, from where `fuzz/minimise.sh` takes the smallest
# set into fuzz/corpus. Needs the nightly toolchain and cargo-fuzz.
set -eu
cd "$(dirname "$0")"

minutes=${1:-1}
[ $# -eq 0 ] || shift
all="container ftrace pmgraph klog tracedat perfetto capture_file udev board any idle domains storage dtb"
targets=${*:-$all}

if ! cargo fuzz --version >/dev/null 2>&1; then
    echo "fuzz: cargo-fuzz is missing. Run: cargo install cargo-fuzz" >&2
    exit 1
fi

# No sanitizer: the readers have no unsafe code, and executions are worth more.
cargo +nightly fuzz build --fuzz-dir . --sanitizer none >&2

limits() {
    case ${MAX_LEN:+set}$1 in
    set*) echo "-max_len=$MAX_LEN" ;;
    tracedat | any | capture_file) echo "-max_len=24576" ;;
    *) echo "-max_len=8192" ;;
    esac
    case $1 in
    tracedat | perfetto) echo "-dict=dictionaries/$1.dict" ;;
    ftrace | klog | pmgraph | idle | domains | storage) echo "-dict=dictionaries/text.dict" ;;
    esac
}

found=0
printf '%-14s %12s %9s %9s %9s %8s\n' target executions seconds per_second coverage crashes
for target in $targets; do
    mkdir -p "target/corpus/$target" "artifacts/$target"
    log=target/$target.log
    # shellcheck disable=SC2046
    if ! cargo +nightly fuzz run --fuzz-dir . --sanitizer none "$target" \
        "target/corpus/$target" "corpus/$target" -- \
        -max_total_time=$((minutes * 60)) ${RUNS:+-runs=$RUNS} \
        -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
        $(limits "$target") >"$log" 2>&1; then
        found=1
    fi
    # A run that found something prints no final line of its own.
    sed -n 's/^#\([0-9]*\)[^c]*cov: \([0-9]*\).*/\1 \2/p' "$log" | tail -1 >"$log.last"
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -1)
    seconds=$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$log" | tail -1)
    read -r last coverage <"$log.last" || { last=0 coverage=0; }
    crashes=$(find "artifacts/$target" -type f | wc -l)
    runs=${runs:-$last}
    printf '%-14s %12s %9s %9s %9s %8s\n' "$target" "$runs" "${seconds:--}" \
        "$([ -n "$seconds" ] && [ "$seconds" -gt 0 ] && echo $((runs / seconds)) || echo -)" \
        "$coverage" "$crashes"
done
exit $found

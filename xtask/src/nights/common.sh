# What every script of these guests has: sourced by none, put before each.
PATH=/usr/local/bin:$PATH
folder=/var/lib/dormouse
db=$folder/history.db
unit=/etc/systemd/system/dormouse-history.service
echo 0 >/sys/kernel/debug/dormouse/wake_ns
install -m 755 /usr/bin/dormouse /usr/local/bin/dormouse
rm /usr/bin/dormouse
say() { echo "@@ $*"; }
tries() { echo $(($(cat /sys/power/suspend_stats/success) + $(cat /sys/power/suspend_stats/fail))); }
# A natural sleep of so many seconds, ended by the alarm of the clock; awake for so many behind it.
asleep() {
    local before
    before=$(tries)
    rtcwake -m no -s "$1" >/dev/null
    until systemctl suspend 2>/dev/null; do sleep 0.1; done
    until [ "$(tries)" != "$before" ]; do sleep 0.2; done
    sleep "$2"
}
# What systemd wrote of the hooks since it was asked last.
hooks() {
    journalctl --sync
    journalctl -b -u dormouse-history -o short-monotonic --no-pager --cursor-file=/run/hooks | sed 's/^/unit /'
}
# The screen and the document, a line each.
look() {
    timeout 60 dormouse watch >/run/screen 2>&1
    echo "exit $?"
    echo "screen $(tr '\n' ' ' </run/screen)"
    echo "json $(timeout 60 dormouse watch --json 2>/dev/null | tr -d '\n')"
    echo "files $(cd $folder 2>/dev/null && echo *)"
    echo "bytes $(stat -c %s $db 2>/dev/null)"
}
# Microseconds of a program, by the guest's clock.
took() {
    local name=$1 from=${EPOCHREALTIME/./}
    shift
    "$@" >/dev/null 2>&1
    echo "took $name $((${EPOCHREALTIME/./} - from))"
}

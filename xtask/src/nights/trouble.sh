# Trouble, each in its own sleep: those that are named.
insmod /usr/bin/dormouse_battery.ko line=8 || exit 1
first=1735768800
for i in $(seq 0 $((PAST - 1))); do
    at=$((first + i * 86400))
    TZ=UTC printf '%(%FT%T)T+0000 host kernel: PM: suspend entry (s2idle)\n' $at
    TZ=UTC printf '%(%FT%T)T+0000 host kernel: PM: suspend exit\n' $((at + 3000))
done >/run/past.log
dormouse watch --install --yes >/dev/null
# A history of its own, with sleeps of a log; on a disk of so much room, if any is said.
fresh() {
    umount $folder 2>/dev/null
    if [ -d $unit.d ]; then
        rm -r $unit.d
        systemctl daemon-reload
    fi
    [ -L $folder ] && rm $folder
    rm -rf $folder /run/dormouse-history
    mkdir -m 700 $folder
    [ -z "$1" ] || mount -t tmpfs -o size=$1,mode=700 tmpfs $folder
    dormouse watch --past /run/past.log >/dev/null
    size=$(stat -c %s $db)
    hooks >/dev/null
    say $name
}
noise() { dd if=/dev/urandom of=$db bs=1 seek=$1 count=$2 conv=notrunc 2>/dev/null; }
# What the unit runs instead, before and after.
instead() {
    mkdir -p $unit.d
    printf '[Service]\n%s=\n%s=-/bin/sh -c '"'%s'"'\n' "$1" "$1" "$2" >>$unit.d/trouble.conf
    systemctl daemon-reload
}
slept() {
    asleep 60 5
    hooks
    look
}
# Kills what is told after so long. The second process of a hook goes too.
killed() { echo "$1 & sleep $2; for p in /proc/[0-9]*; do read -r c <\$\$p/comm; [ \"\$\$c\" = dormouse ] && kill -9 \$\${p#/proc/}; done 2>/dev/null; wait"; }
for name in $TROUBLES; do
    case $name in
    none) fresh; slept ;;
    full)
        fresh 300k
        head -c 10M /dev/zero >$folder/fill 2>/dev/null
        slept
        rm $folder/fill
        say full-mended; look
        ;;
    read-only)
        fresh 1M
        mount -o remount,ro $folder
        slept
        mount -o remount,rw $folder
        say read-only-mended; look
        ;;
    head) fresh; noise 0 100; slept ;;
    first-page) fresh; noise 0 4096; slept ;;
    middle) fresh; noise $((size / 2)) 8192; slept ;;
    emptied) fresh; truncate -s 0 $db; slept ;;
    halved) fresh; truncate -s $((size / 2)) $db; slept ;;
    journal)
        fresh
        head -c 5000 /dev/urandom >$db-journal
        head -c 5000 /dev/urandom >$db-wal
        head -c 32768 /dev/urandom >$db-shm
        slept
        ;;
    clock) fresh; asleep 60 5; date -s "@$(($(date +%s) - 86400))" >/dev/null; hooks >/dev/null; slept ;;
    link)
        fresh
        mv $db /srv/kept.db
        echo mine >/srv/victim
        ln -s /srv/victim $db
        slept
        echo "victim $(cat /srv/victim)"
        mv /srv/kept.db $db
        say link-mended; look
        ;;
    folder-link)
        fresh
        mv $folder /srv/kept
        mkdir -m 755 /srv/victims
        ln -s /srv/victims $folder
        slept
        echo "victim $(stat -c %a /srv/victims) $(ls -A /srv/victims | wc -l)"
        rm $folder
        mv /srv/kept $folder
        say folder-link-mended; look
        ;;
    two)
        fresh
        instead ExecStart 'dormouse watch --before & dormouse watch --before & wait'
        instead ExecStop 'dormouse watch --after & dormouse watch --after & wait'
        slept
        ;;
    killed-after-*)
        fresh
        instead ExecStop "$(killed 'dormouse watch --after' 0.0${name##*-})"
        asleep 60 5
        rm -r $unit.d
        systemctl daemon-reload
        hooks >/dev/null
        slept
        ;;
    killed-before-*)
        fresh
        instead ExecStart "$(killed 'dormouse watch --before' 0.0${name##*-})"
        asleep 60 5
        rm -r $unit.d
        systemctl daemon-reload
        hooks >/dev/null
        slept
        ;;
    esac
done

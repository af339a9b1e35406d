# Drains that are planted: GROUPS says for each the gauge, its step and what is left when full;
# then lines of "before after hours charger", a sleep each. The hooks are called as units call them.
while read -r gauge step full count; do
    rm -rf $folder
    insmod /usr/bin/dormouse_battery.ko line=8 gauge=$gauge step=$step full=$full || exit 1
    at=/sys/module/dormouse_battery/parameters
    for n in $(seq "$count"); do
        read -r before after seconds charger
        echo $before >$at/now
        echo $after >$at/asleep
        echo $charger >$at/online
        dormouse watch --before
        rtcwake -m freeze -s $seconds >/dev/null
        dormouse watch --after
        sleep 1200
    done
    say $gauge-$step
    look
    rmmod dormouse_battery
done <<'END'

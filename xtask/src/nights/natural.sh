# Sleeps as they come, and that nothing of the installation is left.
insmod /usr/bin/dormouse_battery.ko line=8 || exit 1
everything() { find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /lab -o -path /run -o -path /var/log/journal \) -prune -o -print | sort; find /run -name '*dormouse*' | sort; }
everything >/run/before.list
say install
dormouse watch --install --yes >/dev/null
echo "exit $?"
echo "rated $(systemd-analyze security dormouse-history.service --no-pager | tail -n 1)"
took true /bin/true
took true /bin/true
took before dormouse watch --before
took after dormouse watch --after
took before dormouse watch --before
took after dormouse watch --after
rm -f $folder/*
for n in 1 2 3 4 5; do
    say sleep $n
    asleep 3600 5
    hooks
done
say quick
before=$(tries)
rtcwake -m no -s 300 >/dev/null
systemctl suspend
until [ "$(tries)" != "$before" ]; do sleep 0.05; done
asleep 300 20
hooks
say kept
look
echo "slept $(tries)"
say uninstall
dormouse watch --uninstall --yes >/dev/null
echo "exit $?"
everything >/run/after.list
# A folder of links that was there and empty goes too, as systemctl disable does.
diff /run/before.list /run/after.list | grep '^>' | sed 's/^/left /'
systemctl list-units --all --no-pager --plain | grep dormouse | sed 's/^/left /'

#!/usr/bin/env bash
# The first process of a machine of test/harness/machine.ts: it makes the machine's own view of the kernel's file
# systems, says "up", and then takes in processes whose parents have ended.
# boot.sh FOLDER NAME: FOLDER has the files of the machine.
set -e
folder=$1
hostname "$2"
mount --make-rprivate /

# The cgroups, as they are mounted outside: those below the machine's own become the roots here.
cgroups=$(awk '$3 ~ /^cgroup2?$/ { print $2, $3, $4 }' /proc/self/mounts)
mount -t sysfs sysfs /sys
if [ -e "$folder/cgroup2" ]; then
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  # No group with processes of its own may pass controllers on.
  mkdir -p /sys/fs/cgroup/init
  echo $$ >/sys/fs/cgroup/init/cgroup.procs
  for controller in $(cat /sys/fs/cgroup/cgroup.controllers); do
    echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control
  done
else
  mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
  while read -r place type options; do
    mkdir -p "$place"
    if [ "$type" = cgroup2 ]; then
      mount -t cgroup2 cgroup2 "$place"
    else
      mount -t cgroup -o "$(tr , '\n' <<<"$options" | grep -vE '^(rw|ro|relatime|nosuid|nodev|noexec|release_agent=.*|xattr|clone_children)$' | paste -sd, | sed 's/^name=/none,name=/')" cgroup "$place"
    fi
  done <<<"$cgroups"
fi

# What a reboot empties, and what it keeps.
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/netns /run/lock
for place in /var/log /var/lib/kubelet /var/lib/cni /etc/cni /etc/k3ts; do
  mkdir -p "$folder/files$place" "$place"
  mount --bind "$folder/files$place" "$place"
done
mount --bind "$folder/resolv.conf" /etc/resolv.conf
mount --bind "$folder/hosts" /etc/hosts

echo up
exec </dev/null >/dev/null 2>&1
trap : CHLD
while :; do
  sleep infinity &
  wait $!
done

#!/bin/sh
# Probes of the machine and its system.
# shellcheck disable=SC2154  # what facts.sh sets

clock() {
    begin clock || return 0
    body=$(date +%s.%N 2>&1)
    code=$?
    synchronized=no # unless systemd says so, or chrony or another keeps the time
    [ -d "$root/run/systemd/system" ] || synchronized=unknown
    for path in "$root"/run/chrony* "$root"/run/ntp* "$root"/run/openntp* "$root"/run/ptp4l* "$root"/run/phc2sys*; do
        [ ! -e "$path" ] || synchronized=unknown
    done
    [ ! -d "$root/run/systemd/timesync" ] || synchronized=no
    [ ! -e "$root/run/systemd/timesync/synchronized" ] || synchronized=yes
    end $code "$body${nl}synchronized=$synchronized"
}

identity() {
    tell uname uname -a
    file os-release /etc/os-release
    if begin dgx-release; then
        slurp "$root/etc/dgx-release"
        code=$?
        body=$(printf '%s\n' "$body" | sed 's/^\([A-Z_]*SERIAL[A-Z_]*=\).*/\1redacted/')
        end $code "$body"
    fi
    if begin dmi; then
        text=''
        for name in sys_vendor product_name product_version board_name bios_version bios_date; do
            slurp "$root/sys/class/dmi/id/$name" && text=$text$name=$body$nl
        done
        end 0 "${text%"$nl"}"
    fi
    if begin markers; then
        text=''
        [ ! -e "$root/etc/nv_tegra_release" ] || text=${text}tegra$nl
        [ ! -e "$root/etc/nvidia/cx7-hotplug-enabled" ] || text=${text}cx7-hotplug$nl
        [ ! -e "$root/etc/sparkops-lab" ] || text=${text}lab$nl
        end 0 "${text%"$nl"}"
    fi
    tell lscpu lscpu
    if begin id; then
        body=$(ask id ${escalated:+"$person"})
        end $? "$body${nl}home=$HOME"
    fi
    if begin boot; then
        slurp "$root/proc/sys/kernel/random/boot_id" && text=boot_id=$body$nl || text=''
        slurp "$root/proc/uptime" && text=${text}uptime=$body
        end 0 "$text"
    fi
    file machine-id /etc/machine-id
    if begin hostkeys; then
        body=$(has ssh-keygen && cat "$root"/etc/ssh/ssh_host_*.pub 2>/dev/null | ssh-keygen -lf - 2>&1)
        end $? "$body"
    fi
    file cmdline /proc/cmdline
    if begin locale; then
        slurp "$root/etc/default/locale" || body=''
        end 0 "$language$nl$body"
    fi
    if begin avahi; then
        slurp "$root/proc/sys/kernel/hostname" && text="hostname=$body$nl" || text=''
        slurp "$root/run/avahi-daemon/pid" && pid=$body && slurp "$root/proc/$pid/cmdline" && text="${text}daemon=$body"
        end 0 "$text"
    fi
    if begin tools; then
        text=''
        for name in curl dd docker find flock ibdev2netdev ip nvidia-smi setsid sudo timeout; do
            path=$(command -v "$name" 2>/dev/null) && text=$text$name=$path$nl
        done
        end 0 "${text%"$nl"}"
    fi
}

memory() {
    file meminfo /proc/meminfo
    file pressure /proc/pressure/memory
    file buddyinfo /proc/buddyinfo
    file swaps /proc/swaps
    if begin vmstat; then
        body=$(grep -E '^(oom_kill|pswpin|pswpout|allocstall_normal|allocstall_movable) ' "$root/proc/vmstat" 2>&1)
        end $? "$body"
    fi
    tree thermal /sys/class/thermal 'thermal_zone*/type thermal_zone*/temp'
}

software() {
    if begin driver; then
        text=''
        slurp "$root/sys/module/nvidia/version" && text=module=$body$nl
        slurp "$root/proc/driver/nvidia/version" && text=$text$body
        end 0 "$text"
    fi
    tell packages dpkg -l nvidia-driver-580-open 'nvidia-driver-*-open' nvidia-container-toolkit earlyoom docker-ce docker.io containerd.io \
        dgx-spark-mlnx-hotplug nvidia-spark-grub-kho 'linux-image-[0-9]*-nvidia*' 'linux-modules-*nvidia*' \
        'linux-headers-[0-9]*-nvidia*' 'nvidia-dkms-*' 'nvidia-kernel-*' 'libnvidia-compute-*'
    if begin cdi; then
        text=''
        for path in "$root"/etc/cdi/* "$root"/var/run/cdi/* "$root"/run/cdi/*; do
            [ ! -f "$path" ] || text=$text$path$nl
        done
        end 0 "${text%"$nl"}"
    fi
    if begin reboot-required; then
        body=no
        if [ -e "$root/var/run/reboot-required" ]; then
            slurp "$root/var/run/reboot-required.pkgs" || body=''
            body=yes$nl$body
        fi
        end 0 "$body"
    fi
    run earlyoom systemctl is-active earlyoom
    tell default-target readlink "$root/etc/systemd/system/default.target"
}

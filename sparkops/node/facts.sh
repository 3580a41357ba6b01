#!/bin/sh
# One capture of everything sparkops wants to know of a node. Reads only, makes no file, prints no secret.
#
#   facts [--image REF]... [--model ID[@REV]] [--cache DIR] [--deployment NAME] [--sudo] [--only PROBE,PROBE...]
#
# Output: a line `sparkops-facts 1`, then for each probe a line `== NAME EXIT MS BYTES`, BYTES bytes, a newline.
# A probe that hangs costs its limit; slow tools (GPU, Docker) run beside the rest. Probes that would begin after
# SPARKOPS_FACTS_BUDGET seconds are left out, so that a sick node still tells what it could.
# Run through sudo it needs no `--sudo`, and tells of the person behind sudo, not of root.

language="LANG=${LANG-} LC_ALL=${LC_ALL-}"
export LC_ALL=C COLUMNS=400
export PATH="$PATH:/usr/sbin:/sbin:/usr/local/cuda/bin:/usr/local/bin"
exec </dev/null
nl='
'
root=${SPARKOPS_ROOT:-}
limit=${SPARKOPS_PROBE_LIMIT:-10}
budget=${SPARKOPS_FACTS_BUDGET:-40}
person=${USER:-} escalated=''
images='' model='' cache='' deployment='' sudo='' only=''
if [ "${SUDO_USER:-root}" != root ] && [ "$(id -u)" = 0 ]; then
    person=$SUDO_USER escalated=yes
    while IFS=: read -r name _ _ _ _ home _; do
        [ "$name" != "$person" ] || HOME=$home
    done 2>/dev/null <"$root/etc/passwd"
    unset HF_HOME
fi
while [ $# -gt 0 ]; do
    case $1 in
    --image) images=$images$2$nl && shift ;;
    --model) model=$2 && shift ;;
    --cache) cache=$2 && shift ;;
    --deployment) deployment=$2 && shift ;;
    --only) only=$2 && shift ;;
    --sudo) sudo=sudo ;;
    *) echo "facts: unknown option $1" >&2 && exit 2 ;;
    esac
    shift
done
[ -z "$escalated" ] || sudo=''
cache=${cache:-${HF_HOME:-$HOME/.cache/huggingface}}
# shellcheck disable=SC2088
case $cache in '~') cache=$HOME ;; '~/'*) cache=$HOME/${cache#'~/'} ;; esac

# --- frames -------------------------------------------------------------------------------------------------------

hold='' reader=''
if command -v timeout >/dev/null 2>&1; then
    hold="timeout -k 1 $limit" reader="timeout -k 1 $((limit + 2))"
fi

now() {
    read -r t _ 2>/dev/null </proc/uptime || t=0.0
    t=${t%.*}${t#*.}
}
now
began=$t
late='not asked: the probes before it took too long'

begin() {
    case ",$only," in ,, | *",$1,"*) ;; *) return 1 ;; esac
    probe=$1
    now
    start=$t
    [ $(((t - began) / 100)) -lt "$budget" ] || {
        printf '== %s 124 0 %s\n%s\n' "$probe" ${#late} "$late"
        return 1
    }
}

end() {
    now
    printf '== %s %s %s %s\n%s\n' "$probe" "$1" "$(((t - start) * 10))" "${#2}" "$2"
}

# inside a probe that has several parts: `-- EXIT BYTES NAME`
part() {
    printf -- '-- %s %s %s\n%s\n' "$2" "${#3}" "$1" "$3"
}

has() {
    command -v "$1" >/dev/null 2>&1 || {
        echo "$1: not found"
        return 127
    }
}

# replaces the shell that calls it: only as the last thing inside $(...)
ask() {
    has "$1" || exit 127
    # shellcheck disable=SC2086
    exec $hold "$@" 2>&1
}

# also comes back when the command cannot be killed: stuck inside the driver, or running as root
insist() {
    # shellcheck disable=SC2086
    body=$(
        has "$1" || {
            printf '\nexit 127'
            exit
        }
        { { $hold "$@" 2>&1; printf '\nexit %s' $?; } & } | $reader cat
    )
    case ${body##*"$nl"} in
    'exit '*) code=${body##*"$nl"exit } body=${body%"$nl"exit *} ;;
    *) code=124 ;;
    esac
    body=${body%"$nl"}
}

# a folder of a file server that is gone holds whoever looks, the shell too
answers() {
    $hold ls "$1/." >/dev/null 2>&1
    case $? in 124 | 137 | 143) return 1 ;; esac
}

slurp() {
    body=''
    [ -e "$1" ] || { body="${1#"$root"}: not found" && return 1; }
    [ -r "$1" ] || { body="${1#"$root"}: permission denied" && return 1; }
    while IFS= read -r line || [ -n "$line" ]; do
        body=$body$line$nl
    done 2>/dev/null <"$1"
    body=${body%"$nl"}
}

run() {
    begin "$1" || return 0
    shift
    body=$(ask "$@")
    end $? "$body"
}

# the same without a limit, and so at half the processes, for what only asks the kernel
tell() {
    begin "$1" || return 0
    shift
    body=$(has "$1" && exec "$@" 2>&1)
    end $? "$body"
}

file() {
    begin "$1" || return 0
    slurp "$root$2"
    end $? "$body"
}

# many small files at the cost of one process: lines `PATH:CONTENT` below a folder; unreadable ones are left out
tree() {
    begin "$1" || return 0
    base=$root$2
    shift 2
    if cd "$base" 2>/dev/null; then
        # shellcheck disable=SC2068
        body=$(ask grep -Hs '' $@)
        code=$?
        [ $code -gt 2 ] || code=0
    else
        body="${base#"$root"}: not found" code=1
    fi
    cd / || exit
    end $code "$body"
}

redact() {
    [ -n "$1" ] || return 0
    printf '%s\n' "$1" | sed -E \
        -e 's/("[A-Za-z0-9_]*(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS)=)([^"\\]|\\.)*"/\1***"/g' \
        -e 's/(--([a-z-]+-)?(key|token|password|secret)[= ])[^ "\\]+/\1***/g' \
        -e "s/('api_key': )(\\[[^]]*\\]|'[^']*')/\\1'***'/g" \
        -e 's/(^|[^A-Za-z])(hf_[A-Za-z0-9]|sk-[A-Za-z0-9_-])[A-Za-z0-9_-]{23,}/\1***/g' \
        -e 's,(://[^/:@ "]+:)[^]@/ "\\,}]+@,\1***@,g'
}

# --- the system ---------------------------------------------------------------------------------------------------

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
        end 0 "${text%"$nl"}"
    fi
    run lscpu lscpu
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
        body=$(ask grep -E '^(oom_kill|pswpin|pswpout|allocstall_normal|allocstall_movable) ' "$root/proc/vmstat")
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
    run packages dpkg -l nvidia-driver-580-open 'nvidia-driver-*-open' nvidia-container-toolkit earlyoom docker-ce docker.io containerd.io \
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

# --- the network --------------------------------------------------------------------------------------------------

network() {
    run ip-addr ip -j addr
    run routes ip -j route show default
    run ibdev2netdev ibdev2netdev
    tree net /sys/class/net '*/operstate */carrier */mtu */speed */address */phys_port_name */device/vendor'
    if begin infiniband; then
        if cd "$root/sys/class/infiniband" 2>/dev/null; then
            text=''
            for path in */device/net/*; do
                [ ! -e "$path" ] || text=$text$path:$nl
            done
            body=$(
                ask grep -Hs '' ./*/ports/1/state ./*/ports/1/phys_state ./*/ports/1/rate ./*/ports/1/link_layer ./*/fw_ver \
                    ./*/ports/1/gids/[0-9] ./*/ports/1/gids/1[0-5] ./*/ports/1/gid_attrs/types/[0-9] \
                    ./*/ports/1/gid_attrs/types/1[0-5] ./*/ports/1/gid_attrs/ndevs/[0-9] ./*/ports/1/gid_attrs/ndevs/1[0-5]
            )
            code=$?
            [ $code -gt 2 ] || code=0
            body=$text$body
        else
            body='/sys/class/infiniband: not found' code=1
        fi
        cd / || exit
        end $code "$body"
    fi
    if begin dev-infiniband; then
        text=''
        for path in "$root"/dev/infiniband/*; do
            [ ! -e "$path" ] || text=$text${path##*/}$nl
        done
        end 0 "${text%"$nl"}"
    fi
    tree sysctl /proc/sys 'net/ipv4/conf/all/arp_ignore net/ipv4/conf/all/arp_announce net/ipv4/conf/all/rp_filter
        net/ipv4/conf/en*/arp_ignore net/ipv4/conf/en*/arp_announce net/ipv4/conf/en*/rp_filter
        vm/swappiness vm/min_free_kbytes vm/watermark_boost_factor vm/overcommit_memory'
    if begin listeners; then
        # shellcheck disable=SC2086
        insist ${sudo:+sudo -n} ss -ltnpH
        end "$code" "$body"
    fi
    if begin firewall; then
        slurp "$root/etc/ufw/ufw.conf" || body=''
        text=$body
        code=0
        if [ -n "$sudo$escalated" ]; then
            # shellcheck disable=SC2086
            insist ${sudo:+sudo -n} iptables -S
            text=$text$nl$(printf '%s\n' "$body" | grep -E '^-[PA] (INPUT|ufw-(before|user)-input) ' | head -n 60)
        fi
        end "$code" "$text"
    fi
    run nm nmcli -t -f NAME,TYPE,AUTOCONNECT,DEVICE connection show
}

# --- what is ours, and what we may do -----------------------------------------------------------------------------

access() {
    if begin sudo; then
        if [ -n "$escalated" ]; then
            insist sudo -l -U "$person"
            case $body in *'NOPASSWD: ALL'*) text="true 0 $nl$body" ;; *) text="true 1 a password is required$nl$body" ;; esac
            code=127
        else
            insist sudo -n true
            text="true $code $body"
        fi
        if [ "$code" != 0 ] && [ "$code" != 127 ]; then
            insist sudo -n -l
            text=$text$nl$body
        fi
        end 0 "$text"
    fi
    if begin linger; then
        body=no
        [ ! -e "$root/var/lib/systemd/linger/${person:-$(id -un)}" ] || body=yes
        end 0 "$body"
    fi
    if begin logind; then
        body=$(ask grep -hs '^[[:space:]]*RemoveIPC' "$root/etc/systemd/logind.conf" "$root"/etc/systemd/logind.conf.d/*.conf)
        end 0 "$body"
    fi
    if begin caches; then
        body=$(ask stat -c '%u %g %a %n' "$HOME" "$HOME/.cache" "$HOME"/.cache/* "$cache" "$cache/hub" | grep '^[0-9]')
        end 0 "$body"
    fi
}

lock() {
    begin lock || return 0
    path=$root/run/lock/sparkops.lock
    if [ ! -e "$path" ]; then
        end 0 'held no'
        return
    fi
    held=no
    if slurp /proc/locks; then
        case $body in *FLOCK*) inode=$(stat -c %i "$path") ;; *) inode=none ;; esac
        case $body in *"FLOCK  ADVISORY  WRITE "*":$inode "*) held=yes ;; esac
    else
        flock -n -s "$path" true 2>/dev/null || held=yes
    fi
    slurp "$path"
    end 0 "held $held$nl$body"
}

state() {
    begin state || return 0
    ours=$HOME/.local/state/sparkops
    text=$(
        part folder 0 "$ours"
        for path in "$ours"/manifest "$ours"/orphans/*; do
            [ ! -f "$path" ] || { slurp "$path" && part "${path#"$ours"/}" 0 "$(redact "$body")"; }
        done
        for path in "$ours"/key "$ours"/keys/*; do
            [ ! -f "$path" ] || { slurp "$path" && part "${path#"$ours"/}" 0 "$(printf %s "$body" | sha256sum)"; }
        done
        for path in "$ours"/jobs/*/; do
            [ ! -d "$path" ] || job "${path%/}"
        done
    )
    end 0 "$text"
}

job() {
    slurp "$1/pid" && pid=$body || pid=''
    alive=no
    [ -z "$pid" ] || [ ! -d "/proc/$pid" ] || flock -n -s "$1/pid" true 2>/dev/null || alive=yes
    slurp "$1/rc" && rc=$body || rc=''
    slurp "$1/cmd" || body=''
    part "jobs/${1##*/}" 0 "pid=$pid${nl}alive=$alive${nl}rc=$rc${nl}cmd=$(redact "$body")"
}

# our own line of the crontab alone: what else stands there is nobody's business
schedule() {
    begin schedule || return 0
    insist crontab -l ${escalated:+-u "$person"}
    [ "$code" != 0 ] || body=$(printf '%s\n' "$body" | grep 'drop\.sh.* scheduled.*# sparkops: cache schedule')
    ours=$HOME/.local/state/sparkops/cache
    text=$(
        part crontab "$code" "$body"
        [ ! -f "$ours/drop.sh" ] || part script 0 "$(sha256sum "$ours/drop.sh") $(stat -c %Y "$ours/drop.sh")"
        [ ! -f "$ours/log" ] || part log 0 "$(tail -n 1 "$ours/log")"
    )
    end 0 "$text"
}

# --- the model ----------------------------------------------------------------------------------------------------

model() {
    [ -n "$model" ] && begin model || return 0
    body=$(weights)
    end $? "$body"
}

weights() {
    id=${model%@*} revision=''
    case $model in *@*) revision=${model##*@} ;; esac
    case $id in
    /*) folder=$id ;;
    */*) folder=models--${id%%/*}--${id#*/} ;;
    *) folder=models--$id ;;
    esac
    case $id in /*) answers "$id" ;; *) answers "$cache" ;; esac || return 124
    case $folder in
    /*) ;;
    *) if [ -d "$cache/$folder" ]; then folder=$cache/$folder; else folder=$cache/hub/$folder; fi ;;
    esac
    echo "folder $folder"
    for path in "$HOME"/.cache/tiktoken_rs/*; do
        [ ! -s "$path" ] || echo "word ${path##*/}"
    done
    echo words
    [ -e "$folder" ] || { echo absent && return 0; }
    $hold ls "$folder" >/dev/null 2>&1 || { echo "$folder: permission denied" && return 1; }
    for path in "$folder"/refs/*; do
        [ ! -f "$path" ] || { slurp "$path" && echo "ref ${path##*/} $body"; }
    done
    last='' count=0
    for path in "$folder"/snapshots/*/; do
        [ -d "$path" ] || continue
        path=${path%/} last=${path##*/} count=$((count + 1))
        echo "snapshot $last"
    done
    for path in "$folder"/blobs/*.incomplete; do
        [ ! -e "$path" ] || stat -c 'incomplete %s %n' "$path"
    done
    case $id in /*) snapshot=$folder ;; *) chosen || return 0 ;; esac
    echo "revision ${snapshot##*/}"
    cd "$snapshot" || return 1
    $hold find -L . -type f -exec stat -L -c 'file %s %n' {} +
    $hold find -L . -type l -exec printf 'broken 0 %s\n' {} +
    $hold grep -ohs '"[^"]*\.\(safetensors\|bin\)"' ./*.safetensors.index.json ./*.bin.index.json |
        sort -u | sed 's/^"\(.*\)"$/needs 0 \1/'
    return 0
}

# the snapshot that a server would load: the asked revision, else main, else the only one
chosen() {
    snapshot=$folder/snapshots/${revision:-main}
    if [ -f "$folder/refs/${revision:-main}" ]; then
        slurp "$folder/refs/${revision:-main}" && snapshot=$folder/snapshots/$body
    elif [ -z "$revision" ] && [ "$count" = 1 ]; then
        snapshot=$folder/snapshots/$last
    fi
    [ -d "$snapshot" ]
}

# --- Docker -------------------------------------------------------------------------------------------------------

engine() {
    insist ${sudo:+"$sudo" -n} docker "$@"
}

# one Docker probe; after the engine failed to answer, all others tell the same without asking again
docked() {
    begin "$1" || return 0
    shift
    if [ "$refused" = 0 ]; then
        engine "$@"
        body=$(redact "$body")
    else
        code=$refused body=$refusal
    fi
    end "$code" "$body"
}

docker_probes() {
    refused=0
    if begin docker-version; then
        engine version --format '{{json .}}'
        end "$code" "$body"
        refused=$code refusal=$body
    fi
    docked docker-info info --format '{{json .}}'
    info=$body
    docked docker-ps ps -a --no-trunc --format '{{json .}}'
    listed=$body
    [ "$refused" = 0 ] || listed=''
    ours='' strangers='' names=''
    while IFS= read -r line; do
        case $line in '{'*'"ID":"'*) ;; *) continue ;; esac
        id=${line#*'"ID":"'} name=${line#*'"Names":"'}
        id=${id%%'"'*} name=${name%%'"'*}
        case $line in
        *sparkops.schema=*)
            ours="$ours $id"
            case $line in *"sparkops.deployment=$deployment"*) names="$names $name" ;; esac
            ;;
        *'"State":"running"'*) strangers="$strangers $id" ;;
        esac
    done <<LISTED
$listed
LISTED
    # shellcheck disable=SC2086
    [ -z "$ours" ] || docked docker-ours inspect $ours
    # shellcheck disable=SC2086
    [ -z "$strangers" ] || docked docker-strangers inspect \
        --format '{{.Id}} {{json .HostConfig.DeviceRequests}} {{.HostConfig.Runtime}}' $strangers
    if [ -n "$names" ] && begin docker-logs; then
        text=''
        for name in $names; do
            engine logs --tail 5 "$name"
            text=$text$(part "$name" "$code" "$(redact "$body" | cut -c1-2000)")$nl
        done
        end 0 "${text%"$nl"}"
    fi
    if [ -n "$images" ] && begin images; then
        text=''
        while IFS= read -r ref; do
            [ -n "$ref" ] || continue
            code=$refused body=${refusal-}
            [ "$refused" != 0 ] || engine image inspect "$ref"
            text=$text$(part "$ref" "$code" "$(redact "$body")")$nl
        done <<IMAGES
$images
IMAGES
        end 0 "${text%"$nl"}"
    fi
    disk
}

# free space where it will be needed: each path, or the nearest parent that exists
disk() {
    begin disk || return 0
    answers "$cache" || {
        end 124 "$cache"
        return
    }
    case $info in
    *'"DockerRootDir":"'*) folder=${info#*'"DockerRootDir":"'} folder=$root${folder%%'"'*} ;;
    *) folder=$root/var/lib/docker ;;
    esac
    set -- "$HOME" "$cache" "$folder"
    text="home $HOME${nl}cache $cache${nl}docker $folder$nl"
    nearest "$1" && first=$near
    nearest "$2" && second=$near
    nearest "$3" && insist df -P -k "$first" "$second" "$near"
    end "$code" "$text$body"
}

nearest() {
    near=$1
    until [ -e "$near" ] || [ -z "$near" ]; do near=${near%/*}; done
    near=${near:-/}
}

# --- the GPU ------------------------------------------------------------------------------------------------------

smi() {
    if [ "$hung" = 0 ]; then
        insist nvidia-smi "$@"
        case $code in 124 | 137 | 143) hung=$code ;; esac
    else
        code=$hung body='not asked again: nvidia-smi did not answer'
    fi
}

gpu() {
    hung=0
    if begin nvidia-smi; then
        smi --query-gpu=name,compute_cap,driver_version --format=csv,noheader
        end "$code" "$body"
    fi
    if begin gpu-load; then
        smi --query-gpu=clocks.sm,power.draw,utilization.gpu,temperature.gpu,pstate,clocks_event_reasons.active \
            --format=csv,noheader,nounits
        end "$code" "$body"
    fi
    if begin gpu-processes; then
        smi --query-compute-apps=pid,process_name,used_memory --format=csv,noheader
        text=$body
        while IFS=, read -r pid _; do
            case $pid in '' | *[!0-9]*) continue ;; esac
            slurp "$root/proc/$pid/cgroup" && text="$text${nl}cgroup $pid ${body##*"$nl"}"
        done <<PROCESSES
$text
PROCESSES
        end "$code" "$text"
    fi
}

quick_ones() {
    identity
    memory
    software
    network
    access
    lock
    state
    schedule
    model
}

slow_ones_asked() {
    case ",$only," in ,, | *,nvidia-smi,* | *,gpu-* | *,docker-* | *,images,* | *,disk,*) ;; *) return 1 ;; esac
}

echo 'sparkops-facts 1'
clock
# the time that `end` tells passed after the clock was read, however late a crowded machine came to it
now
began=$t
if slow_ones_asked; then
    gpu | {
        docker_probes | {
            quick_ones
            cat
        }
        cat
    }
else
    quick_ones
fi
now
printf '== end 0 %s 0\n\n' $(((t - began) * 10))

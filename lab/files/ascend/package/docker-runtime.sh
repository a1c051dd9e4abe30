#!/bin/bash
# What the simulated Ascend Docker Runtime does on a host. package.conf says which release this is.
# LAB_ROOT: another root directory, for tests.
set -u
umask 027
. ./package.conf
root=${LAB_ROOT:-}
path=/usr/local/Ascend/Ascend-Docker-Runtime
home=$root$path
logs=$root/var/log/ascend-docker-runtime
runfile=$1
shift

log() {
  echo "$1 $2"
  echo "$1 [$(date '+%Y/%m/%d %H:%M:%S')] [uid: $UID] [localhost] [ascend-docker-runtime] $2" >> "$logs/installer.log"
}

fail() {
  log '[ERROR]' "$1"
  exit 1
}

# Whoever owns the root directory is root.
owner=$(stat -c %u:%g "$root/")

# A path and all above it: root's own, no link, and nobody else may write.
check_path() {
  part=$1
  while [ ! -e "$part" ] && [ ! -L "$part" ]; do part=$(dirname "$part"); done
  while [ "$part" != "${root:-/}" ]; do
    if [ -L "$part" ]; then
      echo "[ERROR] $part is soft link"
      return 1
    elif [ "$(stat -c %u:%g "$part")" != "$owner" ]; then
      echo "[ERROR] user or group of $part is not root"
      return 1
    elif [ -n "$(find "$part" -maxdepth 0 -perm /022)" ]; then
      echo "[ERROR] group or other of $part has write permission"
      return 1
    fi
    part=$(dirname "$part")
  done
}

# Who has no terminal is asked for ever, as with the vendor's; the pause spares the processor.
check_eula() {
  [ "$eula" = yes ] || return 0
  echo 'Simulated agreement: there is nothing here to agree to.'
  while true; do
    echo 'Do you accept the EULA to install Ascend-docker-runtime?[Y/N]'
    read -r yn || sleep 0.1
    case ${yn:-} in
      [Yy])
        log '[INFO]' 'user accepted EULA'
        return
        ;;
      [Nn])
        log '[INFO]' 'install cancelled, user declined EULA'
        exit 0
        ;;
    esac
  done
}

check_platform() {
  case $runfile in
    *"$(uname -m)"*) ;;
    *)
      echo "[ERROR] platform($(uname -m)) mismatch for $runfile, please check it"
      fail "$action failed, run package and os not matched in arch"
      ;;
  esac
}

copy_files() {
  cp -f "$root/usr/local/share/lab/simulated-vendor-runtime" "$home/ascend-docker-runtime" \
    || fail "$action failed, the lab's simulated runtime is missing"
  cp -f install.sh package.conf daemon_json.py "$home/script/"
  printf '%s\n' '#!/bin/bash' 'cd "$(dirname "$0")" && exec bash ./install.sh uninstall.sh --uninstall' \
    > "$home/script/uninstall.sh"
  chmod 0550 "$home/ascend-docker-runtime"
  chmod 0500 "$home/script/uninstall.sh"
  printf '%s\n' "version=v$version" "arch=$(uname -m)" os=linux "path=$path" \
    "build=Ascend-docker-runtime_$version-$(uname -m)" a500=n a500a2=n a200=n a200isoc=n a200ia2=n \
    "install-scene=docker" "config-file-path=" "injection-mode=" > "$home/ascend_docker_runtime_install.info"
  chmod 0640 "$home/ascend_docker_runtime_install.info"
}

change_daemon() {
  check_path "$daemon" || fail "$action failed, ${daemon#"$root"} is invalid"
  mkdir -p -m 0750 "${daemon%/*}"
  python3 ./daemon_json.py "$1" "$daemon" "$path/ascend-docker-runtime" || fail "$action failed, daemon_json.py $1"
  log '[INFO]' "${daemon#"$root"} modify success"
}

mkdir -p -m 0750 "$logs"
[ -n "$root" ] || [ "$UID" = 0 ] || fail 'failed, please run with root permission'
daemon=$root/etc/docker/daemon.json
action='' scene=''
for argument; do
  case $argument in
    --install | --uninstall | --upgrade)
      [ "$action" != "${argument#--}" ] || fail "$action failed, '$argument' Repeat parameter!"
      action=${action:-${argument#--}}
      ;;
    --install-scene=docker) scene=docker ;;
    --install-scene=*) fail 'failed, please check the parameter of --install-scene=<scene> (simulated: docker alone)' ;;
    --version)
      echo "ascend-docker-runtime version: $version"
      exit 0
      ;;
    *) fail "failed, unsupported parameters: $argument" ;;
  esac
done

case $action in
  '')
    [ -z "$scene" ] || fail 'failed, only input <install-scene> command.'
    echo "Usage: ./$runfile --install|--uninstall|--upgrade [--install-scene=docker] | --version"
    ;;
  install)
    check_eula
    echo '[INFO] installing ascend-docker-runtime'
    check_platform
    check_path "$home" || fail "install failed, $path is invalid"
    mkdir -p "${home%/*}"
    chmod 0755 "${home%/*}"
    mkdir -p -m 0750 "$home" "$home/script"
    copy_files
    echo "[INFO] install scene is 'docker'."
    change_daemon add
    echo "[INFO] ascend-docker-runtime has been installed in: $path"
    echo '[INFO] please reboot daemon and container engine to take effect'
    log '[INFO]' 'ascend-docker-runtime install success'
    ;;
  upgrade)
    check_eula
    check_platform
    [ -d "$home" ] || fail 'upgrade failed, the specified install path does not exist, stopping upgrading'
    copy_files
    log '[INFO]' 'ascend-docker-runtime upgrade success'
    ;;
  uninstall)
    if [ ! -d "$home" ]; then
      log '[WARNING]' 'uninstall skipping, the specified install path does not exist'
      exit 0
    fi
    [ ! -e "$daemon" ] || change_daemon rm
    rm -rf "${home:?}"
    log '[INFO]' 'ascend-docker-runtime uninstall success'
    ;;
esac

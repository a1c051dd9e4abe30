#!/bin/bash
# What the simulated driver and firmware do on a host. package.conf says which of them this is.
# LAB_ROOT: another root directory, for tests.
set -u
umask 022
. ./package.conf
root=${LAB_ROOT:-}
ascend=$root/usr/local/Ascend
install_info=$root/etc/ascend_install.info
logs=$root/var/log/ascend_seclog
title=${package^}
runfile=$1
shift
all_parameters=$*

log() {
  echo "[$title] [$(date '+%Y-%m-%d %H:%M:%S')] $1" >> "$logs/ascend_install.log"
}

say() {
  echo "[$title] [$(date '+%Y-%m-%d %H:%M:%S')] $1"
  log "$1"
}

ended() {
  echo "$operation root $started 127.0.0.1 $runfile $1 cmdlist=$all_parameters." >> "$logs/operation.log"
  say "[INFO]End time: $(date '+%Y-%m-%d %H:%M:%S')"
}

fail() {
  say "[ERROR]$1"
  ended failed
  exit 1
}

# The value of a key of a file like version.info.
value() {
  sed -n "s/^$2=//p" "$1" 2> /dev/null | head -n 1
}

# Who has no terminal is asked for ever, as with the vendor's; the pause spares the processor.
ask() {
  say "[INFO]$1 do you want to continue?  [y/n] "
  while true; do
    read -r yn || sleep 0.1
    case ${yn:-} in
      y) return ;;
      n) say '[INFO]Stop installation!'; ended failed; exit 0 ;;
      *) echo 'ERR_NO:0x0002;ERR_DES:input error, please input again!' ;;
    esac
  done
}

if [ -z "$root" ] && [ "$(id -u)" -ne 0 ]; then
  echo '[ERROR]ERR_NO:0x0093;ERR_DES:do not have root permission, operation failed, please use root permission!'
  exit 1
fi
mkdir -p "$logs"
chmod 0750 "$logs"
started=$(date '+%Y-%m-%d %H:%M:%S')
operation=Install mode='' quiet='' for_all=no user='' group=''
say "[INFO]Start time: $started"
say '[INFO]LogFile: /var/log/ascend_seclog/ascend_install.log'
say '[INFO]OperationLogFile: /var/log/ascend_seclog/operation.log'
log "[INFO]UserCommand: $runfile $all_parameters"
chmod 0640 "$logs/ascend_install.log"

for argument; do
  case $argument in
    --full | --run | --upgrade | --uninstall | --version)
      [ -z "$mode" ] || fail 'ERR_NO:0x0004;ERR_DES:only support one type: full/run/upgrade, operation failed!'
      mode=${argument#--}
      ;;
    --quiet) quiet=yes ;;
    --force) ;;
    --install-username=*) user=${argument#*=} ;;
    --install-usergroup=*) group=${argument#*=} ;;
    --install-for-all)
      [ "$package" = driver ] || fail "ERR_NO:0x0004;ERR_DES: Unrecognized parameters: $argument"
      for_all=yes
      ;;
    *) fail "ERR_NO:0x0004;ERR_DES: Unrecognized parameters: $argument" ;;
  esac
done

case $mode in
  '') fail 'ERR_NO:0x0004;ERR_DES:param need used with full/run/upgrade.' ;;
  version)
    say "[INFO]$package version :$version"
    exit 0
    ;;
  uninstall)
    operation=Uninstall
    [ -e "$ascend/$package/version.info" ] \
      || fail "ERR_NO:0x0080;ERR_DES:$title package is not installed on this device, uninstall failed"
    rm -rf "${ascend:?}/$package"
    [ "$package" = firmware ] || rm -f "$root/usr/local/bin/npu-smi"
    sed -i "/^${title}_Install_/d" "$install_info" 2> /dev/null
    grep -qs Install_Path_Param "$install_info" || rm -f "$install_info"
    say "[INFO]$title package uninstalled successfully! Reboot needed for uninstallation to take effect!"
    ended success
    exit 0
    ;;
esac

say '[WARNING]Do not power off or restart the system during the installation/upgrade'
if [ -n "$user$group" ]; then
  if [ -z "$user" ] || [ -z "$group" ]; then
    fail 'ERR_NO:0x0004;ERR_DES:Username and usergroup are not specified at the same time.'
  fi
  [ "$mode" != upgrade ] \
    || fail 'ERR_NO:0x0004;ERR_DES:install-username and install-usergroup params need used with full/run.'
fi
user=${user:-$(value "$install_info" UserName)}
user=${user:-HwHiAiUser}
group=${group:-$(value "$install_info" UserGroup)}
group=${group:-HwHiAiUser}
group_entry=$(grep "^$group:" "$root/etc/group") || fail "ERR_NO:0x0091;ERR_DES:$group not exists! Please add $group"
user_entry=$(grep "^$user:" "$root/etc/passwd") || fail "ERR_NO:0x0091;ERR_DES:$user not exists! Please add $user"
if [ "$(echo "$user_entry" | cut -d: -f4)" != "$(echo "$group_entry" | cut -d: -f3)" ]; then
  case ,${group_entry##*:}, in
    *",$user,"*) ;;
    *) fail "ERR_NO:0x0091;ERR_DES:User $user does not belong to group $group" ;;
  esac
fi
say "[INFO]set username and usergroup, $user:$group"

installed=$(value "$ascend/$package/version.info" Version)
driver=$(value "$ascend/driver/version.info" Version)
firmware=$(value "$ascend/firmware/version.info" Version)
if [ "$package" = firmware ]; then
  [ -n "$driver" ] || fail 'ERR_NO:0x0080;ERR_DES:Driver package is not installed on this device, install it first'
else
  missing=''
  for tool in lspci ifconfig; do
    found=''
    for directory in usr/local/sbin usr/local/bin usr/sbin usr/bin sbin bin; do
      [ ! -x "$root/$directory/$tool" ] || found=yes
    done
    [ -n "$found" ] || missing=$missing$tool,
  done
  [ -z "$missing" ] || fail "The list of missing tools: $missing"
  if [ -n "$driver" ] && [ -n "$firmware" ] && [ "$firmware" != "$needs" ]; then
    fail "driver and firmware version relationship check fail: driver $version needs firmware $needs, and $firmware is \
installed. Upgrade the firmware before the driver."
  fi
fi

matching=''
for card in "$root"/sys/bus/pci/devices/*; do
  [ "$(cat "$card/vendor" "$card/device" 2> /dev/null | tr -d '\n')" != "0x19e5$device" ] || matching=yes
done
if [ -z "$matching" ]; then
  say "[WARNING]There is no chip matching the $package package."
  [ -n "$quiet" ] || ask "You are going to install a $package package which does not have a matching chip,"
fi
if [ -n "$installed" ] && [ "$mode" != upgrade ] && [ -z "$quiet" ]; then
  ask "$title package has been installed on the path /usr/local/Ascend, the version is $installed, and the version of \
this package is $version,"
fi

rm -f "$ascend/$package/version.info"
if [ "$package" = driver ]; then
  say '[INFO]driver install type: DKMS'
  if [ ! -d "$root/lib/modules/$(uname -r)/build" ]; then
    say '[ERROR]Dkms install failed, details in : /var/log/ascend_seclog/ascend_install.log.'
    fail 'Failed to install driver package, please retry after uninstall and reboot!'
  fi
  rm -f "$root/usr/local/bin/npu-smi"
  install -D -m 0550 npu-smi "$root/usr/local/bin/npu-smi"
  [ "$for_all" = no ] || chmod 0555 "$root/usr/local/bin/npu-smi"
  [ -n "$root" ] || chgrp "$group" "$root/usr/local/bin/npu-smi"
fi
say '[INFO]upgradePercentage:90%'
mkdir -p "$ascend/$package/script"
cp install.sh package.conf "$ascend/$package/script/"
cat > "$ascend/$package/script/uninstall.sh" << 'END'
#!/bin/bash
cd "$(dirname "$0")" && exec bash ./install.sh uninstall.sh --uninstall "$@"
END
chmod 0500 "$ascend/$package/script/uninstall.sh"
{
  grep -v "^${title}_Install_\|^UserName=\|^UserGroup=" "$install_info" 2> /dev/null
  echo "UserName=$user"
  echo "UserGroup=$group"
  echo "${title}_Install_Type=full"
  echo "${title}_Install_Path_Param=/usr/local/Ascend"
  [ "$package" = firmware ] || printf '%s\n' "Driver_Install_For_All=$for_all" Driver_Install_Mode=normal
} > "$install_info.new"
chmod 0644 "$install_info.new"
mv "$install_info.new" "$install_info"
cp version.info "$ascend/$package/.version.info"
chmod 0444 "$ascend/$package/.version.info"
mv "$ascend/$package/.version.info" "$ascend/$package/version.info"
say '[INFO]upgradePercentage:100%'

result=installed
if [ -n "$installed" ] && [ "$mode" = upgrade ]; then
  operation=Upgrade
  result=upgraded
fi
if [ "$package" = driver ]; then
  say "[INFO]Driver package $result successfully! Reboot needed for installation/upgrade to take effect!"
  ended success
  exit 0
fi
say "[INFO]Firmware package $result successfully! Reboot now or after driver installation for the installation/upgrade \
to take effect."
ended success
# 2: done, and the cards run it after the next start.
[ "$(value "$ascend/.simulated-active/firmware" Version)" = "$version" ] || exit 2

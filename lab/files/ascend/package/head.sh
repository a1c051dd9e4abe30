#!/bin/bash
# Simulated by the lab of inferops.gpustack and not made by Huawei: @NAME@
# It installs placeholders that know nothing of real cards. What follows this script is a tar archive.
{
  skip=@SKIP@ size=@SIZE@ sha256=@SHA256@ title='@TITLE@' verify=@VERIFY@

  check() {
    printf 'Verifying archive integrity...  100%%  '
    found=$(tail -n "+$((skip + 1))" "$0" | sha256sum | cut -c-64)
    if [ "$found" != "$sha256" ]; then
      echo "Error in SHA256 checksums: $found is different from $sha256" >&2
      exit 2
    fi
    echo ' SHA256 checksums are OK. All good.'
  }

  for argument; do
    shift
    case $argument in
      --check) check; exit 0 ;;
      --nox11) ;;
      *) set -- "$@" "$argument" ;;
    esac
  done
  [ "$verify" = no ] || check
  echo "Uncompressing $title  100%  "
  directory=$(mktemp -d "${TMPDIR:-${HOME:-/tmp}}/selfgzXXXXXX") || exit 1
  trap 'rm -rf "$directory"' EXIT
  if [ "$(tail -n "+$((skip + 1))" "$0" | wc -c)" -ne "$size" ] \
    || ! tail -n "+$((skip + 1))" "$0" | tar -x --no-same-owner -f - -C "$directory"; then
    echo "Unable to decompress $0" >&2
    exit 1
  fi
  name=${0##*/}
  cd "$directory" || exit 1
  bash ./install.sh "$name" "$@"
  exit
}

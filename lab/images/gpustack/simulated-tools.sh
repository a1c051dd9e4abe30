#!/bin/sh
# A worker fetches these two tools from the internet at its start unless they are there with the
# recorded versions. The placeholders say what they are and fail, should anything call them.
set -eu
root=$(/opt/gpustack/bin/python -c 'import gpustack, os; print(os.path.dirname(gpustack.__file__))')/third_party/bin
for tool in gguf-parser fastfetch; do
  mkdir -p "$root/$tool"
  printf '#!/bin/sh\necho "simulated %s: a placeholder of the lab" >&2\nexit 1\n' "$tool" > "$root/$tool/$tool"
  chmod 755 "$root/$tool/$tool"
done
printf '{"gguf-parser": "v0.26.4", "fastfetch": "2.25.0.1"}\n' > "$root/versions.json"

"""The variables that name the Ascend installers."""

from __future__ import annotations


def lab_installers(results):
    """Results of `stat` over a mapping, to `{gpustack_ascend_<part>: {file, sha256}}`."""
    return {
        f"gpustack_ascend_{result['item']['key']}": {
            "file": result["stat"]["path"],
            "sha256": result["stat"]["checksum"],
        }
        for result in results
    }


class FilterModule:
    def filters(self):
        return {"lab_installers": lab_installers}

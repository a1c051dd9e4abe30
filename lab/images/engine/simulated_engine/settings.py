"""The SIMULATED_ENGINE_* environment, the only thing here that the real engine does not have."""

from __future__ import annotations

from dataclasses import dataclass

PLATFORMS = ("cuda", "ascend")
FAILURES = ("oom", "slow_start", "fenced_json", "truncated", "busy_429")
# `nightly-main` moves; 0.26 is the newest release its arithmetic in kv_table was checked against.
VERSIONS = {"cuda": "0.25.0", "ascend": "0.26.0"}


class SettingError(Exception):
    pass


@dataclass(frozen=True)
class Settings:
    platform: str = "cuda"
    tokens_per_second: float = 400.0
    speculation_ratio: float = 2.0
    startup_seconds: float = 1.0
    slow_start_seconds: float = 120.0
    kv_tokens_factor: float = 1.0
    fail: str = ""

    @property
    def version(self) -> str:
        return VERSIONS[self.platform]

    @property
    def start_delay(self) -> float:
        return self.slow_start_seconds if self.fail == "slow_start" else self.startup_seconds

    @classmethod
    def from_environment(cls, environment) -> Settings:
        return cls(
            platform=_one_of(environment, "PLATFORM", PLATFORMS, cls.platform),
            tokens_per_second=_number(environment, "TOKENS_PER_SECOND", cls.tokens_per_second, minimum=0.001),
            speculation_ratio=_number(environment, "SPECULATION_RATIO", cls.speculation_ratio, minimum=1.0),
            startup_seconds=_number(environment, "STARTUP_SECONDS", cls.startup_seconds, minimum=0.0),
            slow_start_seconds=_number(environment, "SLOW_START_SECONDS", cls.slow_start_seconds, minimum=0.0),
            kv_tokens_factor=_number(environment, "KV_TOKENS_FACTOR", cls.kv_tokens_factor, minimum=0.001),
            fail=_one_of(environment, "FAIL", ("", *FAILURES), cls.fail),
        )


def _one_of(environment, name, allowed, default):
    value = environment.get("SIMULATED_ENGINE_" + name, default)
    if value not in allowed:
        wanted = ", ".join(choice for choice in allowed if choice)
        raise SettingError(f"SIMULATED_ENGINE_{name}={value!r}: must be one of {wanted}")
    return value


def _number(environment, name, default, minimum):
    text = environment.get("SIMULATED_ENGINE_" + name, str(default))
    try:
        value = float(text)
    except ValueError:
        value = None
    if value is None or not minimum <= value < float("inf"):
        raise SettingError(f"SIMULATED_ENGINE_{name}={text!r}: must be a number of at least {minimum:g}")
    return value

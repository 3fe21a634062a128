"""What the figures were measured on, and whether it was quiet."""

import os
import platform
import re
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

_GIB: Final = 1 << 30
_CPU: Final = Path("/sys/devices/system/cpu/cpu0")
_PACKAGES: Final = ("toolscout", "numpy", "qdrant-edge-py", "qdrant-client", "uvicorn", "fastapi", "orjson")
BUSY_LOAD_PER_CORE: Final = 0.5
"""Of others, before the run: from here on times are noise and only ratios mean something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One machine, as far as it can be read without rights."""

    cpu: str
    cores: int
    """That this process may use."""
    memory_gib: float
    last_cache_mib: float
    """Data below this size is partly read from cache, which flatters every scan alike; 0: not known."""
    governor: str
    """Of the clock frequency; empty where it cannot be read, in a virtual machine for one."""
    system: str
    python: str

    def record(self) -> dict[str, Any]:
        return asdict(self)


def this_machine() -> Machine:
    """Read the machine that runs this."""
    return Machine(
        cpu=_cpu_model(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_gib=round(_memory_bytes() / _GIB, 1),
        last_cache_mib=_last_cache_mib(),
        governor=_read(_CPU / "cpufreq" / "scaling_governor"),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
    )


def load_average() -> float:
    """Processes that ran or waited, mean of the last minute."""
    return round(os.getloadavg()[0], 2)


def busy_warning(load: float, cores: int) -> str:
    """What to say of a machine that others were using before the run; empty where nobody was."""
    if load <= BUSY_LOAD_PER_CORE * cores:
        return ""
    return (
        f"The machine was busy before the run (load {load:.1f} on {cores} cores): times and tail latencies are too "
        "high; ratios of contenders that took turns still hold, less exactly."
    )


def installed_versions() -> dict[str, str]:
    """Of what the product's speed rests on."""
    return {name: found for name in _PACKAGES if (found := version_of(name))}


def version_of(package: str) -> str:
    """The installed version of a distribution, empty where there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _cpu_model() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", _read(Path("/proc/cpuinfo")), re.MULTILINE)
    return found[1].strip() if found else platform.processor() or platform.machine()


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0


def _last_cache_mib() -> float:
    sizes = [_read(index / "size") for index in sorted(_CPU.glob("cache/index*"))]
    kib = [int(size[:-1]) for size in sizes if re.fullmatch(r"\d+K", size)]
    return max(kib, default=0) / 1024


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""

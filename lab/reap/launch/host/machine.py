"""The machine that we are on, as it describes itself."""

import os
import platform
from pathlib import Path

from reap.launch.records import Machine


def describe() -> Machine:
    """Reads /proc and /sys; takes about a millisecond. What cannot be read is left empty."""
    cpu = _text("/proc/cpuinfo")
    return Machine(
        processor=_field(cpu, "model name") or _field(cpu, "Model") or platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        kernel=f"{platform.system()} {platform.release()}",
        system=_system(),
        libc=" ".join(platform.libc_ver()).strip(),
        virtual=_hypervisor(cpu),
        huge_pages=_chosen(_text("/sys/kernel/mm/transparent_hugepage/enabled")),
    )


def nodes() -> int:
    """Number of memory nodes; 1 where the kernel does not say."""
    return max(1, len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))))


def siblings(core: int) -> int:
    """Number of hardware threads of this one's physical core, itself included; 1 where unknown."""
    mask = _text(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings").strip().replace(",", "")
    return max(1, int(mask or "1", 16).bit_count())


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def _field(text: str, name: str) -> str:
    for line in text.splitlines():
        key, separator, value = line.partition(":")
        if separator and key.strip() == name:
            return value.strip()
    return ""


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return ""


def _hypervisor(cpu: str) -> str:
    if "hypervisor" not in _field(cpu, "flags").split():
        return ""
    maker = _text("/sys/class/dmi/id/sys_vendor").strip() or _text("/sys/hypervisor/type").strip()
    return maker or "virtual machine"


def _chosen(text: str) -> str:
    """The word in brackets."""
    return text.partition("[")[2].partition("]")[0]

"""Run a command as on an older kernel: python3 older_kernel.py CMD [ARG ...].

clone3, of Linux 5.3, and the system calls that came after it fail with ENOSYS, by a seccomp filter that the
command's descendants inherit.
"""

import ctypes
import errno
import os
import sys

FIRST = 435
"""The number of clone3, as on every architecture; those added later have larger ones."""

_LOAD_NUMBER, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x35, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _FILTER = 22, 38, 2


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("yes", ctypes.c_ubyte),
        ("no", ctypes.c_ubyte),
        ("k", ctypes.c_uint),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.POINTER(_Instruction)))


def refuse() -> None:
    """Has the kernel refuse newer system calls to this process and its descendants, for ever."""
    code = (_Instruction * 4)(
        _Instruction(_LOAD_NUMBER, 0, 0, 0),
        _Instruction(_JUMP_IF_AT_LEAST, 0, 1, FIRST),
        _Instruction(_RETURN, 0, 0, _ERROR | errno.ENOSYS),
        _Instruction(_RETURN, 0, 0, _ALLOW),
    )
    program = _Program(len(code), code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0:
        return
    # Without CAP_SYS_ADMIN set-user-ID programs have to lose their rights first.
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) != 0:
        sys.exit(f"older_kernel.py: no filter of system calls: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    refuse()
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 (a command line is what it is given)

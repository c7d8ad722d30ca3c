"""What all tests begin with, and how often one whose outcome depends on time or chance is tried.

Where tries are independent, a test that fails by chance once in a hundred runs fails three times in a row
once in a million. But on a busy machine they are not, and a fault that shows only now and then is hidden:
look at each R in the log of a run, and write tests so that they need no second try. `setup/repeat` tries
each once, to see how often chance decides.
"""

import signal

import pytest

_AGAIN = 2

# A shell ignores them for what it runs in the background, nohup one of them; a program inherits that, and a
# shell script cannot trap them.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("reruns") is not None:
        return
    for item in items:
        if item.get_closest_marker("timed") or item.get_closest_marker("verdict"):
            item.add_marker(pytest.mark.flaky(reruns=_AGAIN))

"""Has a process that runs tests for another one tell it half as much: to listen is work as well.

That a test begins, and that it was set up and cleaned up without mistake, nobody is shown who does
not ask for durations or for a file of results.
"""

from _pytest.runner import runtestprotocol


def pytest_runtest_protocol(item, nextitem):
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True

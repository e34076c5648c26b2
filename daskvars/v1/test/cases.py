"""TestCase: a test that begins with a new default graph, and whose sessions end with it."""

from __future__ import annotations

import os
import random
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TextIO

import numpy

from daskvars.execution.config_proto import ConfigProto
from daskvars.execution.eager import EagerTensor
from daskvars.execution.session import Session
from daskvars.graph import nest
from daskvars.graph.graph import Graph
from daskvars.graph.scopes import stacks
from daskvars.graph.scopes.default_graph import get_default_graph, reset_default_graph
from daskvars.graph.sparse_tensor import SparseTensor, SparseTensorValue
from daskvars.surface.signatures import with_arguments_of
from daskvars.v1.test.assertions import Assertions
from daskvars.v1.test.message_texts import assert_same_messages
from daskvars.v1.test.programs import get_temp_dir, gpu_device_name

SEED = 87654321  # TensorFlow's DEFAULT_GRAPH_SEED


class TestCase(Assertions):
    """A test of a program. Each begins with a new default graph and with the same seeds.

    ``with self.session() as sess:`` opens a session, and makes it and its graph the default ones;
    `cached_session` gives one session to all blocks of a test.

    Args:
      methodName: the test's, see ``unittest.TestCase``.

    >>> class SquareTest(tf.test.TestCase):
    ...     def testSquare(self):
    ...         with self.session():
    ...             self.assertAllEqual(tf.square([2, 3]).eval(), [4, 9])
    >>> SquareTest("testSquare").run().wasSuccessful()
    True
    """

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._threads: list[CheckedThread] = []
        self._folder: str | None = None
        self._cached_session: Session | None = None
        self._cached_with: tuple[Any, ...] = ()

    def setUp(self) -> None:
        """Begin with a new default graph, and with the same seeds everywhere."""
        super().setUp()
        self._close_cached_session()
        random.seed(SEED)
        numpy.random.seed(SEED)
        # A test that failed inside a block may have left graphs that it had entered.
        stacks.stacks.builders.clear()
        stacks.stacks.unended.clear()
        reset_default_graph()
        get_default_graph().seed = SEED
        if self._testMethodName == "test_session":  # found by its name, but no test
            self.skipTest("Not a test.")

    def tearDown(self) -> None:
        """Close the session. Fails where a thread of `checkedThread` was not joined."""
        for thread in self._threads:
            thread.check_termination()
        self._close_cached_session()
        super().tearDown()

    def get_temp_dir(self) -> str:
        """Return a folder of this test: the same whenever it asks, another in each run."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(dir=get_temp_dir())
        return self._folder

    # -- sessions ---------------------------------------------------------------------------

    @contextmanager
    def session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """Open a session, and make it and its graph the default ones for the block.

        Args:
          graph: its graph, by default the default graph.
          config: its configuration.
          use_gpu: whether operations may be on GPUs; if not, they are placed on the CPU.
          force_gpu: whether they must be.
        """
        with _opened(graph, config, force_gpu) as session, _as_default(session, use_gpu, force_gpu):
            yield session

    @with_arguments_of(session)
    @contextmanager
    def cached_session(
        self, graph: Graph | None, config: ConfigProto | None, use_gpu: bool, force_gpu: bool
    ) -> Iterator[Session]:
        """As `session`, but all blocks of a test have one session, which the test's end closes.

        Raises:
          ValueError: the session was made with another graph or configuration.
        """
        session = self._session_of_test(graph, config, force_gpu, is_strict=True)
        with _as_default(session, use_gpu, force_gpu):
            yield session

    @with_arguments_of(session)
    @contextmanager
    def test_session(
        self, graph: Graph | None, config: ConfigProto | None, use_gpu: bool, force_gpu: bool
    ) -> Iterator[Session]:
        """Give the session of `cached_session`, whatever it was made with; with a graph, its own.

        It is the older of the three.
        """
        if graph is not None:
            with self.session(graph, config, use_gpu, force_gpu) as own:
                yield own
            return
        session = self._session_of_test(graph, config, force_gpu, is_strict=False)
        with _as_default(session, use_gpu, force_gpu):
            yield session

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of tensors, in the same nesting, by the default session or a new one.

        Eager tensors have theirs.
        """
        if any(isinstance(leaf, EagerTensor) for leaf in nest.flatten(tensors)):
            return nest.map_structure(_eager_value, tensors)
        session = stacks.get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.test_session() as own:
            return own.run(tensors)

    def _session_of_test(
        self, graph: Graph | None, config: ConfigProto | None, force_gpu: bool, is_strict: bool
    ) -> Session:
        wanted = {"graph": graph, "config": config, "force_gpu": force_gpu}
        if self._cached_session is None:
            self._cached_session = _opened(graph, config, force_gpu)
            self._cached_with = tuple(wanted.values())
        for (name, value), had in zip(wanted.items(), self._cached_with, strict=True):
            if is_strict and value is not had:
                raise ValueError(
                    f"The {name} used to get the cached session is different than the one that was "
                    "used to create the session. Maybe create a new session with self.session()"
                )
        return self._cached_session

    def _close_cached_session(self) -> None:
        if self._cached_session is not None:
            self._cached_session.close()
            self._cached_session = None

    # -- threads, streams, messages ---------------------------------------------------------

    def checkedThread(
        self,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> CheckedThread:
        """Return a thread whose failure is the test's. The test must join it.

        Args:
          target: what it calls.
          args: with what.
          kwargs: and with what by name.
        """
        thread = CheckedThread(self, target, args or (), kwargs or {})
        self._threads.append(thread)
        return thread

    @contextmanager
    def captureWritesToStream(self, stream: TextIO) -> Iterator[CapturedWrites]:
        """Give what the block writes to a stream that has a file descriptor: its ``contents()``."""
        stream.flush()
        saved = os.dup(stream.fileno())
        with tempfile.NamedTemporaryFile("w", dir=self.get_temp_dir(), delete=False) as file:
            os.dup2(file.fileno(), stream.fileno())
            try:
                yield CapturedWrites(file.name)
            finally:
                stream.flush()
                os.dup2(saved, stream.fileno())
                os.close(saved)

    def assertProtoEquals(
        self, expected_message_maybe_ascii: Any, message: Any, msg: str | None = None
    ) -> None:
        """Fail unless two messages are equal, numbers to six digits after the point.

        The first may be given as protocol buffers' text.

        Raises:
          TypeError: the first is neither such a message nor a text.
        """
        assert_same_messages(self, expected_message_maybe_ascii, message, msg)


class CapturedWrites:
    """What was written to a stream, in a file."""

    def __init__(self, path: str) -> None:
        self._path = path

    def contents(self) -> str:
        """Return all of it so far."""
        with open(self._path) as file:
            return file.read()


class CheckedThread:
    """A thread whose failure is its test's. See `TestCase.checkedThread`."""

    def __init__(
        self,
        test: TestCase,
        target: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> None:
        self._test = test
        self._error: BaseException | None = None
        self._call = lambda: target(*args, **kwargs)
        self._thread = threading.Thread(target=self._protected)
        self._is_joined = False

    def _protected(self) -> None:
        try:
            self._call()
        except BaseException as error:  # noqa: BLE001 - join raises it
            self._error = error

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def join(self) -> None:
        """Wait for its end. Fails the test where it has failed."""
        self._thread.join()
        self._is_joined = True
        if self._error is not None:
            raise self._test.failureException(
                f"Error in checkedThread: {self._error}"
            ) from self._error

    def is_alive(self) -> bool:
        """Return whether it runs."""
        return self._thread.is_alive()

    def check_termination(self) -> None:
        """Fail the test where nobody has waited for the thread."""
        if self._is_joined:
            return
        if self.is_alive():
            self._test.fail("A checked thread was not joined, and was still running.")
        self._test.fail("A checked thread was not joined.")


def _opened(graph: Graph | None, config: ConfigProto | None, force_gpu: bool) -> Session:
    config = ConfigProto() if config is None else config
    if config.allow_soft_placement == force_gpu:
        copied = ConfigProto()
        copied.CopyFrom(config)
        copied.allow_soft_placement = not force_gpu
        config = copied
    return Session(graph=get_default_graph() if graph is None else graph, config=config)


@contextmanager
def _as_default(session: Session, use_gpu: bool, force_gpu: bool) -> Iterator[None]:
    """Make a session the default one, with its graph, on the devices that are asked for."""
    with ExitStack() as entered:
        entered.enter_context(session.graph.as_default())
        entered.enter_context(session.as_default())
        if force_gpu:
            entered.enter_context(session.graph.device(gpu_device_name() or "/device:GPU:0"))
        elif not use_gpu:
            entered.enter_context(session.graph.device("/device:CPU:0"))
        yield


def _eager_value(leaf: Any) -> Any:
    if isinstance(leaf, SparseTensor):
        return SparseTensorValue(*(part.numpy() for part in leaf))
    return leaf.numpy() if hasattr(leaf, "numpy") else leaf

"""Scopes against a model: strings, dictionaries and nothing else."""

from contextlib import ExitStack

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from daskvars.graph.graph import Graph
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.variables.initializers import Zeros
from daskvars.variables.scopes.variable_scope import (
    AUTO_REUSE,
    get_variable,
    get_variable_scope,
    variable_scope,
)
from daskvars.variables.variable import Variable

NAMES = st.sampled_from(["a", "b", "a/b", "B"])
FLAGS = st.sampled_from([None, None, False, True, AUTO_REUSE])


class Model:
    """What TensorFlow's rules say, in the simplest words."""

    def __init__(self):
        self.taken = set()
        self.shared = {}
        self.counts = {}
        self.frames = [("", False, "", None)]  # scope name, reuse, name scope, counts to restore

    def unique(self, name):
        full, number = name, 0
        while full.lower() in self.taken:
            number += 1
            full = f"{name}_{number}"
        self.taken.add(full.lower())
        return full

    def join(self, prefix, name):
        return f"{prefix}/{name}" if prefix else name

    def open(self, name, reuse):
        scope, outer_reuse, prefix, _ = self.frames[-1]
        full = self.join(scope, name)
        self.counts[full] = self.counts.get(full, 0) + 1
        self.frames.append((full, reuse or outer_reuse, self.unique(self.join(prefix, name)), None))

    def open_default(self, name):
        scope, reuse, prefix, _ = self.frames[-1]
        op_scope = self.unique(self.join(prefix, name))
        unique, number = name, 0
        while self.counts.get(self.join(scope, unique)):
            number += 1
            unique = f"{name}_{number}"
        full = self.join(scope, unique)
        self.counts[full] = self.counts.get(full, 0) + 1
        self.frames.append((full, reuse, op_scope, None))

    def jump(self, name, own_reuse, reuse):
        prefix = self.frames[-1][2]
        last = name.rpartition("/")[2]
        op_scope = self.unique(self.join(prefix, last)) if last else prefix
        self.counts[name] = self.counts.get(name, 0) + 1
        self.frames.append((name, reuse or own_reuse, op_scope, dict(self.counts)))

    def open_names(self, name):
        scope, reuse, prefix, _ = self.frames[-1]
        self.frames.append((scope, reuse, self.unique(self.join(prefix, name)), "names only"))

    def close(self):
        name, _, _, kept = self.frames.pop()
        if isinstance(kept, dict):
            self.counts = kept
        elif kept is None:
            for key in self.counts:
                if key.startswith(f"{name}/"):
                    self.counts[key] = 0

    def reuse_variables(self):
        """The flag belongs to the scope: name scopes opened in it see the change."""
        i = len(self.frames) - 1
        while i and self.frames[i][3] == "names only":
            i -= 1
        for j in range(i, len(self.frames)):
            name, _, prefix, kept = self.frames[j]
            self.frames[j] = (name, True, prefix, kept)

    def get(self, name):
        scope, reuse, _, _ = self.frames[-1]
        full = self.join(scope, name)
        if full in self.shared:
            return ValueError if reuse is False else self.shared[full]
        if reuse is True:
            return ValueError
        self.shared[full] = self.unique(full)
        return self.shared[full]


class Scopes(RuleBasedStateMachine):
    @initialize()
    def begin(self):
        self.stack = ExitStack()
        self.stack.enter_context(Graph().as_default())
        self.open = []
        self.captured = []
        self.objects = {}
        self.model = Model()

    def teardown(self):
        while self.open:
            self.open.pop().close()
        self.stack.close()

    def _enter(self, context):
        stack = ExitStack()
        entered = stack.enter_context(context)
        self.open.append(stack)
        scope, reuse, prefix, _ = self.model.frames[-1]
        assert get_variable_scope().name == scope
        assert get_variable_scope().reuse is reuse
        return entered, prefix

    @rule(name=NAMES, reuse=FLAGS)
    def open_scope(self, name, reuse):
        self.model.open(name, reuse)
        scope, prefix = self._enter(variable_scope(name, reuse=reuse))
        assert scope.original_name_scope == f"{prefix}/"
        self.captured.append(scope)

    @rule(name=NAMES)
    def open_default_scope(self, name):
        self.model.open_default(name)
        self.captured.append(self._enter(variable_scope(None, name))[0])

    @precondition(lambda self: self.captured)
    @rule(data=st.data(), reuse=FLAGS)
    def jump(self, data, reuse):
        scope = data.draw(st.sampled_from(self.captured))
        self.model.jump(scope.name, scope.reuse, reuse)
        self.captured.append(self._enter(variable_scope(scope, reuse=reuse))[0])

    @rule(name=NAMES)
    def open_name_scope(self, name):
        self.model.open_names(name)
        entered, prefix = self._enter(name_scope(name))
        assert entered == f"{prefix}/"

    @precondition(lambda self: self.open)
    @rule(raises=st.booleans())
    def close(self, raises):
        self.model.close()
        stack = self.open.pop()
        stack.__exit__(*((KeyError, KeyError(), None) if raises else (None, None, None)))
        assert get_variable_scope().name == self.model.frames[-1][0]
        assert get_variable_scope().reuse is self.model.frames[-1][1]

    @precondition(lambda self: self.open)
    @rule()
    def switch_to_reuse(self):
        self.model.reuse_variables()
        get_variable_scope().reuse_variables()

    @rule(name=NAMES)
    def get(self, name):
        wanted = self.model.get(name)
        try:
            found = get_variable(name, [1], initializer=Zeros())
        except ValueError:
            assert wanted is ValueError
            return
        assert found.op.name == wanted
        assert self.objects.setdefault(wanted, found) is found

    @rule(name=NAMES)
    def construct(self, name):
        wanted = self.model.unique(self.model.join(self.model.frames[-1][2], name))
        assert Variable([0.0], name=name).op.name == wanted


Scopes.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestScopes = Scopes.TestCase

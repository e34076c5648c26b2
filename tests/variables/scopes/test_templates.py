"""Templates share what their first call made."""

import pytest

from daskvars.ops.array.constant import constant
from daskvars.variables.collections import global_variables
from daskvars.variables.scopes.templates import make_template
from daskvars.variables.scopes.variable_scope import get_variable, variable_scope
from daskvars.variables.variable import Variable


def layer(x=None, name="w", trainable=True):
    return get_variable(name, [1], trainable=trainable)


def names():
    return [v.op.name for v in global_variables()]


def test_calls_share(graph):
    template = make_template("s", layer)
    assert template.variable_scope is None and template.variables == []
    v = template()
    assert template() is v and template(constant(1.0)) is v
    assert names() == ["s/w"] and template.variable_scope_name == "s/"
    assert template.variables == template.trainable_variables == [v]
    assert template.local_variables == [] and template.name == "s"


def test_two_templates_have_scopes_of_their_own(graph):
    first, second = make_template("s", layer), make_template("s", layer)
    assert first() is not second()
    assert names() == ["s/w", "s_1/w"]


def test_a_unique_name_is_taken_as_it_is(graph):
    first = make_template("s", layer, unique_name_="fixed")
    second = make_template("s", layer, unique_name_="fixed")
    first()
    with pytest.raises(ValueError, match="already exists"):
        second()


def test_scope_made_now_or_in_the_first_call(graph):
    now = make_template("s", layer, create_scope_now_=True)
    later = make_template("s", layer)
    with variable_scope("outer"):
        assert later().op.name == "outer/s/w"
        assert now().op.name == "s/w"
        assert now() is now()


def test_fixed_arguments_and_getters(graph):
    def getter(getter, name, *args, **kwargs):
        return getter(f"{name}_got", *args, **kwargs)

    template = make_template("s", layer, custom_getter_=getter, name="kernel")
    assert template().op.name == "s/kernel_got"


def test_a_variable_made_later_is_an_error(graph):
    template = make_template("s", lambda: Variable([1.0], name="v"))
    template()
    with pytest.raises(ValueError, match=r"perhaps you used tf.Variable when you meant"):
        template()
    untrainable = make_template("t", lambda: Variable([1.0], False, name="v"))
    assert untrainable() is not untrainable()


def test_errors_name_the_template(graph):
    def fails():
        raise KeyError("x")

    with pytest.raises(KeyError) as error:
        make_template("s", fails)()
    assert "template 's', made at" in error.value.__notes__[0]
    assert "test_templates.py" in error.value.__notes__[0]
    with pytest.raises(ValueError, match="name cannot be"):
        make_template(None, fails)


def test_lists_of_variables(graph):
    def layer():
        return get_variable("w", [1]), get_variable("u", [1], trainable=False)

    template = make_template("s", layer, create_scope_now_=True)
    Variable([1.0], name="s/before")
    assert template.variables == []
    w, u = template()
    assert template.non_trainable_variables == template.non_trainable_weights == [u]
    assert w in template.trainable_weights and set(template.weights) >= {w, u}
    assert template.var_scope is template.variable_scope


def test_an_empty_name_is_the_scope_around(graph):
    with variable_scope("outer"):
        assert make_template("", layer)().op.name == "outer/w"


def test_nested_templates(graph):
    inner = make_template("inner", layer)
    outer = make_template("outer", lambda: inner())
    assert outer() is outer()
    assert names() == ["outer/inner/w"]

"""What is a provider of a kind, and what is refused with the line to write instead."""

from __future__ import annotations

import functools
from types import ModuleType, SimpleNamespace
from unittest.mock import Mock

import pytest

from trimtab import (
    CompletionCheckerConfig,
    Configuration,
    DecisionPoint,
    FeedbackProviderConfig,
    FeedbackTrigger,
    GuidanceProviderConfig,
    hookimpl,
)
from trimtab.inspection import ProviderInvalid, resolve


def guidance(instance):
    return resolve(GuidanceProviderConfig(instance), Configuration())


def feedback(instance):
    trigger = FeedbackTrigger(every_n_calls=1)
    return resolve(FeedbackProviderConfig(instance, trigger), Configuration())


def completion(instance):
    return resolve(CompletionCheckerConfig(instance), Configuration())


class Guide:
    name = "guide"
    category = "test"

    def classify(self, *, context):
        return context

    def provide(self, *, context):
        return context


class Comment:
    name = "comment"

    def should_run(self, *, context): ...

    def provide(self, *, context): ...


class Check:
    def check(self, context):
        return context


def test_objects_that_satisfy_the_protocols_are_providers():
    assert guidance(Guide()).methods["classify"](context=3) == 3
    assert feedback(Comment()).methods["should_run"].__name__ == "should_run"
    assert completion(Check()).methods["check"](3) == 3


def test_a_checker_without_a_name_goes_by_its_class():
    assert completion(Check()).source.name == "Check"


def test_a_provider_is_asked_everywhere_unless_it_says_where():
    somewhere = Guide()
    somewhere.decision_points = [DecisionPoint.PRE_RESPONSE]

    assert guidance(Guide()).points == frozenset(DecisionPoint)
    assert guidance(somewhere).points == {DecisionPoint.PRE_RESPONSE}
    assert feedback(Comment()).points == frozenset()


def test_a_single_decision_point_will_do_and_anything_else_not():
    one, wrong = Guide(), Guide()
    one.decision_points = DecisionPoint.PRE_RENDER
    wrong.decision_points = ("pre_render",)

    assert guidance(one).points == {DecisionPoint.PRE_RENDER}
    with pytest.raises(ProviderInvalid, match="decision_points of the guidance provider 'guide'"):
        guidance(wrong)


class Marked:
    name = "marked"

    @hookimpl
    def guide_pre_response(self, context):
        return context

    @hookimpl(specname="guide_pre_render")
    def another_name(self, context):
        return context

    @hookimpl
    def give_feedback(self, context):
        return context

    @hookimpl
    async def check_completion(self, context):
        return context

    @hookimpl
    def run_opened(self, context):
        return context


def test_marked_methods_are_found_by_kind_and_those_about_the_run_for_each():
    marked = Marked()

    assert {name: hook(3) for name, hook in guidance(marked).hooks.items()} == {
        "guide_pre_response": 3,
        "guide_pre_render": 3,
        "run_opened": 3,
    }
    assert guidance(marked).points == {DecisionPoint.PRE_RESPONSE, DecisionPoint.PRE_RENDER}
    assert set(feedback(marked).hooks) == {"give_feedback", "run_opened"}
    assert set(completion(marked).hooks) == {"check_completion", "run_opened"}
    assert guidance(marked).methods == {}


def test_a_protocol_object_may_mark_hooks_about_the_run():
    class Both(Guide):
        @hookimpl
        def run_closed(self, context): ...

    assert set(guidance(Both()).hooks) == {"run_closed"}
    assert "classify" in guidance(Both()).methods


def test_functions_of_a_module_and_static_methods_count():
    module = ModuleType("acme_module")
    module.give_feedback = hookimpl(lambda context: "said")

    class Static:
        @staticmethod
        @hookimpl
        def give_feedback(context):
            return "said"

    assert feedback(module).hooks["give_feedback"](None) == "said"
    assert feedback(Static()).hooks["give_feedback"](None) == "said"


def test_an_optional_hook_that_this_trimtab_lacks_is_left_out():
    class Newer(Marked):
        @hookimpl(optionalhook=True)
        def guide_post_mortem(self, context): ...

    assert "guide_post_mortem" not in guidance(Newer()).hooks


def provider(source: str):
    """An instance of the class ``P`` that this source, indented, is the body of."""
    space: dict = {"hookimpl": hookimpl}
    exec("class P:\n name = 'p'\n" + source, space)
    return space["P"]()


HOOK = "guide_pre_render of the guidance provider 'p' "
WRITE = "; write: def guide_pre_render(self, context): …"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            " @hookimpl\n def guide_pre_render(self, *, context): ...",
            f"{HOOK}takes (*, context){WRITE}",
        ),
        (
            " @hookimpl\n def guide_pre_render(self, context=None): ...",
            f"{HOOK}takes (context=None){WRITE}",
        ),
        (
            " @hookimpl\n def guide_pre_render(self, *context): ...",
            f"{HOOK}takes (*context){WRITE}",
        ),
        (
            " @hookimpl\n def guide_pre_render(self, **context): ...",
            f"{HOOK}takes (**context){WRITE}",
        ),
        (" @hookimpl\n def guide_pre_render(self): ...", f"{HOOK}takes (){WRITE}"),
        (" @hookimpl\n def guide_pre_render(self, ctx): ...", f"{HOOK}takes (ctx){WRITE}"),
        (
            " @hookimpl\n def guide_pre_render(self, context, extra): ...",
            f"{HOOK}takes (context, extra){WRITE}",
        ),
        (
            " @hookimpl\n async def guide_pre_render(self, context): ...",
            f"{HOOK}is async; write: def guide_pre_render(…): …",
        ),
        (
            " @hookimpl\n def guide_pre_render(self, context): yield 1",
            f"{HOOK}yields; it must return its answer.",
        ),
        (
            " @hookimpl(wrapper=True)\n def guide_pre_render(self): return (yield)",
            (
                "The guidance provider 'p' wraps guide_pre_render: wrappers are not supported, "
                "return a value instead."
            ),
        ),
        (
            " @hookimpl\n def guide_pre_rendr(self, context): ...",
            (
                "The guidance provider 'p' marks 'guide_pre_rendr', which is not a hook. "
                "Did you mean 'guide_pre_render'?"
            ),
        ),
        (
            (
                " @hookimpl\n def guide_pre_render(self, context): ...\n"
                " @hookimpl(specname='guide_pre_render')\n def other(self, context): ..."
            ),
            "The guidance provider 'p' has two methods for guide_pre_render: keep one.",
        ),
        (
            (
                " category = 'c'\n def classify(self, *, context): ...\n"
                " def provide(self, *, context): ...\n"
                " @hookimpl\n def guide_pre_render(self, context): ..."
            ),
            (
                "The guidance provider 'p' has both 'classify', 'provide' and the hooks "
                "'guide_pre_render': keep one way."
            ),
        ),
        (
            (
                " category = 'c'\n async def classify(self, *, context): ...\n"
                " def provide(self, *, context): ..."
            ),
            "classify of the guidance provider 'p' is async; write: def classify(…): …",
        ),
        (
            " category = 'c'\n def classify(self): ...\n def provide(self, *, context): ...",
            (
                "classify of the guidance provider 'p' can't be called with a context: got an "
                "unexpected keyword argument 'context'; write: def classify(self, *, context): …"
            ),
        ),
    ],
)
def test_what_breaks_a_rule_is_refused_with_the_line_to_write(source, message):
    with pytest.raises(ProviderInvalid) as caught:
        guidance(provider(source))

    assert str(caught.value) == message


def test_a_class_is_no_provider():
    with pytest.raises(ProviderInvalid, match=r"is a class: pass an instance, Guide\(…\)"):
        guidance(Guide)


def test_what_lacks_a_member_is_told_which_and_what_it_has_instead():
    class Misspelt:
        name = "m"
        category = "c"

        def clasify(self, *, context): ...

        def provide(self, *, context): ...

    with pytest.raises(ProviderInvalid, match=r"lacks 'classify'\. Is 'clasify' misspelt"):
        guidance(Misspelt())


@pytest.mark.parametrize(
    ("kind", "instance", "looks"),
    [
        (guidance, Comment(), "feedback provider"),
        (feedback, Guide(), "guidance provider"),
        (completion, Guide(), "guidance provider"),
        (feedback, Check(), "completion checker"),
    ],
)
def test_a_provider_of_another_kind_is_told_so(kind, instance, looks):
    with pytest.raises(ProviderInvalid, match=f"It looks like a {looks}"):
        kind(instance)


@pytest.mark.parametrize("instance", [3, b"", None, SimpleNamespace(), object(), [Guide()]])
@pytest.mark.parametrize("kind", [feedback, completion])
def test_other_objects_are_none(kind, instance):
    with pytest.raises(ProviderInvalid, match=r" is not a (feedback|completion) "):
        kind(instance)


def test_only_the_protocol_s_own_members_are_read():
    class Trap(Marked):
        @property
        def trap(self):
            raise AssertionError("a property ran")

        @functools.cached_property
        def other(self):
            raise AssertionError("a property ran")

    assert guidance(Trap()).hooks


@pytest.mark.parametrize("failure", [RuntimeError("secret\x1b[2J"), SystemExit(1)])
def test_a_member_that_raises_when_it_is_read_is_named(failure):
    class Broken(Guide):
        @property
        def category(self):
            raise failure

    with pytest.raises(ProviderInvalid, match="Reading 'category' of the guidance provider") as hit:
        guidance(Broken())
    assert str(hit.value).isprintable()


@pytest.mark.parametrize("failure", [RuntimeError, SystemExit])
def test_a_name_that_raises_when_it_is_read_is_reported(failure):
    class Nameless(Guide):
        @property
        def name(self):
            raise failure

    with pytest.raises(ProviderInvalid, match="Reading 'name' of the guidance provider 'Nameless'"):
        guidance(Nameless())


def test_a_checker_takes_its_context_by_position():
    class ByKeyword:
        def check(self, *, context): ...

    class Async:
        async def check(self, anything):
            return None

    with pytest.raises(ProviderInvalid, match=r"write: def check\(self, context\): …"):
        completion(ByKeyword())
    assert "check" in completion(Async()).methods


def test_a_mock_is_taken_for_what_it_claims():
    claimed = Mock(spec=Check())

    assert completion(claimed).methods["check"] is claimed.check


def test_the_name_of_an_object_is_bounded_and_printable():
    guide = Guide()
    guide.name = "x\x1b[31m" + "y" * 500

    assert guidance(guide).source.name.isprintable()
    assert len(guidance(guide).source.name) == 80

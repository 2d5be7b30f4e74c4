"""The proxy as the host of an agent: what a request tells about its tools."""

import pytest

from trimtab_proxy._identity import descriptions, host_for, program_of


@pytest.mark.parametrize(
    "tools",
    [
        [{"name": "read", "description": "Read a file.", "input_schema": {}}],
        [{"type": "function", "function": {"name": "read", "description": "Read a file."}}],
        [{"type": "function", "name": "read", "description": "Read a file."}],
        [{"functionDeclarations": [{"name": "read", "description": "Read a file."}]}],
        [{"name": "read", "description": "Read a file."}, {"name": "list"}, 7, {"name": 3}],
    ],
)
def test_descriptions_of_tools_are_read_in_every_format(tools):
    described = descriptions({"tools": tools})
    host = host_for(program_of({}), ["read"], described=described)

    assert host.tool_descriptions == {"read": "Read a file."}
    assert host.tools == {"read"}


@pytest.mark.parametrize("body", [{}, {"tools": None}, {"tools": {"name": "read"}}])
def test_a_request_without_tools_describes_none(body):
    assert descriptions(body) == {}

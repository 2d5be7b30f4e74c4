"""trimtab for any agent that lets its user set a base URL.

A proxy on this machine passes the agent's requests on to its model, byte for byte, and adds words
to single ones: they stand in no file of the agent and in no later request.

The command ``trimtab proxy`` is what most people use. For authors of other proxies there are
`read_guide` and `guided_body`.
"""

from trimtab_proxy._guide import Guide
from trimtab_proxy._identity import PROXY
from trimtab_proxy._service import APIS, guided_body
from trimtab_proxy._settings import read_guide

__all__ = ["APIS", "PROXY", "Guide", "guided_body", "read_guide"]

"""trimtab for any agent that lets its user set a base URL.

A proxy on this machine passes the agent's requests on to its model, byte for byte, and adds words
to single ones: they stand in no file of the agent and in no later request.
"""

from trimtab_proxy._host import PROXY

__all__ = ["PROXY"]

"""The table of a host that keeps journals, ``[hosts.NAME]`` of a configuration."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, TypeVar

from trimtab import Configuration, ConfigurationError
from trimtab.inspection import did_you_mean, quoted_list
from trimtab_trace._journal import check_size

T = TypeVar("T")


class HostTable:
    """Reads a host's table, and collects all that is wrong with it until `check`.

    Args:
        configuration: in which it stands; a missing table is empty.
        host: its name.
        keys: what the table may have.

    Attributes:
        values: the table as it stands.

    Raises:
        ConfigurationError: the table's name is spelled in another way.
    """

    def __init__(self, configuration: Configuration, host: str, keys: Collection[str]) -> None:
        for name in configuration.hosts:
            if name != host and name.lower().replace("_", "-") == host:
                what = f"[hosts.{name}] is not read; the table is called [hosts.{host}]."
                raise ConfigurationError(f"{configuration.path}: {what}")
        self.values = configuration.hosts.get(host, {})
        self._place = f"{configuration.path}, [hosts.{host}]"
        self._prompts = configuration.prompts
        self._wrong = [
            f"unknown key {key!r}.{did_you_mean(key, keys)} Known: {quoted_list(keys)}."
            for key in self.values
            if key not in keys
        ]

    def read(self, key: str, how: Callable[[Any], T], default: T) -> T:
        """Return what a key says, or the default where it is missing or wrong.

        Args:
            key: its name.
            how: reads the value; raises a ValueError that says what is wrong.
            default: what it says where it is missing.
        """
        try:
            return how(self.values[key]) if key in self.values else default
        except ValueError as error:
            self._wrong.append(f"{str(error).removesuffix('.')}.")
            return default

    def number(self, key: str) -> float | None:
        """Return a number above 0 and of a million at most; None where it is missing or wrong.

        Args:
            key: its name.
        """
        return self.read(key, partial(check_size, what=key), None)

    def flag(self, key: str) -> bool:
        """Return whether a key is true; a missing one is not.

        Args:
            key: its name.
        """
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            self._wrong.append(f"{key} must be true or false.")
        return value is True

    def prompt(self, key: str, value: Any) -> str | None:
        """Return the name of a prompt of the configuration; None for false, and for what is wrong.

        Args:
            key: how a message calls it.
            value: what stands there.
        """
        if isinstance(value, str) and value in self._prompts:
            return value
        if isinstance(value, str):
            self._wrong.append(
                f'{key} names {value!r}, but there is no table [prompts."{value}"].'
                f"{did_you_mean(value, self._prompts)} "
                f"Prompts in the file: {quoted_list(self._prompts)}."
            )
        elif value is not False:
            self._wrong.append(f"{key} must be a prompt's name, or false.")
        return None

    def check(self) -> None:
        """Raise what was found.

        Raises:
            ConfigurationError: something is wrong; the message says all of it.
        """
        if self._wrong:
            raise ConfigurationError(f"{self._place}: {' '.join(self._wrong)}")

"""For tools that list, resolve and load plugins, and for commands of `trimtab`."""

from trimtab._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_cli.parsing": "RESERVED_COMMANDS",
        "_lazy": "lazy_names",
        "_plugins": ("normalise_full_name pip_install PluginInfo Problem Registry"),
        "_plugins.configuration": "state_home",
        "_plugins.discovery": "discover entry_points_of installed_version refresh",
        "_plugins.loading": "construct load",
        "_plugins.options": "Option options_of",
        "_plugins.resolution": "matching resolve resolve_all select",
        "_types.errors": (
            "AmbiguousProvider IncompatibleProvider ProviderInvalid ProviderLoadError "
            "ProviderNotAllowed ProviderOptionsError UnknownProvider"
        ),
        "_types.stdout": "others_to_stderr output say say_json writing",
        "_types.text": "did_you_mean quoted_list",
    },
)

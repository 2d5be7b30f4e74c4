"""For tools that list, resolve and load plugins, and for commands of `trimtab`."""

from trimtab._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_cli.output": "say say_json",
        "_plugins.config_records": "PromptSettings",
        "_plugins.configuration": "HOME state_home",
        "_plugins.discovery": "discover installed_version refresh",
        "_plugins.loading": "construct load",
        "_plugins.registry": (
            "did_you_mean normalise_full_name pip_install PluginInfo Problem quoted_list Registry"
        ),
        "_plugins.resolution": "admit Resolution resolve resolve_all",
        "_plugins.selection": "matching select",
        "_plugins.validation": "LoadedProvider",
        "_table.compiling": "compile_table",
        "_table.entries": "PromptTable",
    },
)

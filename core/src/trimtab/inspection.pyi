from trimtab._cli.parsing import (
    RESERVED_COMMANDS as RESERVED_COMMANDS,
)
from trimtab._lazy import (
    lazy_names as lazy_names,
)
from trimtab._plugins import (
    PluginInfo as PluginInfo,
    Problem as Problem,
    Registry as Registry,
    normalise_full_name as normalise_full_name,
    pip_install as pip_install,
)
from trimtab._plugins.configuration import (
    state_home as state_home,
)
from trimtab._plugins.discovery import (
    discover as discover,
    entry_points_of as entry_points_of,
    installed_version as installed_version,
    refresh as refresh,
)
from trimtab._plugins.loading import (
    construct as construct,
    load as load,
)
from trimtab._plugins.options import (
    Option as Option,
    options_of as options_of,
)
from trimtab._plugins.resolution import (
    matching as matching,
    resolve as resolve,
    resolve_all as resolve_all,
    select as select,
)
from trimtab._types.errors import (
    AmbiguousProvider as AmbiguousProvider,
    IncompatibleProvider as IncompatibleProvider,
    ProviderInvalid as ProviderInvalid,
    ProviderLoadError as ProviderLoadError,
    ProviderNotAllowed as ProviderNotAllowed,
    ProviderOptionsError as ProviderOptionsError,
    UnknownProvider as UnknownProvider,
)
from trimtab._types.stdout import (
    others_to_stderr as others_to_stderr,
    output as output,
    say as say,
    say_json as say_json,
    writing as writing,
)
from trimtab._types.text import did_you_mean as did_you_mean, quoted_list as quoted_list

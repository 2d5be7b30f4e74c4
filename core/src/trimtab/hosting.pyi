from trimtab._contract.hosts import (
    LOCAL_HOST as LOCAL_HOST,
)
from trimtab._hosting.blocking import (
    StopDecision as StopDecision,
    append_text as append_text,
)
from trimtab._hosting.calls import (
    RunningCall as RunningCall,
    contained as contained,
)
from trimtab._hosting.chat import (
    Answer as Answer,
    Chat as Chat,
    Driver as Driver,
    DriverOptions as DriverOptions,
    Drivers as Drivers,
)
from trimtab._hosting.executor import (
    RAISED as RAISED,
    ToolAnswer as ToolAnswer,
    call_within as call_within,
    format_error as format_error,
)
from trimtab._run.completion import (
    AgentStopped as AgentStopped,
)
from trimtab._run.guidance import (
    GuidanceBatch as GuidanceBatch,
)
from trimtab._types.errors import (
    is_cancelled as is_cancelled,
    watch_calls as watch_calls,
)
from trimtab._types.options import (
    names_known as names_known,
    read_seconds as read_seconds,
)
from trimtab._types.schema import (
    from_json as from_json,
    json_schema as json_schema,
    to_json as to_json,
)

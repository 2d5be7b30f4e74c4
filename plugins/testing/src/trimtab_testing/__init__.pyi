from trimtab_testing._conformance import (
    CompletionConformance as CompletionConformance,
    FeedbackConformance as FeedbackConformance,
    GuidanceConformance as GuidanceConformance,
    RecorderConformance as RecorderConformance,
)
from trimtab_testing._host_kit.kit import (
    HostConformance as HostConformance,
    HostKit as HostKit,
    Played as Played,
    Task as Task,
    Verdict as Verdict,
    host_table as host_table,
)
from trimtab_testing._host_kit.service import (
    Ask as Ask,
    Says as Says,
    Service as Service,
)
from trimtab_testing._lab import (
    Checker as Checker,
    Commentator as Commentator,
    Lab as Lab,
    Speaker as Speaker,
)
from trimtab_testing._player import (
    Player as Player,
    ProviderFailed as ProviderFailed,
)
from trimtab_testing._runs import (
    Call as Call,
    Compaction as Compaction,
    Item as Item,
    Message as Message,
    Text as Text,
    Wait as Wait,
    good_runs as good_runs,
    odd_run as odd_run,
)

"""Agents that work from queues: leases kept by proof of work, mailboxes, loops."""

from trimtab.inspection import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_events": (
            "LeaseCapNear LeaseEvent LeaseGrantDiffers LeaseLost LeaseRegained LeaseShaky "
            "MailboxFailed MessageAbandoned MessageBuried MessageDone MessageEvent "
            "MessageFailed MessageReceived MessageReturned Metrics SampleScored WorkerCrashed "
            "WorkerStuck"
        ),
        "_extender": "LeaseExtender LeaseFeedback",
        "_health": "Health Watchdog",
        "_keeper": "Keeper",
        "_lease": "Lease",
        "_lease_config": (
            "calibrate DeadLetterPolicy EvalLoopConfig LeaseExtenderConfig LeaseState "
            "LoopConfig MainLoopConfig WorkConfig"
        ),
        "_loop": "Loop",
        "_loops": (
            "as_json EvalLoop EvalResult failed_reply MainLoop Prepare PromptWork Reply Sample "
            "Score structure_json"
        ),
        "_mailbox": "KEYS_KEPT Mailbox Message",
        "_message": "Codec Envelope",
        "_pool": "ConnectionPool",
        "_records": (
            "CalibrationError CalibrationWarning Capped DeadLetter Delivery Extension Granted "
            "LEASE_CLOCK LeaseClock LoopSummary Lost MailboxError MailboxFacts MailboxStats "
            "MessageState MessageTooLarge ReceiptHandleExpiredError StoredMessage "
            "UndecodableMessage Unknown WorkerError"
        ),
        "_setup": "open_mailbox split_queue WorkerSetup",
        "_snapshots": "SnapshotStore SqliteSnapshots",
        "_sqlite": "InMemoryMailbox SqliteMailbox",
        "_work": "Attempt Work",
    },
)

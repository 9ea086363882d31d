//! The codes of refusals.

crate::listed! {
    /// The code of a refusal.
    Code {
        /// The room does not exist, or it ended and is no longer remembered.
        RoomNotFound "room_not_found",
        /// The pair room ended.
        ChatEnded "chat_ended",
        /// The room exists, and the caller is not a member.
        NotInRoom "not_in_room",
        /// The call named no room, and the caller is not in exactly one.
        RoomAmbiguous "room_ambiguous",
        /// The caller does not hold the stick, or not under the epoch that it named.
        StickRequired "stick_required",
        /// A pair room has no stick.
        NoStick "no_stick",
        /// The caller is in the queue.
        AlreadyWaiting "already_waiting",
        /// The caller is in a live pair room.
        AlreadyChatting "already_chatting",
        /// The public id is taken, or reserved for the server.
        UserIdTaken "user_id_taken",
        /// The name is taken.
        NameTaken "name_taken",
        /// The name breaks a rule for names.
        NameNotAllowed "name_not_allowed",
        /// No participant has this id.
        UserNotFound "user_not_found",
        /// The call needs a handle.
        HandleRequired "handle_required",
        /// No participant has this handle, or its registration ended.
        UnknownHandle "unknown_handle",
        /// An argument is not acceptable.
        InvalidArguments "invalid_arguments",
        /// The cursor lies beyond the end of the inbox.
        InvalidCursor "invalid_cursor",
        /// The key was used with other arguments.
        RequestKeyReused "request_key_reused",
        /// The message has no visible character.
        MessageEmpty "message_empty",
        /// The message exceeds the limit.
        MessageTooLong "message_too_long",
        /// The draft is empty.
        DraftEmpty "draft_empty",
        /// The append does not fit into the draft.
        DraftFull "draft_full",
        /// The caller is muted: it may neither speak nor open a room.
        Muted "muted",
        /// The caller is banned.
        Blocked "blocked",
        /// Too many calls, or too many streams.
        RateLimited "rate_limited",
        /// The queue is full.
        QueueFull "queue_full",
        /// The room is full, or the caller is in as many rooms as it may be.
        RoomFull "room_full",
        /// Too many participants were registered from one address.
        AddressFull "address_full",
        /// The largest number of participants or rooms exists.
        ServerFull "server_full",
        /// Too many commands are pending.
        Overloaded "overloaded",
        /// The journal cannot be written.
        StorageUnavailable "storage_unavailable",
        /// The server is shutting down.
        ShuttingDown "shutting_down",
    }
}

impl Code {
    /// The code of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.name() == name)
    }

    /// Whether a repetition of the request, with its key, is decided again.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimited | Self::Overloaded | Self::StorageUnavailable | Self::ShuttingDown
        )
    }
}

//! Suggestions for a run that proves nothing, because calls were refused.

/// The limit that refuses calls by this code, or what the scenario lacks; none where a refusal is part
/// of any conversation.
pub(super) fn refusal_hint(code: &str) -> Option<&'static str> {
    Some(match code {
        "rate_limited" => {
            "rate_limit, address_rate_limit and registration_rate_limit under server: higher, or none"
        }
        "address_full" => "a higher max_per_address under server",
        "server_full" => "a higher max_participants or max_rooms under server",
        "queue_full" => "a higher max_queue under server",
        "room_full" => "a higher max_members or max_rooms_each under server",
        "message_too_long" | "draft_full" => "a higher max_message under server, or shorter texts",
        "overloaded" => "a larger queue or a faster service under capacity, or fewer users",
        "storage_unavailable" => "a shorter fail_disk under faults",
        "stick_required" => {
            "talking_stick and await: stick.granted before a send, or stick: optional under server"
        }
        "not_in_room" | "room_ambiguous" | "room_not_found" => {
            "login, or enter_queue and a match, before the call"
        }
        "handle_required" | "unknown_handle" => "login or enter_queue before the call",
        "name_taken" | "user_id_taken" | "name_not_allowed" => "other names for the users",
        "muted" | "blocked" => "fewer acts of the operator under faults",
        _ => return None,
    })
}

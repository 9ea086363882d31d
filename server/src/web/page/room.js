// A room's state, and the changes by each event. This module neither calls the server nor draws.

// The largest number of entries in the log, as long as the user does not read older ones.
export const LOG = 500;

// How far a log may exceed it, so that a page of older messages is inserted before any is removed.
const SLACK = 200;

// How long a participant is shown as typing, in milliseconds.
const TYPING = 6_000;

// The number of those who wait for the stick that the server shows.
const SHOWN = 8;

// The stick: its holder, the first of its line, how many are in it, the user's own place, which may be
// behind the ones that are known, and when that was received.
const noStick = () => ({ holder: null, epoch: null, until: null, line: [], waiting: 0, place: 0, heard: 0 });

// A room that the user is in: { id, kind, name }, and more of it if it is known. The kind is 'named' or
// 'pair'.
export const newRoom = (known) => ({
  partner: null,
  // Members by public id: { user_id, display_name, presence, since, read_to }.
  members: new Map(),
  // { seq, at, kind: 'message' | 'told', text } with { id, sender, mine } or { who, passing }, in the
  // room's order.
  log: [],
  // The largest number of entries now, and whether there are messages before them; null if unknown.
  limit: LOG,
  more: null,
  // The log of the room of the same name on the server before its restart.
  earlier: [],
  // The texts on their way to the server.
  sending: [],
  stick: noStick(),
  // Members who type, and members who wait for an answer, by public id.
  typing: new Map(),
  waiting: new Map(),
  // The text that is not sent, and the pieces of the draft on the server.
  text: '',
  draft: [],
  unread: 0,
  // Whether a phone shows the members in place of the log.
  showsMembers: false,
  turnsLeft: null,
  // The message that a search leads to.
  target: null,
  // The open search: { query, asked, found, more, before }; null without one.
  search: null,
  // Why the user is muted, or why the room ended.
  muted: null,
  ended: null,
  // Whether it ended because the registration did.
  lost: false,
  ...known,
});

// Who has read the user's message, if nothing was said after it, and how many have not; null else. Members
// that came later were not meant.
export function readers(room) {
  const last = room.log.findLast((one) => one.kind === 'message');
  if (!last?.mine) return null;
  const others = [...room.members.values()].filter((user) => user.user_id !== last.sender.user_id && !(user.since > last.at));
  const read = others.filter((user) => user.read_to >= last.seq);
  return { read, waits: others.length - read.length };
}

// Inserts an entry into the log at its place, unless it is there already.
export function put(room, entry) {
  let at = room.log.length;
  while (at > 0 && room.log[at - 1].seq > entry.seq) at -= 1;
  // The line that reports a gap has the same `seq` as the last message in the gap.
  for (let same = at; same > 0 && room.log[same - 1].seq === entry.seq; same -= 1) {
    if (room.log[same - 1].kind === entry.kind) return false;
  }
  room.log.splice(at, 0, entry);
  if (room.log.length > room.limit + SLACK) trim(room);
  return true;
}

// Removes the first entries of a log that is too long.
export function trim(room) {
  const surplus = room.log.length - room.limit;
  if (surplus <= 0) return;
  room.log.splice(0, surplus);
  room.more = true;
}

// Ends the room because the user's registration ended. The log stays.
export function lose(room, why) {
  if (room.ended) return;
  Object.assign(room, { ended: why, lost: true, stick: noStick(), search: null, showsMembers: false });
  room.typing.clear();
  room.waiting.clear();
}

// A room that the user joined again: what was said before, and what it has not sent, are still there.
export function resumed(room, before) {
  const { seq, at } = before.log.at(-1) ?? { seq: 0, at: null };
  const parted = { seq, at, kind: 'told', text: 'You joined again here. What is above is from before.' };
  room.earlier = [...before.earlier, ...before.log, parted].slice(-LOG);
  room.text = [before.draft.join(''), before.text].filter(Boolean).join(' ');
}

// Adds an event in words, after the name of its subject, if it has one. Many `passing` ones are shown
// as one.
const told = (room, event, who, text, passing = false) => put(room, { seq: event.room_seq, at: event.timestamp, kind: 'told', who: who?.display_name, text, passing });

// A message as an entry of a log.
export const entryOf = ({ room_seq: seq, message_id: id, timestamp: at, sender, to = [], message: text }, meId) =>
  ({ seq, id, at, kind: 'message', sender, to: to.map((user) => (user.user_id === meId ? 'you' : user.display_name)), text, mine: sender.user_id === meId });

export const message = (room, said, meId) => put(room, entryOf(said, meId));

function present(room, user, presence) {
  const known = room.members.get(user.user_id);
  room.members.set(user.user_id, { ...known, ...user, presence });
}

function arrived(room, event, user, text, passing = false) {
  present(room, user, 'present');
  told(room, event, user, text, passing);
}

function released(room, event) {
  heard(room, instant(event));
  if (room.stick.epoch === event.epoch) free(room);
}

function gone(room, user, me) {
  room.members.delete(user.user_id);
  quiet(room, user);
  unlined(room, user, me);
}

function quiet(room, user) {
  room.typing.delete(user.user_id);
  room.waiting.delete(user.user_id);
}

// Adds a participant to the end of the line. Only the first are known by name.
export function lined(room, user, me, place = room.stick.waiting + 1) {
  const { stick } = room;
  if (stick.line.some((one) => one.user_id === user.user_id)) return;
  if (place <= SHOWN && stick.line.length === place - 1) stick.line = [...stick.line, user];
  stick.waiting = Math.max(stick.waiting, place);
  if (user.user_id === me) stick.place = place;
}

// Removes a participant from the line.
export function unlined(room, user, me) {
  const { stick } = room;
  const at = stick.line.findIndex((one) => one.user_id === user.user_id);
  if (at >= 0) stick.line = stick.line.toSpliced(at, 1);
  if (at >= 0 || stick.waiting > stick.line.length) stick.waiting -= 1;
  if (user.user_id === me) stick.place = 0;
  else if (at >= 0 && at + 1 < stick.place) stick.place -= 1;
}

const ENDINGS = {
  left: 'Your partner left.',
  timeout: 'Your partner was away for too long.',
  blocked: 'This conversation was ended.',
  turn_limit: 'All turns of this conversation are used up.',
  closed: 'An operator closed this conversation.',
};

const instant = (event) => Date.parse(event.timestamp) || 0;

// The change by each kind of event. `me` is the user's public id.
const CHANGES = {
  'message.received'(room, event, me) {
    quiet(room, event.sender);
    return message(room, event, me);
  },
  'user.joined': (room, event) => arrived(room, event, event.user, ' joined.', true),
  'user.left'(room, event, me) {
    gone(room, event.user, me);
    told(room, event, event.user, ' left.', true);
  },
  'user.away'(room, event, me) {
    present(room, event.user, 'away');
    quiet(room, event.user);
    unlined(room, event.user, me);
    told(room, event, event.user, ' is away.', true);
  },
  'user.back': (room, event) => arrived(room, event, event.user, ' is back.', true),
  'partner.away'(room, event) {
    quiet(room, event.partner);
    present(room, event.partner, 'reconnecting');
    told(room, event, event.partner, ' lost the connection, and may come back.');
  },
  'partner.reconnected': (room, event) => arrived(room, event, event.partner, ' is back.'),
  'partner.disconnected'(room, event) {
    room.ended = ENDINGS[event.reason] ?? 'This conversation is over.';
    room.typing.clear();
    told(room, event, null, room.ended);
  },
  'stick.claimed'(room, event, me) {
    heard(room, instant(event));
    // One's own place is in the answer.
    if (event.user.user_id !== me && !holds(room, event.user.user_id)) lined(room, event.user, me);
  },
  'stick.granted'(room, event, me) {
    heard(room, instant(event));
    unlined(room, event.user, me);
    room.stick.holder = event.user;
    room.stick.epoch = event.epoch;
    room.stick.until = instant(event) + event.lease_seconds * 1_000;
  },
  'stick.released': released,
  'stick.expired'(room, event) {
    released(room, event);
    told(room, event, event.user, '’s time with the stick ran out.');
  },
  'moderation.muted'(room, event, me) {
    const mine = event.user.user_id === me;
    if (mine) room.muted = event.reason;
    told(room, event, mine ? null : event.user, `${mine ? 'You were' : ' was'} muted by an operator: ${event.reason}`);
  },
  'moderation.kicked'(room, event, me) {
    const mine = event.user.user_id === me;
    told(room, event, mine ? null : event.user, `${mine ? 'You were' : ' was'} removed by an operator: ${event.reason}`);
    if (mine) room.ended = `An operator removed you: ${event.reason}`;
    gone(room, event.user, me);
  },
  'moderation.closed'(room, event) {
    room.ended = `An operator closed this room: ${event.reason}`;
    told(room, event, null, room.ended);
  },
};

// Views of the stick from before this instant are outdated.
export function heard(room, at) {
  room.stick.heard = Math.max(room.stick.heard, at);
}

export function free(room) {
  room.stick.holder = null;
  room.stick.until = null;
}

// Applies an event of this room. Returns whether it is a message.
export function apply(room, event, me) {
  return CHANGES[event.type]?.(room, event, me) === true;
}

// Applies a notice, which is shown for a moment. A newer server may send some that this page does
// not know, and that are about no user.
export function noticed(room, notice, me, now) {
  if (notice.user?.user_id === me) return;
  if (notice.type === 'user.typing') {
    room.typing.set(notice.user.user_id, { name: notice.user.display_name, until: now + TYPING });
  } else if (notice.type === 'user.waiting') {
    const { display_name: name } = notice.user;
    room.waiting.set(notice.user.user_id, { name, seconds: notice.waited_seconds, until: now + 2 * TYPING });
  }
}

// Removes expired notices. Returns whether there were any.
export function expire(room, now) {
  let any = false;
  for (const notices of [room.typing, room.waiting]) {
    for (const [id, { until }] of notices) {
      if (until <= now) any = notices.delete(id);
    }
  }
  return any;
}

// Applies the stick of an overview, unless something newer was received. Who is not among the first
// of a longer line is behind them.
export function seen(room, view, at, me) {
  const instant = Date.parse(at);
  const { heard: latest, place } = room.stick;
  if (!(instant >= latest)) return;
  const { next_in_line: line, stick_line: waiting } = view;
  const shown = line.findIndex((one) => one.user_id === me) + 1;
  room.stick = {
    holder: view.holder,
    epoch: view.epoch,
    until: view.holder ? instant + view.lease_expires_in_seconds * 1_000 : null,
    line,
    waiting,
    place: shown || (place > line.length ? Math.min(place, waiting) : 0),
    heard: latest,
  };
}

export const holds = (room, me) => me !== undefined && room.stick.holder?.user_id === me;

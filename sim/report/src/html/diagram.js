// The sequence diagram: a lane for each participant, time downward, and an arrow for every message
// between a participant and the server.

const LANE = { least: 164, narrow: 118, axis: 74, head: 46 };
const ZOOM = { least: 0.08, most: 12, step: 1.35 };
const LINE = 13;

const isFailure = (diagram) => diagram.of === 'whole' || diagram.of === 'shrunk';

const KINDS = { request: 'request', reply: 'answer', opening: 'stream opening', push: 'push', point: 'event' };
const FATES = { fine: 'arrived', refused: 'refused', lost: 'lost on the way', unheard: 'arrived where nobody took it', broken: 'went wrong' };

// Maps time to height. Packed: the longer a period without events, the less height it gets per
// second, so that a lease of seconds and an exchange of milliseconds fit into one diagram. Even:
// height is proportional to time.
function timeScale(diagram, events, mode, zoom) {
  const isEven = mode === 'even';
  const instants = [...events.flatMap((event) => [event.from_us, event.to_us]), ...diagram.bands.flatMap((band) => [band.from_us, band.to_us]),
    ...moments(diagram).map(([us]) => us), ...(diagram.marks || []).map((mark) => mark.at_us)];
  const shown = instants.filter((us) => !isEven && us >= diagram.from_us && us <= diagram.to_us);
  const known = [...new Set([diagram.from_us, diagram.to_us, ...shown])].sort((a, b) => a - b);
  const places = [0];
  const gaps = [];
  for (let i = 1; i < known.length; i++) {
    const gap = known[i] - known[i - 1];
    const tall = (isEven ? 720 : Math.min(46, 5 + 7 * Math.log10(1 + gap / 250))) * zoom;
    if (gap >= 1e6 && !isEven) gaps.push({ at: places[i - 1] + tall / 2, gap });
    places.push(places[i - 1] + tall);
  }
  const y = (instant) => {
    const us = clamp(instant, diagram.from_us, diagram.to_us);
    const next = Math.max(1, known.findIndex((one) => one >= us));
    return places[next] - ((known[next] - us) / (known[next] - known[next - 1])) * (places[next] - places[next - 1]);
  };
  return { height: places[places.length - 1], y, gaps };
}

function diagramView(diagram) {
  const state = { zoom: 1, mode: 'packed', polls: false, at: null, pinned: null, width: 0 };
  const server = diagram.lanes.findIndex((lane) => lane.role === 'server');
  const idle = diagram.events.filter((event) => event.idle && !event.blamed).length;

  const axis = s('svg', { class: 'axis-column', 'aria-hidden': 'true' });
  const canvas = s('svg', { class: 'canvas', role: 'group', 'aria-label': `Space-time diagram of ${diagram.lanes.length - 1} participants and the server. Arrow keys go from event to event.` });
  const heads = h('div', { class: 'lane-heads' });
  const scroller = h('div', { class: 'scroller', role: 'region', tabindex: '0', 'aria-label': 'Space-time diagram' },
    h('div', { class: 'inner' }, h('div', { class: 'corner' }, 'time'), heads, axis, canvas));
  const details = h('aside', { class: 'details', 'aria-live': 'polite', 'aria-label': 'The event pointed at' });
  const zoomed = h('output', { class: 'zoom', 'aria-label': 'Zoom' });

  let shown = [];
  let groups = [];
  let texts = [];
  let scale = null;

  const render = () => {
    shown = diagram.events.filter((event) => state.polls || !event.idle || event.blamed);
    scale = timeScale(diagram, shown, state.mode, state.zoom);
    const room = Math.max(280, state.width || scroller.clientWidth || 900);
    const lane = Math.max(room < 520 ? LANE.narrow : LANE.least, Math.floor((room - LANE.axis - 4) / diagram.lanes.length));
    const width = lane * diagram.lanes.length;
    const height = Math.ceil(scale.height) + 48;
    const pad = 18;
    const place = { lane, x: (i) => lane * i + lane / 2, y: (us) => pad + scale.y(us), server, width, height };
    heads.style.width = `${width}px`;
    heads.replaceChildren(...diagram.lanes.map((one) => laneHead(one, lane)));
    size(axis, LANE.axis, height);
    axis.replaceChildren(...axisMarks(diagram, shown, place));
    size(canvas, width, height);
    canvas.dataset.scale = state.zoom.toFixed(3);
    canvas.dataset.server = place.x(server);
    zoomed.textContent = `${Math.round(state.zoom * 100)} %`;
    const labels = labelPlaces(shown, place);
    groups = shown.map((event, i) => eventGroup(diagram, event, i, place));
    texts = shown.map((event, i) => (labels[i] === null ? null : eventLabel(event, i, place, labels[i])));
    canvas.replaceChildren(
      ...laneLines(diagram, place, pad), ...diagram.bands.map((band) => bandGroup(diagram, band, place)),
      ...rules(diagram, place), ...scale.gaps.map((gap) => gapMark(gap, place, pad)), ...groups, ...texts.filter(Boolean), ...factMarks(diagram, place));
    reach(state.at === null ? firstFocus() : Math.min(state.at, groups.length - 1), false);
  };

  // One event at a time is in the tab order; arrow keys move on from it.
  const reach = (i, focus) => {
    if (groups.length === 0) return;
    if (state.at !== null && groups[state.at]) groups[state.at].setAttribute('tabindex', '-1');
    state.at = i;
    groups[i].setAttribute('tabindex', '0');
    if (focus) {
      groups[i].focus({ preventScroll: true });
      bring(i);
    }
  };
  const firstFocus = () => Math.max(0, shown.findIndex((event) => event.blamed));

  const bring = (i) => {
    const event = shown[i];
    const y = scale.y(event.from_us) + 18, x = Number(groups[i].dataset.x);
    const head = LANE.head;
    if (y < scroller.scrollTop + 30 || y > scroller.scrollTop + scroller.clientHeight - head - 50) scroller.scrollTop = y - scroller.clientHeight / 2;
    if (x < scroller.scrollLeft + 40 || x > scroller.scrollLeft + scroller.clientWidth - LANE.axis - 60) scroller.scrollLeft = x - (scroller.clientWidth - LANE.axis) / 2;
  };

  const show = (i) => {
    for (const group of canvas.querySelectorAll('.pointed')) group.classList.remove('pointed');
    if (i === null) {
      details.replaceChildren(...overview(diagram));
      return;
    }
    for (const one of [groups[i], texts[i]]) one?.classList.add('pointed');
    details.replaceChildren(...detailsOf(diagram, shown[i]));
  };

  // Zooms around `at` (a height in the window of the scroller), whose instant keeps its place.
  const zoomTo = (zoom, at = scroller.clientHeight / 2) => {
    const share = (scroller.scrollTop + at - LANE.head) / Math.max(1, scale.height);
    state.zoom = clamp(zoom, ZOOM.least, ZOOM.most);
    render();
    scroller.scrollTop = share * scale.height - at + LANE.head;
  };
  const zoomIn = () => zoomTo(state.zoom * ZOOM.step);
  const zoomOut = () => zoomTo(state.zoom / ZOOM.step);
  const fit = () => {
    const full = scale.height / state.zoom;
    zoomTo((scroller.clientHeight - LANE.head - 60) / full, 0);
    scroller.scrollTop = 0;
  };
  const toViolation = (focus) => {
    if (focus) scroller.scrollIntoView({ block: 'nearest' });
    const i = firstFocus();
    const y = shown.some((event) => event.blamed) ? scale.y(shown[i].from_us) : scale.y(diagram.violation_us);
    scroller.scrollTop = y - scroller.clientHeight / 2 + LANE.head;
    if (groups[i]) {
      // Shows both ends of the arrow if they fit; otherwise its participant's end.
      const half = (scroller.clientWidth - LANE.axis) / 2;
      const x = Number(groups[i].dataset.x);
      const middle = (Number(canvas.dataset.server) - x) / 2;
      scroller.scrollLeft = x + clamp(middle, 60 - half, half - 60) - half;
    }
    reach(i, focus);
    show(i);
  };

  const indexOf = (target) => {
    const group = target instanceof Element ? target.closest('.event, .label') : null;
    return group ? Number(group.dataset.index) : null;
  };
  canvas.addEventListener('pointerover', (event) => {
    const i = indexOf(event.target);
    if (i !== null) show(i);
    else if (state.pinned !== null && groups[state.pinned]) show(state.pinned);
  });
  canvas.addEventListener('focusin', (event) => {
    const i = indexOf(event.target);
    if (i !== null) {
      reach(i, false);
      show(i);
    }
  });
  canvas.addEventListener('click', (event) => {
    const i = indexOf(event.target);
    state.pinned = i;
    if (i !== null) reach(i, true);
    show(i);
  });
  scroller.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = scroller.getBoundingClientRect();
    zoomTo(state.zoom * Math.exp(-event.deltaY * 0.0025), event.clientY - box.top);
  }, { passive: false });
  panAndPinch(scroller, () => state.zoom, zoomTo);
  scroller.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = (i) => () => reach(clamp(i, 0, groups.length - 1), true);
    const along = (by) => () => reach(nextInLane(shown, state.at, by), true);
    const keys = indexOf(event.target) === null ? { Enter: to(state.at) } : {
      ArrowDown: to(state.at + 1), ArrowUp: to(state.at - 1), ArrowRight: along(1), ArrowLeft: along(-1), Home: to(0), End: to(groups.length - 1), Escape: () => scroller.focus() };
    const act = { '+': zoomIn, '=': zoomIn, '-': zoomOut, 0: fit, v: () => toViolation(true), ...keys }[event.key];
    if (!act) return;
    act();
    event.preventDefault();
  });
  new ResizeObserver(() => {
    const width = scroller.clientWidth;
    if (width === 0 || width === state.width) return;
    const first = state.width === 0;
    state.width = width;
    render();
    if (first) toViolation(false);
  }).observe(scroller);

  const check = (label, act) => h('label', { class: 'check' }, h('input', { type: 'checkbox', on: { change: (event) => act(event.target.checked) } }), ` ${label}`);
  const keep = (change) => {
    change();
    state.at = null;
    state.pinned = null;
    render();
    toViolation(false);
  };
  const tools = h('div', { class: 'tools', role: 'toolbar', 'aria-label': 'The diagram' },
    h('span', { class: 'group' }, toolButton('−', 'Zoom out', zoomOut), zoomed, toolButton('+', 'Zoom in', zoomIn),
      toolButton('Fit', 'Show the whole stretch', fit), isFailure(diagram) ? toolButton('Violation', 'Go to the violation', () => toViolation(true)) : null),
    h('span', { class: 'group' }, check('even time', (on) => keep(() => {
      state.mode = on ? 'even' : 'packed';
      state.zoom = 1;
    })), idle > 0 ? check(`empty polls (${idle})`, (on) => keep(() => { state.polls = on; })) : null));
  render();
  show(null);
  return h('div', { class: 'diagram' }, tools, h('div', { class: 'panes' }, scroller, details), key(diagram),
    h('p', { class: 'muted hint' }, `Ctrl and wheel, pinch, or the keys + and − zoom; 0 fits; drag or scroll to pan${isFailure(diagram) ? '; v goes to the violation' : ''}. Enter and the arrow keys go from event to event.`),
    diagram.left_out.length > 0 ? h('ul', { class: 'muted left-out' }, diagram.left_out.map((words) => h('li', {}, words))) : null,
    asTable(diagram));
}

function size(svg, width, height) {
  svg.setAttribute('width', width);
  svg.setAttribute('height', height);
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
}

const ROLES = { concerned: 'the violation is about them', named: 'named in the sentence', roommate: 'in the same room', bystander: 'active at the time', server: '', member: '' };

function laneHead(lane, width) {
  return h('div', { class: `lane-head ${lane.role}`, style: `width:${width}px`, title: ROLES[lane.role] || null },
    h('strong', {}, lane.role === 'concerned' ? '◆ ' : null, lane.name), lane.persona ? h('span', {}, lane.persona) : h('span', {}, lane.role === 'server' ? 'and its disk' : ''));
}

function laneLines(diagram, place, pad) {
  return diagram.lanes.map((lane, i) => s('line', { class: `lane ${lane.role}`, x1: place.x(i), x2: place.x(i), y1: 0, y2: place.height - pad + 10 }));
}

// Labels of instants at which an event began, as many as fit.
function axisMarks(diagram, shown, place) {
  const all = [...shown.map((event) => event.from_us), ...moments(diagram).map(([us]) => us)].sort((a, b) => a - b);
  const marks = [];
  let free = -Infinity;
  for (const us of all) {
    const y = place.y(us);
    if (y < free) continue;
    free = y + 26;
    marks.push(s('text', { class: 'tick', x: LANE.axis - 10, y: round(y + 4), 'text-anchor': 'end' }, (us / 1e6).toFixed(3)),
      s('line', { class: 'axis', x1: LANE.axis - 6, x2: LANE.axis, y1: round(y), y2: round(y) }));
  }
  return marks;
}

// The instants that affect all lanes: when, of which kind, and what happened.
function moments(diagram) {
  const all = [[diagram.healed_us, 'heal', 'all faults healed'], [isFailure(diagram) ? diagram.violation_us : undefined, 'violation', `✗ ${diagram.property}`]];
  return all.filter(([us]) => us <= diagram.to_us);
}

function rules(diagram, place) {
  return moments(diagram).map(([us, kind, words]) => {
    const y = round(place.y(us));
    return s('g', { class: `rule ${kind}` }, s('line', { x1: 0, x2: place.width, y1: y, y2: y }), s('text', { x: place.width - 8, y: y - 4, 'text-anchor': 'end' }, words));
  });
}

function gapMark(gap, place, pad) {
  const y = round(pad + gap.at);
  const x = place.x(place.server);
  return s('g', { class: 'gap' }, s('line', { x1: 0, x2: place.width, y1: y, y2: y }), s('text', { x: x + 8, y: y + 4 }, `⋯ ${span(gap.gap / 1000)}`));
}

function bandGroup(diagram, band, place) {
  const top = place.y(Math.max(band.from_us, diagram.from_us));
  const bottom = Math.max(top + 3, place.y(Math.min(band.to_us, diagram.to_us)));
  const x = place.x(band.lane), half = 11;
  const outward = band.lane < place.server ? -1 : 1;
  const fault = band.kind.replace('_', '-');
  return s('g', { class: `band ${fault}`, role: 'img', 'aria-label': `${diagram.lanes[band.lane].name}: ${band.label}, ${instant(band.from_us)} to ${instant(Math.min(band.to_us, diagram.to_us))}` },
    s('title', {}, `${diagram.lanes[band.lane].name}: ${band.label}`),
    s('rect', { x: x - half, y: round(top), width: half * 2, height: round(bottom - top), rx: 3 }),
    bandLabel(band.label, x, top, bottom, outward * (half + 5)));
}

// Arrows from a participant slope down and away, with the name above the line; arrows to a
// participant slope down to it, with the name below.
const besides = (event) => (event.kind === 'point' ? 4 : event.kind === 'reply' || event.kind === 'push' ? 12 : -3);

// Along the band if it is long enough, otherwise beside its end: most events are at its beginning.
function bandLabel(label, x, top, bottom, aside) {
  if (bottom - top > label.length * 6.2 + 14) return s('text', { class: 'along', transform: `translate(${x - 4},${round(top + 8)}) rotate(90)` }, label);
  return s('text', { x: x + aside, y: round(bottom - 3), 'text-anchor': aside < 0 ? 'end' : 'start' }, label);
}

// The position of each label: beside its participant's end, below the previous one in the same
// lane. A label without space nearby is left out; the details contain it.
function labelPlaces(shown, place) {
  const order = shown.map((event, i) => ({ i, lane: `${event.lane} ${event.kind === 'point'}`, y: place.y(event.kind === 'reply' || event.kind === 'push' ? event.to_us ?? event.from_us : event.from_us), strong: event.blamed || event.named }))
    .map((one) => ({ ...one, y: one.y + besides(shown[one.i]) }))
    .sort((a, b) => a.y - b.y || b.strong - a.strong);
  const free = new Map();
  const places = new Array(shown.length).fill(null);
  for (const one of order) {
    const next = free.get(one.lane) ?? -Infinity;
    const y = Math.max(one.y, next);
    if (y - one.y > 12 && !one.strong) continue;
    places[one.i] = round(y);
    free.set(one.lane, y + LINE);
  }
  return places;
}

// The classes of an event, for its shapes and for its label.
const classes = (event, kind) => [kind, event.kind, event.fate, event.copy ? 'copy' : '', event.blamed ? 'blamed' : '', event.named ? 'named' : ''].filter(Boolean).join(' ');

function eventGroup(diagram, event, i, place) {
  const group = { class: classes(event, 'event'), tabindex: '-1', role: 'img', 'data-index': i, 'data-x': round(place.x(event.lane)), 'aria-label': sentence(diagram, event) };
  return s('g', group, event.kind === 'point' ? pointShape(event, place) : arrowShape(event, place));
}

// The label is apart from the shapes: all labels are above all arrows, so that none is struck through.
function eventLabel(event, i, place, y) {
  const x = place.x(event.lane), server = place.x(place.server);
  const isPoint = event.kind === 'point';
  // A point's label is outside of its lane, an arrow's beside its arrow.
  const toward = (event.lane < place.server) === isPoint ? -1 : 1;
  const most = isPoint ? Math.floor((place.lane / 2 - 12) / 5.9) + (event.lane === place.server ? 8 : 0) : Math.floor((Math.abs(server - x) - 20) / 5.7);
  return s('text', { class: classes(event, 'label'), 'data-index': i, 'aria-hidden': 'true', x: x + toward * (isPoint ? 9 : 8), y, 'text-anchor': toward > 0 ? 'start' : 'end' },
    event.blamed && !isPoint ? '✗ ' : null, short((event.copy ? '2nd copy: ' : '') + event.label, most));
}

function pointShape(event, place) {
  const x = place.x(event.lane), y = round(place.y(event.from_us));
  const shape = event.fate === 'broken' ? s('path', { class: 'x-mark', d: crossPath(x, y, 4) }) : s('circle', { class: 'dot', cx: x, cy: y, r: 3.5 });
  return [event.blamed ? s('circle', { class: 'halo', cx: x, cy: y, r: 11 }) : null, s('circle', { class: 'hit', cx: x, cy: y, r: 9 }), shape];
}

function arrowShape(event, place) {
  const client = place.x(event.lane), server = place.x(place.server);
  const up = event.kind === 'request' || event.kind === 'opening';
  const [start, goal] = up ? [client, server] : [server, client];
  const y1 = place.y(event.from_us);
  const lost = event.to_us === undefined;
  const x2 = lost ? start + (goal - start) * 0.56 : goal;
  const y2 = lost ? y1 + 9 : place.y(event.to_us);
  const line = { x1: round(start), y1: round(y1), x2: round(x2), y2: round(y2) };
  const shapes = [event.blamed ? s('line', { ...line, class: 'halo' }) : null, s('line', { ...line, class: 'hit' }), s('line', { ...line, class: 'shaft' })];
  if (lost) shapes.push(s('path', { class: 'x-mark', d: crossPath(x2, y2, 4.5) }));
  else shapes.push(s('path', { class: 'tip', d: tip(start, y1, x2, y2) }));
  if (event.served_us !== undefined && place.y(event.served_us) - y2 > 1) {
    shapes.push(s('line', { class: 'service', x1: server, x2: server, y1: round(y2), y2: round(place.y(event.served_us)) }));
  }
  if (event.blamed) shapes.push(s('circle', { class: 'ring', cx: client, cy: round(up ? y1 : y2), r: 6 }));
  return shapes;
}

function tip(x1, y1, x2, y2) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const at = (along, across) => `${round(x2 - ux * along - uy * across)},${round(y2 - uy * along + ux * across)}`;
  return `M${round(x2)},${round(y2)}L${at(8, 3.4)}L${at(8, -3.4)}Z`;
}

function nextInLane(shown, at, by) {
  for (let i = at + by; i >= 0 && i < shown.length; i += by) if (shown[i].lane === shown[at].lane) return i;
  return at;
}

// Dragging with a mouse or a pen scrolls; two fingers zoom. One finger scrolls as usual.
function panAndPinch(scroller, zoom, zoomTo) {
  let drag = null;
  const fingers = new Map();
  let pinch = null;
  const apart = () => {
    const [a, b] = [...fingers.values()];
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  scroller.addEventListener('pointerdown', (event) => {
    if (event.pointerType === 'touch') {
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (fingers.size === 2) pinch = { apart: apart(), zoom: zoom() };
    } else if (event.button === 0) {
      drag = { x: event.clientX, y: event.clientY, left: scroller.scrollLeft, top: scroller.scrollTop };
    }
  });
  scroller.addEventListener('pointermove', (event) => {
    if (fingers.has(event.pointerId)) {
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (pinch && fingers.size === 2) {
        const box = scroller.getBoundingClientRect();
        const [a, b] = [...fingers.values()];
        zoomTo((pinch.zoom * apart()) / Math.max(1, pinch.apart), (a.y + b.y) / 2 - box.top);
      }
    } else if (drag && (event.buttons & 1) === 1) {
      // From here on it is a drag and no click, wherever the pointer moves.
      if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 3) scroller.setPointerCapture(event.pointerId);
      scroller.scrollLeft = drag.left - (event.clientX - drag.x);
      scroller.scrollTop = drag.top - (event.clientY - drag.y);
    } else {
      drag = null;
    }
  });
  const end = (event) => {
    fingers.delete(event.pointerId);
    if (fingers.size < 2) pinch = null;
    drag = null;
  };
  for (const name of ['pointerup', 'pointercancel']) scroller.addEventListener(name, end);
  // Two fingers zoom the diagram; by default the browser would zoom the whole page. A scroll that
  // has begun cannot be cancelled, and trying to would log an error to the console.
  scroller.addEventListener('touchmove', (event) => {
    if (event.cancelable && event.touches.length > 1) event.preventDefault();
  }, { passive: false });
}

function between(diagram, event) {
  const client = diagram.lanes[event.lane].name;
  if (event.kind === 'point') return client;
  return event.kind === 'request' || event.kind === 'opening' ? `${client} → server` : `server → ${client}`;
}

function sentence(diagram, event) {
  const arrived = event.kind === 'point' ? '' : event.to_us === undefined ? ', lost' : `, arrived ${instant(event.to_us)}`;
  const marks = `${event.blamed ? 'Violation. ' : ''}${event.copy ? 'Second copy. ' : ''}`;
  return `${marks}${between(diagram, event)}: ${event.label}, ${instant(event.from_us)}${arrived}${event.fate === 'fine' || event.kind === 'point' ? '' : `, ${FATES[event.fate]}`}`;
}

function detailsOf(diagram, event) {
  const times = event.kind === 'point' ? [['at', instant(event.from_us)]] : [
    ['sent', instant(event.from_us)],
    ['arrived', event.to_us === undefined ? 'never' : `${instant(event.to_us)} (after ${span((event.to_us - event.from_us) / 1000)})`],
    ...(event.served_us === undefined ? [] : [['served', instant(event.served_us)]]),
  ];
  const fate = event.kind === 'point' ? [] : [['fate', FATES[event.fate] + (event.copy ? '; a second copy that the network made' : '')]];
  return [
    event.blamed ? h('p', { class: 'blame' }, `✗ ${diagram.property}: here it showed`) : null,
    event.blamed ? factList(diagram) : null,
    h('p', { class: 'what' }, h('span', { class: 'muted' }, `${between(diagram, event)} · ${KINDS[event.kind]}`), h('strong', {}, event.label)),
    h('dl', {}, [...times, ...fate, ...event.facts].map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
  ].filter(Boolean);
}

const stretch = (diagram) => `${(diagram.from_us / 1e6).toFixed(3)}s to ${(diagram.to_us / 1e6).toFixed(3)}s`;

function overview(diagram) {
  return [h('p', { class: 'what' }, h('span', { class: 'muted' }, stretch(diagram)), h('strong', {}, diagram.detail)), factList(diagram),
    h('p', { class: 'muted' }, 'Point at an arrow or a mark, or press Enter in the diagram, to read what was asked and answered.')].filter(Boolean);
}

function key(diagram) {
  const sample = (className, ...shapes) => s('svg', { width: 38, height: 14, 'aria-hidden': 'true', class: 'canvas key-sample' }, s('g', { class: className }, shapes));
  const shaft = (x2 = 35) => s('line', { class: 'shaft', x1: 2, y1: 7, x2, y2: 7 });
  const head = s('path', { class: 'tip', d: 'M36,7L28,3.6L28,10.4Z' });
  const items = [
    [sample('event request fine', shaft(), head), 'call', (event) => event.kind === 'request'],
    [sample('event reply fine', shaft(), head.cloneNode()), 'answer', (event) => event.kind === 'reply'],
    [sample('event push fine', shaft(), head.cloneNode()), 'push', (event) => event.kind === 'push'],
    [sample('event reply refused', shaft(), head.cloneNode()), 'refusal', (event) => event.fate === 'refused'],
    [sample('event request lost', shaft(22), s('path', { class: 'x-mark', d: crossPath(22, 7, 4.5) })), 'lost', (event) => event.fate === 'lost'],
    [sample('event reply unheard', shaft(), head.cloneNode()), 'nobody took it', (event) => event.fate === 'unheard'],
    [sample('event request fine copy', shaft(), head.cloneNode()), 'second copy', (event) => event.copy],
    [sample('event reply fine blamed', s('line', { class: 'halo', x1: 2, y1: 7, x2: 36, y2: 7 }), shaft(), head.cloneNode()), 'violation', (event) => event.blamed],
  ];
  const bands = [...new Map(diagram.bands.map((band) => [band.kind, band.label]))];
  return h('ul', { class: 'legend key', 'aria-label': 'Key' }, items.filter((item) => diagram.events.some(item[2])).map(([svg, name]) => h('li', {}, svg, ` ${name}`)),
    bands.map(([kind, label]) => h('li', {}, s('svg', { width: 18, height: 14, 'aria-hidden': 'true', class: 'canvas key-sample' }, s('g', { class: `band ${kind.replace('_', '-')}` }, s('rect', { x: 1, y: 1, width: 16, height: 12, rx: 3 }))), ` ${label}`)));
}

function asTable(diagram) {
  const details = h('details', {}, h('summary', {}, `The same as a table (${diagram.events.length} rows)`));
  details.addEventListener('toggle', () => {
    if (!details.open || details.childElementCount > 1) return;
    const rows = diagram.events.map((event) => [instant(event.from_us), between(diagram, event), (event.blamed ? '✗ ' : '') + event.label,
      event.kind === 'point' ? '' : event.to_us === undefined ? 'never' : instant(event.to_us), event.kind === 'point' ? '' : FATES[event.fate] + (event.copy ? ', second copy' : '')]);
    const bands = diagram.bands.map((band) => [instant(band.from_us), diagram.lanes[band.lane].name, band.label, instant(Math.min(band.to_us, diagram.to_us)), 'fault']);
    const all = [...rows, ...bands].sort((a, b) => parseFloat(a[0]) - parseFloat(b[0]));
    details.append(table('Events of the diagram', ['When', 'Who', 'What', 'Arrived or ended', 'Fate'], all, 'tight'));
  });
  return details;
}

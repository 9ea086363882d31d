// The charts of a run: percentiles, waits by user, and events over time.

// The place of all charts over time in their boxes.
const AXIS = { left: 52, right: 12, height: 118, top: 8, bottom: 6 };
const DASHES = [null, null, '7 3', '2 3', '10 3 2 3', '14 4', '1 4', '5 2 1 2', '9 5'];
const colour = (run, metric) => 1 + run.durations.indexOf(metric);

// The position of a percentile on an axis that is logarithmic in the part above it.
const nines = (percent) => -Math.log10(1 - percent / 100);

// Powers of ten between two values, and their positions.
function decades(low, high) {
  const all = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) all.push(10 ** power);
  return all;
}

// A logarithmic axis for these values, from `top` to `bottom`: its marks, and the height of a value.
function logAxis(values, top, bottom) {
  const marks = decades(Math.max(0.001, Math.min(...values)), Math.max(...values));
  const low = Math.log10(marks[0]), high = Math.max(low + 1, Math.log10(marks[marks.length - 1]));
  const y = (ms) => bottom - ((Math.log10(Math.max(ms, marks[0])) - low) / (high - low)) * (bottom - top);
  return { y, marks };
}

// An axis from zero to `most`, with about `about` marks.
function evenAxis(most, about, top, bottom) {
  return { y: (value) => bottom - (value / most) * (bottom - top), marks: steps(most, about) };
}

// Lines across a plot at these values, each with its value to the left.
const levels = (marks, y, left, right, shown = span) => marks.map((value) => [
  s('line', { class: 'grid', x1: left, x2: right, y1: round(y(value)), y2: round(y(value)) }),
  s('text', { class: 'tick', x: left - 6, y: round(y(value) + 4), 'text-anchor': 'end' }, value === 0 ? '0' : shown(value).replace(/\.0+(?=\D)/, '')),
]);

// About `about` axis steps of a round size.
function steps(end, about) {
  const raw = end / about;
  const scale = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * scale).find((n) => n >= raw);
  const all = [];
  for (let at = 0; at <= end * 1.0001; at += step) all.push(at);
  return all;
}

const clock = (ms) => {
  const seconds = ms / 1000;
  if (seconds < 120) return `${+seconds.toFixed(1)}s`;
  return `${Math.floor(seconds / 60)}m${String(Math.round(seconds % 60)).padStart(2, '0')}`;
};

function percentilePlot(run) {
  const curves = run.charts.curves;
  if (curves.length === 0) return h('p', { class: 'nothing' }, 'No durations were measured.');
  const bounds = run.thresholds.filter((one) => one.place && curves.some((curve) => curve.metric === one.metric)).map((threshold) => ({ threshold, place: { percent: threshold.place[0], ms: threshold.place[1] } }));
  const readout = h('p', { class: 'readout', 'aria-hidden': 'true' }, 'Point at the plot to read values.');
  const legend = lineLegend(curves.map((curve) => [run.titles[curve.metric], colour(run, curve.metric), `${grouped(curve.count)} measured`]));
  const words = curves.map((curve) => {
    const at = (percent) => (curve.points.filter((point) => point[0] <= percent).pop() || curve.points[0])[1];
    return `${run.titles[curve.metric]}: half within ${span(at(50))}, 99 % within ${span(at(99))}, largest ${span(curve.points[curve.points.length - 1][1])}`;
  });
  const draw = (width) => drawPercentiles(run, curves, bounds, readout, words.join('. '), width);
  return h('figure', { class: 'chart' }, drawn(draw, 'plot percentiles'), readout, legend,
    h('figcaption', {}, 'Each curve says how long the given share of all took at most. To the right, each mark has a tenth of the one before left above it; both axes are logarithmic.',
      bounds.length > 0 ? ' A ▼ is the bound of a threshold.' : ''));
}

function drawPercentiles(run, curves, bounds, readout, words, width) {
  const height = width < 500 ? 300 : 360;
  const left = 52, right = 14, top = 12, bottom = 34;
  const values = curves.flatMap((curve) => curve.points.map((point) => point[1])).concat(bounds.map((one) => one.place.ms)).filter((ms) => ms > 0);
  const { y, marks: ys } = logAxis(values, top, height - bottom);
  const furthest = Math.max(2, ...curves.map((curve) => nines(curve.points[curve.points.length - 1][0]))) + 0.12;
  const x = (percent) => left + (nines(percent) / furthest) * (width - left - right);
  const marks = [0, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999].filter((percent) => nines(percent) <= furthest);
  let edge = -Infinity;
  const shownMarks = marks.filter((percent) => {
    const fits = x(percent) - edge > 34;
    if (fits) edge = x(percent);
    return fits;
  });
  const grid = [
    levels(ys, y, left, width - right),
    shownMarks.map((percent) => [
      s('line', { class: 'grid', x1: round(x(percent)), x2: round(x(percent)), y1: top, y2: height - bottom }),
      s('text', { class: 'tick', x: round(x(percent)), y: height - bottom + 16, 'text-anchor': 'middle' }, percent === 0 ? 'least' : `p${percent}`),
    ]),
  ];
  const lines = curves.map((curve) => {
    const place = colour(run, curve.metric);
    const points = curve.points.map(([percent, ms]) => `${round(x(percent))},${round(y(ms))}`);
    const last = curve.points[curve.points.length - 1];
    return [
      s('polyline', { class: `curve series-${place}`, points: points.join(' '), 'stroke-dasharray': DASHES[place], 'data-metric': curve.metric }),
      s('circle', { class: `end series-${place}`, cx: round(x(last[0])), cy: round(y(last[1])), r: 3.2 }),
    ];
  });
  const limits = bounds.map(({ threshold, place }) => {
    const at = [round(x(place.percent)), round(y(place.ms))];
    return s('path', { class: `bound series-${colour(run, threshold.metric)}`, d: `M${at[0] - 5},${at[1] - 9}h10l-5,9z` },
      s('title', {}, `${run.titles[threshold.metric]} ${threshold.expression}: ${threshold.measured}`));
  });
  const cross = s('line', { class: 'cross', y1: top, y2: height - bottom, x1: -9, x2: -9 });
  const point = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = clamp((event.clientX - box.left - left) / (width - left - right), 0, 1) * furthest;
    const percent = 100 * (1 - 10 ** -at);
    cross.setAttribute('x1', round(x(percent)));
    cross.setAttribute('x2', round(x(percent)));
    const read = curves.map((curve) => {
      const above = curve.points.find((known) => known[0] >= percent);
      return `${run.titles[curve.metric]} ${above ? span(above[1]) : '–'}`;
    });
    readout.textContent = `p${percent.toFixed(percent < 90 ? 0 : percent < 99 ? 1 : 3)}: ${read.join(' · ')}`;
  };
  return s('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `Percentiles. ${words}.`, on: { pointermove: point } },
    grid, limits, lines, cross);
}

function waitPlot(title, waits, several) {
  if (waits.users === 0) return null;
  const longest = waits.worst[0].longest_ms;
  const overtaken = waits.worst.filter((wait) => wait.overtaken > 0).length;
  const open = waits.worst.filter((wait) => wait.open).length;
  const shown = waits.worst.length;
  const all = shown < waits.users ? `the ${grouped(shown)} of ${grouped(waits.users)} users who waited longest` : `all ${grouped(shown)} users who waited`;
  const words = `${title}: ${all}, the longest first. Longest ${span(longest)} (${userName(waits.worst[0])}), shortest shown ${span(waits.worst[shown - 1].longest_ms)}. ${overtaken} overtaken, ${open} still waiting at the end.`;
  const draw = (width) => {
    const height = 150, left = 52, top = 14, bottom = 8;
    const { y, marks } = evenAxis(longest || 1, 3, top, height - bottom);
    const step = Math.min(18, (width - left - 8) / shown);
    const bars = waits.worst.map((wait, i) => {
      const at = left + 2 + i * step;
      const wide = Math.max(1, step * (step > 4 ? 0.72 : 0.84));
      return s('g', { class: `bar${wait.open ? ' open' : ''}` },
        s('title', {}, waitWords(wait, several)),
        s('rect', { class: 'hit', x: round(at), y: top, width: round(step), height: height - top - bottom }),
        s('rect', { class: 'wait', x: round(at), y: round(y(wait.longest_ms)), width: round(wide), height: round(Math.max(1, height - bottom - y(wait.longest_ms))) }),
        wait.overtaken > 0 ? s('circle', { class: 'overtaken', cx: round(at + wide / 2), cy: round(y(wait.longest_ms) - 6), r: 3 }) : null);
    });
    return s('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': words },
      levels(marks, y, left, width), bars);
  };
  const heads = ['User', several && 'Seed', '#Longest', '#Waits', '#Overtaken'];
  const rows = waits.worst.slice(0, 6).map((wait) => [userName(wait), wait.seed, span(wait.longest_ms) + (wait.open ? ' and on' : ''), wait.waits, wait.overtaken]);
  const notes = [open > 0 ? 'A hollow bar had not ended when the run did.' : null, overtaken > 0 ? 'A ● marks who was overtaken.' : shown < waits.users ? 'None of them was overtaken.' : 'Nobody was overtaken.'];
  return h('figure', { class: 'chart waits' }, h('h3', {}, title),
    h('p', { class: 'muted' }, `${all[0].toUpperCase()}${all.slice(1)}, the longest first. ${notes.filter(Boolean).join(' ')}`),
    drawn(draw, 'plot'), table(`${title}: who waited longest`, heads, rows, 'tight'));
}

function waitWords(wait, several) {
  const seed = several ? ` (seed ${wait.seed})` : '';
  const over = wait.overtaken > 0 ? `, overtaken ${wait.overtaken} times` : '';
  return `${userName(wait)}${seed}: ${span(wait.longest_ms)}${wait.open ? ' and still waiting' : ''}, ${wait.waits} ${wait.waits === 1 ? 'wait' : 'waits'}${over}`;
}

// The end of the axis of time.
function endOf(run) {
  const { timeline: line, series } = run;
  return Math.max(line.ended_ms, line.quiet_ms || 0, ...line.faults.map((fault) => fault.at_ms + fault.for_ms), series && !run.several_seeds ? series.arrived.length * series.bucket_ms : 0, 1);
}

function timelinePlot(run) {
  const line = run.timeline;
  const end = endOf(run);
  const total = line.arrivals.reduce((sum, n) => sum + n, 0);
  const events = [
    ...line.faults.map((fault) => [clock(fault.at_ms), fault.kind, fault.words]),
    ...(line.healed_ms === null ? [] : [[clock(line.healed_ms), 'heal', 'all faults ended, nobody arrives any more']]),
    ...(line.quiet_ms === null ? [[clock(line.ended_ms), 'not quiet', 'the run ended before everything came to rest']] : [[clock(line.quiet_ms), 'quiet', 'every inbox was drained']]),
    ...line.violations_ms.slice(0, 12).map((ms) => [clock(ms), 'violation', 'a property was violated']),
  ];
  const words = `${grouped(total)} arrivals. ${events.map((event) => `At ${event[0]} ${event[1]}: ${event[2]}`).join('. ')}.`;
  const draw = (width) => drawTimeline(line, end, words, width);
  return h('figure', { class: 'chart' }, drawn(draw, 'plot timeline'),
    h('details', {}, h('summary', {}, `The ${events.length} marks as a table`), table('What happened when', ['When', 'What', 'In words'], events, 'tight')));
}

// Faults with their names: those that would overlap are in separate rows. At the right edge a name is
// before its fault.
function packFaults(faults, x, width) {
  const rows = [];
  return faults.map((fault) => {
    const at = x(fault.at_ms), wide = Math.max(3, x(fault.at_ms + fault.for_ms) - at), name = fault.kind.length * 7 + 6;
    const fits = at + wide + name < width;
    const from = fits ? at : at - name;
    let row = rows.findIndex((free) => free <= from);
    if (row < 0) row = rows.push(0) - 1;
    rows[row] = at + wide + (fits ? name : 0) + 4;
    return { fault, at, wide, fits, row };
  });
}

function drawTimeline(line, end, words, width) {
  const left = AXIS.left, right = AXIS.right, top = 16, bars = 88, rowHeight = 22;
  const faultTop = top + bars + 10;
  const x = (ms) => left + (ms / end) * (width - left - right);
  const packed = packFaults(line.faults, x, width);
  const bottom = faultTop + (Math.max(-1, ...packed.map((one) => one.row)) + 1) * rowHeight + 4;
  const height = bottom + 24;
  const most = Math.max(1, ...line.arrivals);
  const ticks = steps(end, width < 500 ? 4 : 9);
  const arrivals = line.arrivals.map((n, i) => {
    if (n === 0) return null;
    const tall = Math.max(1.5, (n / most) * bars);
    return s('rect', { class: 'arrivals', x: round(x(i * line.bucket_ms)), y: round(top + bars - tall), width: round(Math.max(1.2, x(line.bucket_ms) - x(0) - 1)), height: round(tall) },
      s('title', {}, `${clock(i * line.bucket_ms)}: ${grouped(n)} arrived`));
  });
  const faults = packed.map(({ fault, at, wide, fits, row }) => {
    const y = faultTop + row * rowHeight;
    return s('g', { class: `fault ${fault.kind.replaceAll(' ', '-')}` }, s('title', {}, `${clock(fault.at_ms)} ${fault.kind}: ${fault.words}`),
      s('line', { class: 'fault-at', x1: round(at), x2: round(at), y1: top, y2: y }),
      s('rect', { x: round(at), y, width: round(wide), height: rowHeight - 7, rx: 2 }),
      s('text', { class: 'tick', x: round(fits ? at + wide + 5 : at - 5), y: y + 12, 'text-anchor': fits ? 'start' : 'end' }, fault.kind));
  });
  // At the right edge a name is before its line, otherwise after it.
  let free = -Infinity;
  const instants = [[line.healed_ms, 'heal', 'heal'], [line.quiet_ms, 'quiet', 'quiet']].filter((one) => one[0] !== null).map(([ms, name, kind]) => {
    const at = x(ms), before = at > width - 60;
    const anchor = before ? at - 4 : at + 4;
    const shown = before ? anchor - name.length * 6.5 > free : anchor > free;
    free = before ? at : anchor + name.length * 6.5;
    return s('g', { class: `instant ${kind}` }, s('line', { x1: round(at), x2: round(at), y1: top - 4, y2: bottom }),
      shown ? s('text', { x: round(anchor), y: top + 5, 'text-anchor': before ? 'end' : 'start' }, name) : null);
  });
  const violations = line.violations_ms.map((ms) => s('g', { class: 'instant violation' }, s('title', {}, `${clock(ms)} violation`),
    s('line', { x1: round(x(ms)), x2: round(x(ms)), y1: top, y2: bottom }),
    s('path', { class: 'x-mark', d: crossPath(x(ms), top - 5, 4.5) })));
  return s('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': words },
    s('text', { class: 'tick', x: left - 6, y: top + 4, 'text-anchor': 'end' }, grouped(most)),
    s('text', { class: 'tick', x: left - 6, y: top + bars, 'text-anchor': 'end' }, '0'),
    s('line', { class: 'axis', x1: left, x2: width - right, y1: top + bars, y2: top + bars }),
    ticks.map((ms) => [
      s('line', { class: 'grid', x1: round(x(ms)), x2: round(x(ms)), y1: top, y2: bottom }),
      s('text', { class: 'tick', x: round(x(ms)), y: bottom + 16, 'text-anchor': x(ms) > width - 24 ? 'end' : 'middle' }, clock(ms)),
    ]),
    arrivals, faults, instants, violations);
}

const crossPath = (x, y, r) => `M${round(x - r)},${round(y - r)}L${round(x + r)},${round(y + r)}M${round(x + r)},${round(y - r)}L${round(x - r)},${round(y + r)}`;

// Figures of stages by their offered rate, in the order of that. `ideal` draws the line on which a
// server achieves what is offered. A hollow mark is of a stage that failed.
function stagePlot(stages, title, shown, lines) {
  const words = `${title}. ${stages.map((stage) => `${shown(lines[0][2](stage))} with ${grouped(stage.users)} users, ${stage.verdict === 'pass' ? 'passed' : 'failed'}`).join('; ')}.`;
  const draw = (width) => {
    const height = 220, left = 58, right = 14, top = 10, bottom = 30;
    const end = Math.max(...stages.map((stage) => stage.users), 1);
    const most = Math.max(...stages.flatMap((stage) => lines.map((line) => line[2](stage))), 1e-3);
    const x = (n) => round(left + (n / end) * (width - left - right));
    const axis = evenAxis(most, 4, top, height - bottom);
    const y = (n) => round(axis.y(n));
    const marks = (line) => stages.map((stage) => s('circle', { class: `${stage.verdict === 'pass' ? 'end' : 'open-mark'} series-${line[1]}`, cx: x(stage.users), cy: y(line[2](stage)), r: 4 },
      s('title', {}, `${line[0]}: ${shown(line[2](stage))} with ${grouped(stage.users)} users, ${stage.verdict === 'pass' ? 'passed' : 'failed'}`)));
    return s('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': words },
      levels(axis.marks, y, left, width - right, shown),
      steps(end, width < 500 ? 3 : 6).map((n) => s('text', { class: 'tick', x: x(n), y: height - 10, 'text-anchor': x(n) > width - 30 ? 'end' : 'middle' }, grouped(+n.toFixed(1)))),
      lines.map((line) => [s('polyline', { class: `curve series-${line[1]}`, 'stroke-dasharray': DASHES[line[1]], points: stages.map((stage) => `${x(stage.users)},${y(line[2](stage))}`).join(' ') }), marks(line)]));
  };
  return h('figure', { class: 'chart stage-plot' }, h('h3', {}, title), drawn(draw, 'plot'), lineLegend(lines.map((line) => [line[0], line[1]])),
    h('figcaption', {}, 'By the number of users. A hollow mark is of a stage that did not pass.'));
}

// What each line is, by colour and dashes, and perhaps a note.
function lineLegend(lines) {
  return h('ul', { class: 'legend' }, lines.map(([name, series, note]) => h('li', {},
    s('svg', { width: 34, height: 10, 'aria-hidden': 'true' }, s('line', { x1: 1, x2: 33, y1: 5, y2: 5, class: `curve series-${series}`, 'stroke-dasharray': DASHES[series] })), ` ${name}`, note && [' ', h('span', { class: 'muted' }, note)])));
}

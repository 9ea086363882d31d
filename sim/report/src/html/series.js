// The figures of a run over time, one chart below the other on one axis of time, with the faults as
// bands behind them. Dragging across a chart, or the buttons, zoom all of them.

const SHAPES = {
  line: (points) => `M${points.join('L')}`,
  // A level keeps its height until the end of its bucket.
  steps: (points) => `M${points.map((point, i) => (i === 0 ? point : `${point[0]},${points[i - 1][1]}L${point}`)).join('L')}`,
};

// `Message latency`, `Queue wait`.
const metricName = (metric) => metric[0].toUpperCase() + metric.slice(1).replaceAll('_', ' ');

// The middle of a bucket for rates and quantiles; its end for levels.
function seriesCharts(run) {
  const { series } = run;
  const n = series.arrived.length;
  const middle = (i) => (i + 0.5) * series.bucket_ms;
  const end = (i) => (i + 1) * series.bucket_ms;
  const rate = (counts) => counts.map((count) => count / (series.bucket_ms / 1000));
  const each = (value) => `${value < 10 ? +value.toFixed(1) : grouped(Math.round(value))}/s`;
  const whole = (value) => grouped(Math.round(value));
  // A line: its name, its colour, its shape, its points, and its value in a bucket in words.
  const line = (name, number, values, show, shape = 'line') => [name, number, shape,
    shape === 'steps' ? [[0, 0], ...values.map((value, i) => [end(i), value])] : values.map((value, i) => [middle(i), value]).filter((point) => point[1] !== null),
    (i) => ((values[i] ?? null) === null ? '–' : show(values[i]))];
  const some = series.sampled_of > series.sample.length ? `${grouped(series.sample.length)} of ${grouped(series.sampled_of)}` : grouped(series.sampled_of);
  const sum = (counts) => counts.reduce((all, count) => all + count, 0);
  // The latency of messages, or a latency or wait that a threshold limits.
  const lengths = (metric) => {
    const buckets = series.measured[metric];
    const count = buckets.reduce((sum, bucket) => sum + (bucket ? bucket.count : 0), 0);
    const quantile = (name, number) => line(name, number, buckets.map((bucket) => bucket && bucket[name]), span);
    const isMessage = metric === 'message_latency';
    const limits = series.limits.filter((limit) => limit.metric === metric);
    const over = limits.map((limit) => `${limit.expression} ${limit.crossed.length > 0 ? `crossed in ${limit.crossed.length} of ${buckets.length} buckets` : 'kept in every bucket'}`);
    return { name: metric, title: metricName(metric), log: true, shown: span, limits, dots: isMessage ? series.sample : null,
      note: [`${grouped(count)} measured${isMessage ? `; the dots are ${some}` : ''}`, ...over].join('; '), lines: [quantile('p50', 1), quantile('p95', 4), quantile('p99', 2)] };
  };
  return n === 0 ? [] : [
    ...Object.keys(series.measured).map(lengths),
    { name: 'messages', title: 'Messages', note: `${grouped(sum(series.messages_offered))} offered, ${grouped(sum(series.messages_accepted))} accepted`, shown: each, lines: [
      line('offered', 2, rate(series.messages_offered), each), line('accepted', 1, rate(series.messages_accepted), each)] },
    { name: 'calls', title: 'Calls of any kind', note: `${grouped(sum(series.calls_offered))} offered, ${grouped(sum(series.calls_answered))} answered`, shown: each, lines: [
      line('offered', 2, rate(series.calls_offered), each), line('answered', 1, rate(series.calls_answered), each)] },
    { name: 'users', title: 'Users present', note: `${grouped(sum(series.arrived))} arrived`, shown: whole, lines: [line('present', 3, series.present, whole, 'steps')] },
    { name: 'queue', title: 'Users in the queue', note: `${grouped(Math.max(0, ...series.in_line))} at most`, shown: whole, lines: [line('in the queue', 4, series.in_line, whole, 'steps')] },
    { name: 'refusals', title: 'Refusals', note: `${grouped(sum(series.refused))} of all calls`, shown: each, lines: [line('refused', 2, rate(series.refused), each)] },
  ];
}

function overTime(run) {
  const series = run.series;
  const charts = seriesCharts(run);
  if (charts.length === 0) return h('p', { class: 'nothing' }, 'Nothing was recorded.');
  const end = run.several_seeds ? Math.max(series.ended_ms, series.arrived.length * series.bucket_ms) : endOf(run);
  const state = { from: 0, to: end, at: null };
  const readout = h('p', { class: 'reading', role: 'status' }, 'Point at a chart to read its figures; drag across one to zoom.');
  const zoom = (from, to) => {
    const least = Math.min(end, 4 * series.bucket_ms);
    const middle = (from + to) / 2, half = Math.max(least, to - from) / 2;
    state.from = clamp(middle - half, 0, Math.max(0, end - 2 * half));
    state.to = Math.min(end, state.from + 2 * half);
    stack.redraw();
  };
  const by = (factor, shift) => () => {
    const middle = (state.from + state.to) / 2 + shift * (state.to - state.from);
    const half = ((state.to - state.from) * factor) / 2;
    const kept = clamp(middle, half, Math.max(half, end - half));
    zoom(kept - half, kept + half);
  };
  const buttons = [toolButton('−', 'Zoom the time out', by(2, 0), 'zoomed'), toolButton('+', 'Zoom the time in', by(0.5, 0)), toolButton('←', 'Earlier', by(1, -0.5), 'zoomed'), toolButton('→', 'Later', by(1, 0.5), 'zoomed'), toolButton('All', 'Show the whole run', () => zoom(0, end), 'zoomed')];
  const stack = drawn((width) => {
    for (const one of buttons) one.disabled = one.dataset.needs === 'zoomed' && state.from === 0 && state.to === end;
    return [...charts.map((chart) => h('div', { class: 'series' }, h('h3', {}, chart.title, h('span', { class: 'muted' }, ` ${chart.note}`)), h('div', { class: 'plot over-time', 'data-chart': chart.name }, drawSeries(run, chart, state, width)),
      chart.lines.length > 1 ? lineLegend(chart.lines.map((line) => [line[0], line[1]])) : null)), h('div', { class: 'plot over-time-axis' }, timeAxis(state, width))];
  }, 'stack');
  const toMs = (x) => {
    const width = stack.drawnWidth - AXIS.left - AXIS.right;
    return state.from + (clamp(x - AXIS.left, 0, width) / width) * (state.to - state.from);
  };
  const tell = (ms) => {
    const i = clamp(Math.floor(ms / series.bucket_ms), 0, series.arrived.length - 1);
    readout.textContent = `${clock(i * series.bucket_ms)} to ${clock((i + 1) * series.bucket_ms)}: ${charts.map((chart) => `${chart.title.toLowerCase()} ${chart.lines.map((line) => `${chart.lines.length > 1 ? `${line[0]} ` : ''}${line[4](i)}`).join(', ')}`).join(' · ')}`;
    const x = timeScaleOf(state, stack.drawnWidth)(ms);
    for (const cross of stack.querySelectorAll('.cross')) {
      cross.setAttribute('x1', round(x));
      cross.setAttribute('x2', round(x));
    }
  };
  dragToZoom(stack, toMs, zoom, tell);
  const rows = series.arrived.map((_, i) => [clock(i * series.bucket_ms), ...charts.flatMap((chart) => chart.lines.map((line) => line[4](i)))]);
  const heads = ['From', ...charts.flatMap((chart) => chart.lines.map((line) => `#${chart.lines.length > 1 ? `${chart.title}, ${line[0]}` : chart.title}`))];
  const asTable = h('details', {}, h('summary', {}, `The figures as a table (${rows.length} rows of ${span(series.bucket_ms)})`));
  asTable.addEventListener('toggle', () => asTable.childElementCount === 1 && asTable.append(foldedTable('Figures over time', heads, rows, 'tight')));
  return h('figure', { class: 'chart series-charts' }, h('div', { class: 'tools', role: 'toolbar', 'aria-label': 'The time shown' }, h('span', { class: 'group' }, buttons)), readout, stack, asTable);
}

// A drag across a chart zooms to what it covers; a touch scrolls the page as usual.
function dragToZoom(stack, toMs, zoom, tell) {
  let from = null;
  const place = (event) => {
    const box = event.target instanceof Element && event.target.closest('.over-time');
    return box ? toMs(event.clientX - box.getBoundingClientRect().left) : null;
  };
  stack.addEventListener('pointerdown', (event) => { from = event.pointerType === 'touch' || event.button !== 0 ? null : place(event); });
  stack.addEventListener('pointermove', (event) => {
    const at = place(event);
    if (at !== null) tell(at);
  });
  stack.addEventListener('pointerup', (event) => {
    const to = place(event);
    if (from !== null && to !== null && Math.abs(to - from) > toMs(AXIS.left + 8) - toMs(AXIS.left)) zoom(Math.min(from, to), Math.max(from, to));
    from = null;
  });
}

function timeAxis(state, width) {
  const x = timeScaleOf(state, width);
  const ticks = steps(state.to - state.from, width < 500 ? 4 : 9).map((ms) => state.from + ms);
  return s('svg', { width, height: 20, viewBox: `0 0 ${width} 20`, 'aria-hidden': 'true' }, ticks.map((ms) =>
    s('text', { class: 'tick', x: round(x(ms)), y: 14, 'text-anchor': x(ms) > width - 24 ? 'end' : 'middle' }, clock(ms))));
}

const timeScaleOf = (state, width) => (ms) => AXIS.left + ((ms - state.from) / (state.to - state.from)) * (width - AXIS.left - AXIS.right);

function drawSeries(run, chart, state, width) {
  const height = chart.log ? 170 : AXIS.height;
  const x = timeScaleOf(state, width);
  const isIn = (ms) => ms >= state.from && ms <= state.to;
  // The neighbours of what is shown keep lines going to the edge.
  const near = (points) => points.filter((point, i) => isIn(point[0]) || (points[i + 1] && isIn(points[i + 1][0])) || (points[i - 1] && isIn(points[i - 1][0])));
  const lines = chart.lines.map((line) => [...line.slice(0, 3), near(line[3])]);
  const dots = (chart.dots || []).filter((dot) => isIn(dot[0]));
  const limits = chart.limits || [];
  const values = lines.flatMap((line) => line[3].map((point) => point[1])).concat(dots.map((dot) => dot[1]), limits.map((limit) => limit.bound_ms));
  const above = values.filter((value) => value > 0);
  const place = [AXIS.top, height - AXIS.bottom];
  const axis = chart.log ? logAxis(above.length > 0 ? above : [1], ...place) : evenAxis(Math.max(...above, 0) || 1, 2, ...place);
  const y = (value) => round(axis.y(value));
  const clip = freshId('clip');
  const words = `${chart.title} over time: ${chart.note}. ${chart.lines.map((line) => `${line[0]}: ${line[3].length > 0 ? `largest ${chart.shown(Math.max(...line[3].map((point) => point[1])))}` : 'none'}`).join(', ')}.`;
  return s('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': words },
    s('clipPath', { id: clip }, s('rect', { x: AXIS.left, y: 0, width: width - AXIS.left - AXIS.right, height })),
    faultBands(run, x, height, clip),
    levels(axis.marks, y, AXIS.left, width - AXIS.right, chart.shown),
    s('g', { 'clip-path': `url(#${clip})` },
      dots.map((dot) => s('circle', { class: 'sample', cx: round(x(dot[0])), cy: y(dot[1]), r: 1.8 })),
      limits.map((limit) => [limit.crossed.map((i) => s('rect', { class: 'over', x: round(x(i * run.series.bucket_ms)), y: 0, width: round(Math.max(1.5, x((i + 1) * run.series.bucket_ms) - x(i * run.series.bucket_ms))), height: y(limit.bound_ms) }, s('title', {}, `${clock(i * run.series.bucket_ms)}: ${limit.expression} was not kept`))),
        s('line', { class: `limit${limit.crossed.length > 0 ? ' crossed' : ''}`, x1: AXIS.left, x2: width - AXIS.right, y1: y(limit.bound_ms), y2: y(limit.bound_ms) }),
      ]),
      [...new Set(limits.map((limit) => limit.bound_ms))].map((bound) => s('text', { class: 'limit-name', x: width - AXIS.right - 4, y: y(bound) - 4, 'text-anchor': 'end' }, limits.filter((limit) => limit.bound_ms === bound).map((limit) => limit.expression).join(', '))),
      // The widest line is below the others: equal figures do not hide one another.
      lines.filter((line) => line[3].length > 0).reverse().map((line) => s('path', { class: `curve series-${line[1]}`, 'stroke-dasharray': lines.length > 1 ? DASHES[line[1]] : null, 'data-line': line[0], d: SHAPES[line[2]](line[3].map((point) => [round(x(point[0])), y(point[1])])) })),
      s('line', { class: 'cross', x1: -9, x2: -9, y1: 0, y2: height })));
}

// Behind each chart: when faults were active, when all had healed, and when violations were found.
function faultBands(run, x, height, clip) {
  const line = run.timeline;
  const at = (ms, kind, name) => s('line', { class: `moment ${kind}`, x1: round(x(ms)), x2: round(x(ms)), y1: 0, y2: height }, s('title', {}, `${clock(ms)} ${name}`));
  return s('g', { 'clip-path': `url(#${clip})` },
    line.faults.map((fault) => s('rect', { class: 'fault-band', x: round(x(fault.at_ms)), y: 0, width: round(Math.max(2, x(fault.at_ms + fault.for_ms) - x(fault.at_ms))), height }, s('title', {}, `${clock(fault.at_ms)} ${fault.kind}: ${fault.words}`))),
    line.healed_ms === null ? null : at(line.healed_ms, 'heal', 'all faults ended'),
    line.violations_ms.map((ms) => at(ms, 'violation', 'a property was violated')));
}

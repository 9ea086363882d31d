// The page of `sim calibrate`: one scenario on a live server, and on a virtual server with the same
// times.

const COLOURS = [1, 2, 4]; // of p50, p95 and p99
const DASH = '5 4'; // of the virtual side

const times = (ratio) => (ratio === null ? '–' : ratio < 99.5 ? ratio.toFixed(2) : String(Math.round(ratio)));
const loadName = (scale) => `× ${+scale.rate_scale.toFixed(3)}`;

// The quantiles of a metric on one side, at one load; none if it has no measurements.
function values(data, side, metric) {
  const measured = side.metrics[metric];
  return measured ? data.quantiles.map((name) => measured[name]) : null;
}

function header(data) {
  const { done } = data;
  const sides = done.sides;
  const first = sides.parts.length > 0 ? `${data.parts[0][0]}: ${data.parts[0][1]}.` : 'Nothing was measured by both.';
  const bad = done.exit_code !== 0;
  return h('header', { class: `verdict ${bad ? 'bad' : 'good'}` },
    h('p', { class: 'badge-line' }, h('strong', { class: 'badge' }, bad ? '✗ VIOLATED' : 'MEASURED'),
      h('span', { class: 'muted' }, `${sides.scenario} · seed ${sides.seed} · ${done.target} by ${done.protocol} · exit ${done.exit_code}`)),
    h('h1', {}, first[0].toUpperCase() + first.slice(1)),
    data.parts.slice(1).map(([name, words]) => h('p', { class: 'sentence' }, `${name[0].toUpperCase()}${name.slice(1)}: ${words}.`)),
    h('p', { class: 'muted' }, `How near the two worlds come is shown here, and not promised. ${data.not_in_it}`));
}

function key(data) {
  const line = (at, virtual) => s('svg', { width: 40, height: 12, 'aria-hidden': 'true' },
    s('line', { x1: 1, x2: 39, y1: 6, y2: 6, class: `curve series-${COLOURS[at]}`, 'stroke-dasharray': virtual ? DASH : null }), dot(20, 6, at, virtual));
  return h('ul', { class: 'legend' }, data.quantiles.flatMap((name, at) => [
    h('li', {}, line(at, false), ` ${name} live`), h('li', {}, line(at, true), ` ${name} virtual`)]));
}

// Live is a filled circle, virtual an open square, so that the meaning does not depend on colour
// alone.
const dot = (x, y, at, virtual) => (virtual
  ? s('rect', { class: `open-mark series-${COLOURS[at]}`, x: round(x - 3.4), y: round(y - 3.4), width: 6.8, height: 6.8 })
  : s('circle', { class: `end series-${COLOURS[at]}`, cx: round(x), cy: round(y), r: 3.6 }));

function chart(data, metric) {
  const scales = data.done.sides.scales.filter((scale) => scale.ratios[metric]);
  const title = data.titles[metric];
  const words = scales.map((scale) => {
    const [virtual, live] = [values(data, scale.virtual, metric), values(data, scale.live, metric)];
    return `${loadName(scale)}: ${data.quantiles.map((name, at) => `${name} ${span(virtual[at])} virtual, ${span(live[at])} live`).join(', ')}`;
  });
  const ratios = scales.map((scale) => [loadName(scale), ...scale.ratios[metric].map(times)]);
  const rows = scales.flatMap((scale) => data.quantiles.map((name, at) =>
    [`${loadName(scale)} ${name}`, span(values(data, scale.virtual, metric)[at]), span(values(data, scale.live, metric)[at]), times(scale.ratios[metric][at])]));
  return h('figure', { class: 'chart both', 'data-metric': metric }, h('h3', {}, title),
    drawn((width) => draw(data, metric, scales, words, width), 'plot'), table(`${title}: live over virtual`, ['Live over virtual', ...data.quantiles.map((name) => `#${name}`)], ratios, 'tight'),
    h('details', {}, h('summary', {}, `The ${rows.length} pairs as a table`), table(`${title}, virtual and live`, ['Load', '#Virtual', '#Live', '#Ratio'], rows, 'tight')));
}

function draw(data, metric, scales, words, width) {
  const height = 300, left = 56, right = 18, top = 12, bottom = 40;
  const all = scales.flatMap((scale) => [...values(data, scale.virtual, metric), ...values(data, scale.live, metric)]).filter((ms) => ms > 0);
  const { y, marks } = logAxis(all, top, height - bottom);
  const [first, last] = [scales[0].rate_scale, scales[scales.length - 1].rate_scale].map(Math.log2);
  const wide = width - left - right - 24;
  const x = (scale) => left + 12 + (last > first ? (Math.log2(scale.rate_scale) - first) / (last - first) : 0.5) * wide;
  const grid = [
    levels(marks, y, left, width - right),
    scales.map((scale) => [
      s('line', { class: 'grid', x1: round(x(scale)), x2: round(x(scale)), y1: top, y2: height - bottom }),
      s('text', { class: 'tick', x: round(x(scale)), y: height - bottom + 17, 'text-anchor': 'middle' }, loadName(scale)),
    ]),
    s('text', { class: 'tick', x: round(left + 12 + wide / 2), y: height - 6, 'text-anchor': 'middle' }, 'arrivals'),
  ];
  const curves = ['virtual', 'live'].flatMap((world) => data.quantiles.map((name, at) => {
    const points = scales.map((scale) => [scale, values(data, scale[world], metric)[at]]);
    return s('g', { class: 'side', 'data-world': world, 'data-quantile': name },
      s('polyline', { class: `curve series-${COLOURS[at]}`, 'stroke-dasharray': world === 'virtual' ? DASH : null, points: points.map(([scale, ms]) => `${round(x(scale))},${round(y(ms))}`).join(' ') }),
      points.map(([scale, ms]) => s('g', {}, s('title', {}, `${loadName(scale)} ${world} ${name} ${span(ms)}`), dot(x(scale), y(ms), at, world === 'virtual'))));
  }));
  return s('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${data.titles[metric]}. ${words.join('. ')}.` }, grid, curves);
}

function worlds(data) {
  const { scales } = data.done.sides;
  const metrics = data.metrics.filter((metric) => scales.some((scale) => scale.ratios[metric]));
  return section('latency', 'Both worlds under rising load',
    h('p', { class: 'lead' }, 'Quantiles of the same users with the same seed, by what arrivals were multiplied with; both axes are logarithmic. The ratio is live over virtual.'),
    key(data), h('div', { class: 'pair charts' }, metrics.map((metric) => chart(data, metric))));
}

function ratesOf(data) {
  const rows = data.done.sides.scales.map((scale) => {
    const { virtual, live } = scale;
    const ratio = virtual.achieved_per_second > 0 ? live.achieved_per_second / virtual.achieved_per_second : null;
    return [loadName(scale), grouped(virtual.users), grouped(live.users), callRate(virtual.offered_per_second), callRate(live.offered_per_second),
      callRate(virtual.achieved_per_second), callRate(live.achieved_per_second), h('strong', {}, times(ratio))];
  });
  return section('rates', 'Rates', h('p', { class: 'lead' }, 'Calls a second while users arrive: those that they meant to make, and those that were answered.'),
    table('Rates', ['Load', '#Users virtual', '#live', '#Offered/s virtual', '#live', '#Answered/s virtual', '#live', '#ratio'], rows, 'tight'));
}

function measured(data) {
  const { done } = data;
  const trips = [done.floor, done.read, done.committed].map(({ request, took }) =>
    [h('code', {}, request), grouped(took.count), span(took.p50), span(took.p90), span(took.p99), span(took.max)]);
  const stages = done.stages.map((stage) => [grouped(stage.connections), grouped(Math.round(stage.per_second)), `${Math.round(stage.driver_busy * 100)} %`]);
  return section('measured', 'What the server takes',
    h('p', { class: 'lead' }, 'The virtual server is made of this, and of nothing else.'), h('pre', {}, h('code', {}, data.yaml)),
    h('div', { class: 'pair' },
      h('div', {}, h('h3', {}, 'Round trips, one at a time'), table('Round trips', ['Request', '#Count', '#p50', '#p90', '#p99', '#Max'], trips, 'tight')),
      h('div', {}, h('h3', {}, 'Reads from more and more connections'), table('Reads at once', ['Connections', '#Reads/s', '#Driver busy'], stages, 'tight'))));
}

function notes(data) {
  const all = data.done.remarks.map((remark) => ['the measuring', remark]);
  for (const scale of data.done.sides.scales) {
    for (const world of ['virtual', 'live']) {
      const side = scale[world];
      if (side.violation) all.push([`${loadName(scale)}, ${world}`, `✗ ${side.violation}`]);
      all.push(...side.remarks.map((remark) => [`${loadName(scale)}, ${world}`, remark]));
    }
  }
  return all.length > 0 ? section('notes', 'What to know', table('What to know', ['Of', 'Note'], all)) : null;
}

function begin() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const footer = h('footer', {}, h('p', { class: 'muted' }, `Talking Stick simulator ${data.version}. One file, which asks nothing of the network.`));
  document.getElementById('app').append(h('main', { class: 'run', id: 'report' }, header(data), worlds(data), ratesOf(data), notes(data), measured(data)), footer);
}

begin();

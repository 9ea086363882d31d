// The page: the result of the run, with the verdict first.

const STANDINGS = { held: '✓', violated: '✗', 'not judged': '?', 'not exercised': '–' };
const CLASSES = [['safety', 'Safety', 'nothing bad happens'], ['liveness', 'Liveness', 'something good happens in time, once the faults are healed'], ['threshold', 'Thresholds', 'figures keep to their bounds']];
const VERDICTS = { pass: 'passed', safety: 'a safety property was violated', liveness: 'a liveness property was violated', unjudged: 'could not be judged', threshold: 'a threshold was crossed', interrupted: 'was interrupted' };
const BADGES = { pass: '✓ PASS', interrupted: '… INTERRUPTED' };

const passed = (run) => run.verdict in BADGES;

// Gives each section of a page an anchor, and lists the sections. `prefix` keeps the anchors of
// several runs apart.
function contents(sections, prefix) {
  const taken = new Set();
  const links = sections.map((one) => {
    let anchor = prefix + one.classList[0];
    while (taken.has(anchor)) anchor += '-2';
    taken.add(anchor);
    one.id = anchor;
    one.tabIndex = -1;
    return h('li', {}, h('a', { href: `#${anchor}` }, one.querySelector('h2').textContent));
  });
  return h('nav', { class: 'contents', 'aria-label': 'Contents' }, h('ul', {}, links));
}

// What passed is folded behind one line.
function folded(summary, ...children) {
  return h('details', { class: 'passed' }, h('summary', {}, summary), children);
}

function verdictHeader(run) {
  const good = passed(run);
  const [first, ...rest] = run.sentences.length > 0 ? run.sentences : [`${run.what} did not hold.`];
  return h('header', { class: `verdict ${good ? 'good' : 'bad'}` },
    h('p', { class: 'badge-line' }, h('strong', { class: 'badge' }, BADGES[run.verdict] ?? '✗ FAIL'), good ? null : h('strong', { class: 'property' }, run.what),
      h('span', { class: 'muted' }, `${run.name} · ${run.seeds} · ${VERDICTS[run.verdict]} · exit ${run.exit_code}`)),
    h('h1', {}, first), rest.map((sentence) => h('p', { class: 'sentence' }, sentence)),
    run.commands.length > 0 ? h('ul', { class: 'commands' }, run.commands.map(([words, text]) => h('li', {}, h('span', { class: 'muted' }, `${words} `), command(text)))) : null,
    run.rerun ? h('p', { class: 'muted' }, run.rerun) : null);
}

function facts(run) {
  const personas = run.personas.map(([name, n]) => (n === '' ? name : `${n} ${name}`)).join(', ');
  const agents = ['Agents', `${run.users}${personas ? `: ${personas}` : ''}`];
  const all = run.live ? [['Scenario', run.file], agents, ...run.live.facts, ['Real time', run.wall]] : [
    ['Scenario', run.file], agents, ['Server', run.server.join(' ')],
    ['Network', run.network.length > 0 ? run.network.join(' · ') : 'loses and doubles nothing'],
    ['Virtual time', run.wall], ['Trace hash', h('code', {}, run.trace_hash)],
  ];
  return h('div', { class: 'about' }, run.about.trim() ? h('p', {}, run.about) : null,
    h('dl', { class: 'facts' }, all.filter((fact) => fact[1] !== '').map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value)))));
}

function violationsSection(run) {
  if (run.violations.length === 0) return null;
  const heads = ['Property', run.live ? 'Time' : 'Virtual time', 'What happened', 'Users', run.several_seeds && '#Seed'];
  const rows = run.violations.map((violation) => [violation.property, instant(violation.at_ms * 1000), violation.detail, violation.users.join(', '), violation.seed]);
  const more = run.violations_in_all - run.violations.length;
  return section('violations', `Violations (${grouped(run.violations_in_all)})`,
    run.several_seeds && run.failing_seeds.length > 0 ? h('p', {}, `Seeds that showed one: ${run.failing_seeds.join(', ')}.`) : null,
    foldedTable('Violations', heads, rows), more > 0 ? h('p', { class: 'muted' }, `${grouped(more)} more are not listed.`) : null);
}

function diagramSections(run) {
  return run.diagrams.map((diagram) => {
    const shrunk = diagram.of === 'shrunk';
    const titles = { shrunk: 'Shrunk: the smallest failing run', followed: diagram.detail, slowest: `The longest under ${diagram.property}`, whole: 'What happened' };
    return section('space-time', titles[diagram.of],
      h('p', { class: 'lead' }, shrunk ? `The smallest run found that violates ${diagram.property}.` : `${diagram.of === 'slowest' ? `${diagram.detail}. ` : ''}Seed ${diagram.seed}, ${stretch(diagram)} of virtual time. Time goes downward; long pauses are drawn short.`),
      diagramView(diagram));
  });
}

const ORDER = { violated: 0, 'not judged': 1, held: 2, 'not exercised': 3 };
// A crossed threshold is in the table of thresholds.
const isOpen = (property) => property.class !== 'threshold' && (property.standing === 'violated' || property.standing === 'not judged');

function propertyWords(property) {
  const part = property.unjudged === '0' ? '' : `, ${property.unjudged} not judged`;
  if (property.standing === 'held') return `${property.checks} checks${part}`;
  return property.standing === 'violated' ? `violated, ${property.checks} checks${part}` : property.standing + (property.standing === 'not judged' ? ` (${property.unjudged} times)` : '');
}

function propertyGroups(all) {
  return CLASSES.map(([name, title, words]) => {
    const some = all.filter((property) => property.class === name);
    if (some.length === 0) return null;
    some.sort((a, b) => ORDER[a.standing] - ORDER[b.standing]);
    return h('div', { class: 'property-class' }, h('h3', {}, title, h('span', { class: 'muted' }, ` ${words}`)),
      h('ul', { class: 'properties' }, some.map((property) => h('li', { class: property.standing.replace(' ', '-'), 'data-property': property.name },
        h('span', { class: 'mark', 'aria-hidden': 'true' }, STANDINGS[property.standing]),
        h('span', { class: 'name' }, h('strong', {}, property.name), h('span', { class: 'muted' }, property.meaning)),
        h('span', { class: 'standing' }, propertyWords(property))))));
  });
}

function propertiesSection(run) {
  const open = run.properties.filter(isOpen);
  const rest = run.properties.filter((property) => !isOpen(property));
  const count = (standing) => rest.filter((property) => property.standing === standing && property.class !== 'threshold').length;
  const [held, unused, thresholds] = [count('held'), count('not exercised'), rest.filter((property) => property.class === 'threshold').length];
  const words = `✓ ${held} held${unused > 0 ? `, – ${unused} not exercised` : ''}${thresholds > 0 ? `; ${thresholds} of thresholds` : ''}`;
  return section('property-list', 'Properties', run.live ? h('p', { class: 'lead' }, run.live.judged) : null, propertyGroups(open), rest.length > 0 ? folded(words, propertyGroups(rest)) : null);
}

function thresholdsSection(run) {
  if (run.thresholds.length === 0) return null;
  const isListed = (threshold) => run.series && run.series.slowest[threshold.of];
  const slowest = (threshold) => (isListed(threshold) ? [' · ', h('button', { type: 'button', class: 'user-link', on: { click: (event) => toSlowest(event, threshold.of) } }, 'what took longest')] : null);
  const rows = (some) => some.map((threshold) => [h('code', {}, `${threshold.metric} ${threshold.expression}`), threshold.measured + (threshold.seed ? ` (seed ${threshold.seed})` : ''),
    h('span', { class: threshold.met === true ? 'met' : threshold.met === false ? 'crossed' : 'muted' }, threshold.met === true ? '✓ met' : threshold.met === false ? '✗ crossed' : '? not measured', slowest(threshold))]);
  const met = run.thresholds.filter((threshold) => threshold.met === true);
  const others = run.thresholds.filter((threshold) => threshold.met !== true);
  const shown = (some, caption) => foldedTable(caption, ['Threshold', '#Measured', 'Result'], rows(some), 'tight');
  return section('thresholds', 'Thresholds', others.length > 0 ? shown(others, 'Thresholds that were not met') : null,
    met.length > 0 ? folded(`✓ ${met.length} met`, shown(met, 'Thresholds that were met')) : null);
}

function latencySection(run) {
  const rows = run.metrics.map((metric) => [metric.title, metric.count, ...metric.figures, metric.unfinished > 0 ? grouped(metric.unfinished) : '–']);
  return section('latency', 'Latency',
    h('p', { class: 'lead' }, run.live ? 'Real time, from the moment an action was meant to start: a delay of the driver counts.' : 'Virtual time, from the moment an action was meant to start.', run.several_seeds ? ' Over all seeds.' : null),
    percentilePlot(run), table('Figures', ['Metric', '#Count', '#p50', '#p90', '#p95', '#p99', '#p99.9', '#Max', '#Mean', '#Open at the end'], rows));
}

function waitsSection(run) {
  const plots = [waitPlot('In the queue', run.charts.queue, run.several_seeds), waitPlot('For the stick', run.charts.stick, run.several_seeds)].filter(Boolean);
  const shares = run.shares.map((share) => [share.title, share.jain, share.min ?? '–', share.max, share.mean, share.overtaken ?? '–', share.least ?? '–']);
  return section('fairness', 'Waits and fairness', plots.length > 0 ? h('div', { class: 'pair' }, plots) : h('p', { class: 'nothing' }, 'Nobody waited in the queue or for a stick.'),
    table('How evenly it was shared', ['Share', '#Jain’s index', '#Min', '#Max', '#Mean', '#Overtaken at most', 'Least served'], shares, 'tight'));
}

function messagesSection(run) {
  const refusals = run.refusals.map(([code, n]) => [h('code', {}, code), n]);
  return section('messages', 'Messages and refusals', h('div', { class: 'pair' },
    h('div', {}, h('h3', {}, 'Messages'), table('Messages', ['Messages', '#Count', 'Meaning'], run.counts, 'tight')),
    h('div', {}, h('h3', {}, 'Refusals of all calls, by code'), refusals.length > 0 ? foldedTable('Refusals by code', ['Code', '#Count'], refusals, 'tight') : h('p', { class: 'nothing' }, 'Nothing was refused.'))));
}

// The load of a live run at each rate that was tried.
function stagesSection(run) {
  if (!run.live || run.live.stages.length === 0) return null;
  const stages = [...run.live.stages].sort((a, b) => a.users - b.users);
  const rows = run.live.stages.map((stage) => [`× ${+stage.rate_scale.toFixed(3)}`, grouped(stage.users), callRate(stage.offered_per_second), callRate(stage.achieved_per_second), span(stage.message_p99), span(stage.request_p99), span(stage.delay_p99),
    h('span', { class: stage.verdict === 'pass' ? 'met' : 'crossed' }, stage.verdict === 'pass' ? '✓ passed' : `✗ ${VERDICTS[stage.verdict]}`)]);
  return section('stages', 'Load: every rate that was tried', h('p', { class: 'lead' }, 'Each stage is a run of the scenario at one rate. A server keeps up as long as it achieves what is offered; then the latencies rise, and users who wait offer less.'),
    stages.length > 1 ? h('div', { class: 'pair' }, stagePlot(stages, 'Calls each second', (n) => `${callRate(n).replace(/\.0$/, '')}/s`, [['offered', 2, (stage) => stage.offered_per_second], ['achieved', 1, (stage) => stage.achieved_per_second]]),
      stagePlot(stages, 'The 99th percentile of latencies', span, [['message', 1, (stage) => stage.message_p99], ['request', 2, (stage) => stage.request_p99], ['the driver’s own delay', 5, (stage) => stage.delay_p99]])) : null,
    table('Stages', ['Rate', '#Users', '#Offered/s', '#Achieved/s', '#Message p99', '#Request p99', '#Driver p99', 'Result'], rows, 'tight'));
}

function reachedSection(run) {
  const chip = (point) => h('li', { class: `${point.times > 0 ? 'yes' : 'no'}${point.expected ? ' expected' : ''}` }, h('span', { 'aria-hidden': 'true' }, point.times > 0 ? '✓ ' : '– '), point.name, point.times > 0 ? h('span', { class: 'times' }, ` ${grouped(point.times)}`) : null, point.expected ? h('span', { class: 'wanted' }, ' expected') : null);
  const by = (want) => run.reached.filter(want).sort((a, b) => b.expected - a.expected);
  const yes = by((point) => point.times > 0), no = by((point) => point.times === 0);
  const missed = no.filter((point) => point.expected), others = no.filter((point) => !point.expected);
  return section('reached', 'Points reached', h('p', { class: 'lead' }, `${yes.length} of ${run.reached.length} points that a run should reach now and then. The scenario is after those marked as expected.${run.live ? ' On a live server only points that clients can see are counted.' : ''}`),
    h('ul', { class: 'chips' }, yes.map(chip), missed.map(chip)), others.length > 0 ? folded(`${others.length} were never reached`, h('ul', { class: 'chips' }, others.map(chip))) : null);
}

function stuckSection(run) {
  if (run.stuck_in_all === 0) return null;
  const heads = ['User', 'At', 'Waits for', '#Since', run.several_seeds && '#Seed'];
  const rows = run.stuck.map((stuck) => {
    const held = stuck.holder ? [h('br'), h('span', { class: 'muted' }, 'held by ', userName(stuck.holder), `, gone since ${span(stuck.holder.since_ms)}: see reconnect_grace`)] : null;
    return [userName(stuck), stuck.at, held ? h('span', {}, stuck.waiting_for, held) : stuck.waiting_for, span(stuck.since_ms), stuck.seed];
  });
  const more = run.stuck_in_all - run.stuck.length;
  return section('stuck', `Stuck users (${grouped(run.stuck_in_all)})`, h('p', { class: 'lead' }, run.rest), foldedTable('Stuck users', heads, rows, 'tight'), more > 0 ? h('p', { class: 'muted' }, `${grouped(more)} more are not listed.`) : null);
}

function whenSection(run) {
  const words = () => `${run.several_seeds ? `The charts below are of seed ${run.series.seed} alone. ` : ''}One axis of time for all; the shaded bands are faults.`;
  return section('when', 'When what happened', timelinePlot(run), run.series ? [h('p', { class: 'lead' }, words()), overTime(run)] : null);
}

// What failed comes first: the violation, what crossed a threshold, and who was stuck.
function runPage(run, id, prefix) {
  const crossed = run.thresholds.some((threshold) => threshold.met !== true);
  const failed = run.properties.some((property) => isOpen(property) && property.standing === 'violated');
  const missed = run.reached.some((point) => point.expected && point.times === 0);
  const first = [diagramSections(run), violationsSection(run), stuckSection(run), crossed ? [thresholdsSection(run), whenSection(run), slowestSection(run)] : null, failed ? propertiesSection(run) : null, missed ? reachedSection(run) : null];
  const rest = [stagesSection(run), crossed ? null : whenSection(run), latencySection(run), crossed ? null : slowestSection(run), waitsSection(run), messagesSection(run),
    crossed ? null : thresholdsSection(run), failed ? null : propertiesSection(run), missed ? null : reachedSection(run), usersSection(run)];
  const sections = [first, rest].flat(2).filter(Boolean);
  const places = contents(sections, prefix);
  const split = first.flat().filter(Boolean).length;
  return h('main', { class: 'run', id }, verdictHeader(run), places, sections.slice(0, split), facts(run), sections.slice(split));
}

// Paper shows what is folded.
function unfoldForPaper() {
  let opened = [];
  window.addEventListener('beforeprint', () => {
    opened = [...document.querySelectorAll('details:not([open])')];
    for (const one of opened) one.open = true;
  });
  window.addEventListener('afterprint', () => opened.forEach((one) => { one.open = false; }));
}

// A single run fills the page. With several, a list links to each, and one is shown at a time;
// printing shows all.
function start(data) {
  const app = document.getElementById('app');
  const footer = h('footer', {}, h('p', { class: 'muted' }, `Talking Stick simulator ${data.version}. One file, which asks nothing of the network.`));
  if (data.runs.length === 1) {
    app.append(runPage(data.runs[0], 'report', ''), footer);
    toAnchor();
    return;
  }
  const built = new Map();
  const links = data.runs.map((run, i) => h('a', { href: `#run-${i + 1}`, class: passed(run) ? 'good' : 'bad' },
    h('span', { class: 'mark', 'aria-hidden': 'true' }, passed(run) ? '✓' : '✗'), ` ${run.name}`, h('span', { class: 'unseen' }, passed(run) ? ' passed' : ` failed: ${run.what}`)));
  const box = h('div', { id: 'report' });
  const failed = data.runs.filter((run) => !passed(run)).length;
  const build = (i) => {
    if (!built.has(i)) {
      built.set(i, runPage(data.runs[i], `run-${i + 1}-page`, `run-${i + 1}-`));
      box.append(built.get(i));
    }
  };
  const choose = () => {
    const asked = /^#run-(\d+)(?:-|$)/.exec(location.hash);
    const first = Math.max(0, data.runs.findIndex((run) => !passed(run)));
    const i = asked && data.runs[Number(asked[1]) - 1] ? Number(asked[1]) - 1 : first;
    build(i);
    for (const [k, page] of built) page.hidden = k !== i;
    links.forEach((link, k) => (k === i ? link.setAttribute('aria-current', 'page') : link.removeAttribute('aria-current')));
  };
  app.append(h('nav', { class: 'runs', 'aria-label': 'Runs' },
    h('p', { class: 'muted' }, `${data.runs.length} scenarios, ${failed === 0 ? 'all passed' : `${failed} failed`}`), h('ul', {}, links.map((link) => h('li', {}, link)))), box, footer);
  window.addEventListener('hashchange', () => {
    choose();
    if (!toAnchor()) window.scrollTo(0, 0);
  });
  window.addEventListener('beforeprint', () => data.runs.forEach((_, i) => {
    build(i);
    built.get(i).hidden = false;
  }));
  window.addEventListener('afterprint', choose);
  choose();
  toAnchor();
}

// Sections are made after the browser looked for the anchor of the address.
function toAnchor() {
  const place = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (place) place.scrollIntoView();
  return Boolean(place);
}

unfoldForPaper();
start(JSON.parse(document.getElementById('data').textContent));

// Stress and the boss's alert level, and what they mean.

import { h } from '/preact/preact.mjs';
import { ask as question } from '/page/dialog.js';
import { Name } from '/page/parts.js';

// Nothing is shown if both are zero.
export function Mood({ user }) {
  const { stress_level: stress, boss_alert_level: boss } = user;
  if (!stress && !boss) return null;
  return h('button', { class: 'small quiet mood', 'aria-haspopup': 'dialog', onClick: () => explain(user) },
    `stress ${stress} of 100, boss alert ${boss} of 5`);
}

function explain({ display_name: name, stress_level: stress, boss_alert_level: boss }) {
  question({
    title: ['How ', h(Name, null, name), ' is'],
    text: [
      `Stress is ${stress} of 100. It rises by one a minute. A break lowers it. Agents have tools for breaks.`,
      `The boss alert is ${boss} of 5. The boss may notice a break, which raises the alert by one; it falls again with time.`,
      boss >= 5
        ? 'At 5, as now, the answer to a break comes 20 seconds late.'
        : 'At 5 the answer to a break would come 20 seconds late.',
      'Neither changes what is said in rooms, nor how fast.',
    ],
  });
}

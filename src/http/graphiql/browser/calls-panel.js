/**
 * @typedef {{
 *   path: string, operation: string, method: string, url: string, source: string, status: number | null,
 *   offsetMs: number, milliseconds: number | null, bytes: number | null, trackId: string | null, code: string | null,
 * }} Call as docs/clients.md has it
 * @typedef {{ restCalls: number, calls: readonly Call[] }} Explained
 * @typedef {{ field: string, operations: readonly string[], member?: string }} FieldInRest
 */

const isOffKey = 'callsPanelIsOff';

/**
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @param {(Node | string)[]} children
 */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** @param {number} count @param {string} noun */
const counted = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

/**
 * The panel beside the answer: the REST calls that an operation made, as a waterfall.
 *
 * @param {HTMLElement} panel
 * @param {Pick<Storage, 'getItem' | 'setItem'>} storage remembers whether it is on
 * @param {() => Promise<readonly FieldInRest[]>} fieldsOf loads what the fields of the schema are in REST
 */
export function createCallsPanel(panel, storage, fieldsOf) {
  const toggle = /** @type {HTMLInputElement} */ (element('input', { type: 'checkbox', id: 'calls-on' }));
  toggle.checked = storage.getItem(isOffKey) !== 'true';
  toggle.addEventListener('change', () => {
    storage.setItem(isOffKey, String(!toggle.checked));
    showIdle();
  });
  const body = element('div', { class: 'calls-body', 'aria-live': 'polite' });
  const title = element('label', { for: 'calls-on', title: 'Operations are prepared anew while this is on' });
  title.append(toggle, 'REST calls');
  panel.replaceChildren(title, body, fieldSearch(fieldsOf));
  const showIdle = () => body.replaceChildren(...(toggle.checked ? [hint(idle)] : []));
  showIdle();
  panel.hidden = false;
  return {
    asksForCalls: () => toggle.checked,
    /** @param {Explained | null} explained null if it was refused @param {string} name the operation's */
    onCalls: (explained, name) =>
      body.replaceChildren(
        ...(explained === null
          ? [hint(`${name} was refused before it made a REST call.`)]
          : waterfall(explained, name)),
      ),
  };
}

const idle = 'Run an operation to see what it asks of the bank, and when.';

/** @param {string} text */
const hint = (text) => element('p', { class: 'calls-hint' }, text);

/** @param {Explained} explained @param {string} name */
function waterfall({ restCalls, calls }, name) {
  const end = Math.max(1, ...calls.map(({ offsetMs, milliseconds }) => offsetMs + (milliseconds ?? 0)));
  const summary = element(
    'p',
    { class: 'calls-summary' },
    element('strong', {}, name),
    ` made ${counted(restCalls, 'REST call')}${calls.length === 0 ? '' : ` in ${Math.round(end)} ms`}.`,
  );
  const rows = calls.toSorted((one, other) => one.offsetMs - other.offsetMs).map((call) => row(call, end));
  return rows.length === 0 ? [summary] : [summary, element('ol', { class: 'calls-list' }, ...rows)];
}

/** @param {Call} call @param {number} end when the last one ended, in milliseconds */
function row(call, end) {
  const { path, operation, method, url, source, status, offsetMs, milliseconds, bytes, trackId, code } = call;
  const took = milliseconds === null ? '' : `${Math.round(milliseconds)} ms`;
  const outcome = code ?? (source === 'bank' ? String(status ?? '') : source);
  const bar = element('span', { class: 'calls-bar', 'data-source': code === null ? source : 'failed' });
  bar.style.setProperty('--from', String(offsetMs / end));
  bar.style.setProperty('--for', String((milliseconds ?? 0) / end));
  const details = [
    `${method} ${url}`,
    `asked for by ${path}`,
    bytes === null ? '' : counted(bytes, 'byte'),
    trackId === null ? '' : `Track-ID ${trackId}`,
  ];
  return element(
    'li',
    { title: details.filter((line) => line !== '').join('\n') },
    element('span', { class: 'calls-operation' }, operation),
    element('span', { class: 'calls-outcome' }, [outcome, took].filter((text) => text !== '').join(' · ')),
    element('span', { class: 'calls-path' }, path),
    element('span', { class: 'calls-track', 'aria-hidden': 'true' }, bar),
  );
}

/** The number of fields that a search shows. */
const maxFound = 12;

/**
 * Looks up what a field is in REST: the operations that it calls, or the member that it shows.
 *
 * @param {() => Promise<readonly FieldInRest[]>} fieldsOf
 */
function fieldSearch(fieldsOf) {
  const input = /** @type {HTMLInputElement} */ (
    element('input', { type: 'search', id: 'rest-of', placeholder: 'Bank.branches, getBranches, swift_bic' })
  );
  const found = element('ol', { class: 'calls-found', 'aria-live': 'polite' });
  input.addEventListener('input', async () => {
    const fields = await fieldsOf();
    const text = input.value.trim().toLowerCase();
    const isFound = (/** @type {FieldInRest} */ { field, operations, member = '' }) =>
      [field, ...operations, member].some((name) => name.toLowerCase().includes(text));
    const rows = text === '' ? [] : fields.filter(isFound).slice(0, maxFound);
    found.replaceChildren(
      ...rows.map(({ field, operations, member }) =>
        element(
          'li',
          {},
          element('span', { class: 'calls-operation' }, field),
          element('span', { class: 'calls-path' }, operations.join(', ') || member || 'no call'),
        ),
      ),
    );
  });
  return element(
    'section',
    { class: 'calls-search' },
    element('label', { for: 'rest-of', class: 'calls-search-title' }, 'A field in REST'),
    input,
    found,
  );
}

import { createCallsPanel } from './calls-panel.js';
import { createFetcher } from './fetcher.js';
import { createStorage } from './storage.js';

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @type {{ headers: string, examples: string[], areTestHeaders: boolean, explains: boolean }} */
const settings = JSON.parse(byId('settings').textContent ?? '');
const { headers, examples, areTestHeaders, explains } = settings;

const storage = createStorage(localStorage, areTestHeaders ? 'bankql-sandbox:' : 'bankql:', areTestHeaders);
/** @type {Promise<import('./calls-panel.js').FieldInRest[]> | undefined} */
let fields;
const fieldsInRest = () => {
  fields ??= fetch(new URL('rest.json', import.meta.url)).then((response) => response.json());
  return fields;
};

const panel = explains
  ? createCallsPanel(byId('calls'), storage, fieldsInRest)
  : { asksForCalls: () => false, onCalls: () => {} };

/** @type {Record<string, string>} */
const workers = { editorWorkerService: 'editor', json: 'json', graphql: 'graphql' };

Object.assign(globalThis, {
  MonacoEnvironment: {
    /** @param {string} _module @param {string} label */
    getWorkerUrl: (_module, label) => new URL(`${workers[label]}.worker.js`, import.meta.url).href,
  },
});

/** @type {{ YogaGraphiQL: { renderYogaGraphiQL(root: Element, props: object): void } }} */
const { YogaGraphiQL } = /** @type {any} */ (globalThis);
YogaGraphiQL.renderYogaGraphiQL(byId('graphiql'), {
  title: 'bankql',
  logo: '',
  fetcher: createFetcher(panel),
  storage,
  headers,
  defaultHeaders: headers,
  defaultTabs: examples.map((query) => ({ query, headers })),
  shouldPersistHeaders: storage.keepsHeaders,
  showPersistHeadersSettings: true,
});

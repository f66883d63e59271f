/** GraphiQL's setting "Persist headers". */
const setting = 'graphiql:shouldPersistHeaders';

/** @param {string} value */
function withoutHeaders(value) {
  try {
    return JSON.stringify(JSON.parse(value, (name, member) => (name === 'headers' ? null : member)));
  } catch {
    return value;
  }
}

/** The members of the open tab that GraphiQL reads. If no tab has all of them, GraphiQL adds one. */
const ofOpenTab = new Map(['query', 'variables', 'headers'].map((member) => [`graphiql:${member}`, member]));

/**
 * GraphiQL's storage in the browser: tabs and settings. Headers are credentials: they are kept only while its setting is on.
 *
 * @param {Storage} storage the browser's
 * @param {string} prefix tells the sandbox's from those of a real bank that is served at the same address another day
 * @param {boolean} keepsHeaders the setting, until somebody changes it
 */
export function createStorage(storage, prefix, keepsHeaders) {
  const names = () => Object.keys(storage).filter((name) => name.startsWith(prefix));
  /** As they were given, so that the setting can be switched on later. @type {Map<string, string>} */
  const given = new Map();
  const isKept = () => (storage.getItem(prefix + setting) ?? String(keepsHeaders)) === 'true';

  /** @param {string} name @param {string} value */
  function store(name, value) {
    if (isKept()) storage.setItem(name, value);
    else if (name === `${prefix}graphiql:headers`) storage.removeItem(name);
    else storage.setItem(name, withoutHeaders(value));
  }

  /** The tab that was open last; undefined on a first visit. */
  function openTab() {
    const { tabs = [], activeTabIndex } = JSON.parse(storage.getItem(`${prefix}graphiql:tabState`) ?? '{}');
    return tabs[activeTabIndex];
  }

  return {
    /** @param {string} name @returns {string | null} */
    getItem(name) {
      const member = ofOpenTab.get(name);
      const tab = member === undefined ? undefined : openTab();
      return member === undefined || tab === undefined ? storage.getItem(prefix + name) : tab[member];
    },
    /** @param {string} name @param {string} value */
    setItem(name, value) {
      given.set(prefix + name, value);
      if (name !== setting) return store(prefix + name, value);
      storage.setItem(prefix + setting, value);
      for (const each of new Set([...names(), ...given.keys()]))
        store(each, given.get(each) ?? storage.getItem(each) ?? '');
    },
    /** @param {string} name */
    removeItem(name) {
      given.delete(prefix + name);
      storage.removeItem(prefix + name);
    },
    clear() {
      given.clear();
      for (const name of names()) storage.removeItem(name);
    },
    get length() {
      return names().length;
    },
    get keepsHeaders() {
      return isKept();
    },
  };
}

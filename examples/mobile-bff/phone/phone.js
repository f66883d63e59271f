import { createPayments, fetchSend } from './client/index.ts';

const bankql = new URLSearchParams(location.search).get('bankql') ?? 'http://127.0.0.1:4000';
const element = (id) => document.getElementById(id);
const [signIn, home, transfer, refresh, notice] = ['sign-in', 'home', 'transfer', 'refresh', 'notice'].map(
  element,
);
const say = (text) => {
  notice.textContent = text;
};

/** The ids of the documents: the app sends no text of GraphQL, and bankql accepts none. */
const ids = await (await fetch('operations.json')).json();
const documentOf = (name) => ({ documentId: ids[name] });

/** The token is only in memory: after a reload, the customer signs in again. */
let token = null;
const send = fetchSend(`${bankql}/graphql`, {
  headers: () => ({ Authorization: `Bearer ${token}` }),
  persisted: true,
});
/**
 * Keys are in localStorage, so that another tab, or the app after it was closed, finds the key of a transfer whose outcome is not
 * known yet.
 */
const payments = createPayments({ send, storage: localStorage, paymentQuery: documentOf('Payment') });

/**
 * Shows all digits of an amount: a currency's usual form has no decimals for forints, and at most two for others. If the bank
 * sends only the amount or the currency, or its own name of the currency, it is shown unchanged.
 */
function money(balance) {
  const { amount, currency } = balance ?? {};
  if (!amount) return 'unknown';
  if (!/^[A-Z]{3}$/.test(currency ?? '')) return `${amount} ${currency ?? ''}`;
  const options = { style: 'currency', currency };
  const usual = new Intl.NumberFormat('en-IE', options).resolvedOptions().maximumFractionDigits;
  const digits = Math.max(usual, String(amount).split('.')[1]?.length ?? 0);
  return new Intl.NumberFormat('en-IE', {
    ...options,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(amount);
}

/** The customer who is signed in, and the last known data of their accounts. */
let customer = '';
let viewer = null;
/** The accounts without those that could not be read, which are null. */
const accounts = () => (viewer?.accounts?.nodes ?? []).filter((account) => account !== null);
/** The name of the customer's one transfer. Its key is kept until the customer has seen the outcome. */
const intent = () => `transfer:${customer}`;

function show() {
  home.querySelector('h1').textContent = viewer.customer?.legalName ?? 'Your accounts';
  element('accounts').replaceChildren(
    ...accounts().map(({ accountId, label, balance }) => {
      const item = document.createElement('li');
      const amount = document.createElement('strong');
      amount.textContent = money(balance);
      item.append(label ?? accountId, amount);
      return item;
    }),
  );
}

/** Queries the home screen again. If a part failed, it shows the rest, and the reason. */
async function load() {
  refresh.disabled = true;
  const { data, errors = [] } = await send(documentOf('Home')).catch((failure) => ({ errors: [failure] }));
  const [error] = errors;
  const { code, retryAfter } = error?.extensions ?? {};
  if (code === 'UNAUTHENTICATED') return askForPin('Please sign in again.');
  if (data?.viewer?.accounts) {
    viewer = data.viewer;
    show();
  }
  if (code === 'RATE_LIMITED') return countDown(retryAfter);
  if (error) say(error.message);
  refresh.disabled = false;
}

/** Sends nothing for as long as bankql asks, and shows the remaining time. */
function countDown(seconds) {
  if (seconds > 0) {
    say(`That was often. The next look is in ${seconds} s.`);
    setTimeout(countDown, 1000, seconds - 1);
    return;
  }
  say('');
  load();
}

function askForPin(text) {
  token = null;
  home.hidden = true;
  signIn.hidden = false;
  say(text);
}

const texts = {
  DONE: () => 'Done: the bank has accepted it.',
  REJECTED: ({ errors }) => `Not done: the bank has refused it. ${errors[0]?.message ?? ''}`,
  NOT_SENT: ({ errors }) => `Not sent. ${errors[0]?.message ?? 'You may send it again.'}`,
  PENDING: () => 'Under way: the bank has not confirmed it yet. Do not pay again.',
  UNKNOWN: ({ payment }) =>
    `The bank has not confirmed it. It may have been done: do not pay again before the bank was asked, with ${payment?.trackId}.`,
  UNCONFIRMED: () =>
    'No answer came. It may have been done: put the same amount aside again to see. It is done once.',
  CONFLICT: () =>
    'An earlier transfer was sent from here, and this one was not. Sign in again to see how it ended.',
};

async function tell(outcome) {
  say(texts[outcome.state](outcome));
  if (outcome.state !== 'DONE') return;
  // The form is cleared before the key: a second tap in between would pay again.
  transfer.reset();
  await payments.forget(intent());
  await load();
}

signIn.addEventListener('submit', async (event) => {
  event.preventDefault();
  const credentials = Object.fromEntries(new FormData(signIn));
  const response = await fetch('token', { method: 'POST', body: JSON.stringify(credentials) });
  if (!response.ok) return say('This customer and PIN do not belong together.');
  token = (await response.json()).access_token;
  customer = credentials.customer;
  signIn.reset();
  say('');
  await load();
  if (token === null) return;
  signIn.hidden = true;
  home.hidden = false;
  home.querySelector('h1').focus();
  // The outcome of a payment that was sent before the reload is queried before anything else is sent.
  const outcome = await payments.check(intent());
  if (outcome !== null) await tell(outcome);
});

transfer.addEventListener('submit', async (event) => {
  event.preventDefault();
  const current = accounts().find((each) => each.accountId === viewer.account?.accountId);
  const currency = current?.balance?.currency;
  const savings = accounts().find((each) => each !== current && each.balance?.currency === currency);
  if (!currency || savings === undefined) return say('There is no second account in this currency.');
  const value = { amount: new FormData(transfer).get('amount'), currency };
  // An account of the list may belong to another bank.
  const to = { accountId: savings.accountId, bankId: savings.bankId };
  const input = { accountId: current.accountId, to, value };
  say('Waiting for the bank…');
  try {
    await tell(await payments.pay(intent(), documentOf('Transfer'), { input }));
  } catch {
    say('Not sent: this browser could not keep the key of the transfer.');
  }
});

refresh.addEventListener('click', () => void load());

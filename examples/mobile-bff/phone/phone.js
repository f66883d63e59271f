import { createPayments, fetchSend } from './client/index.ts';

const bankql = new URLSearchParams(location.search).get('bankql') ?? 'http://127.0.0.1:4000';
const element = (id) => document.getElementById(id);
const [signIn, home, transfer, refresh, notice] = ['sign-in', 'home', 'transfer', 'refresh', 'notice'].map(
  element,
);
const say = (text) => {
  notice.textContent = text;
};

/** Documents by their ids: no text of GraphQL is sent, and bankql takes none. */
const ids = await (await fetch('operations.json')).json();
const documentOf = (name) => ({ documentId: ids[name] });

/** In memory alone: whoever opens the page again signs in again. */
let token = null;
const send = fetchSend(`${bankql}/graphql`, {
  headers: () => ({ Authorization: `Bearer ${token}` }),
  persisted: true,
});
/** Another tab, and the app after it was closed, find the key of a transfer whose end nobody knows yet. */
const payments = createPayments({ send, storage: localStorage, paymentQuery: documentOf('Payment') });

/**
 * With all digits: a currency's usual form has none behind the point for forints, and two at most for others. If the bank
 * tells only a part of it, or its own name of the currency, it is shown as it is.
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

/** Who is signed in, and what was last known of their accounts. */
let customer = '';
let viewer = null;
/** An entry that could not be read is null. */
const accounts = () => (viewer?.accounts?.nodes ?? []).filter((account) => account !== null);
/** One transfer at a time, by a name of the customer's: its key is kept until they know how it ended. */
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

/** Asks for the home screen anew; where something failed, it shows what there is, and why. */
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

/** Asks nothing for as long as bankql says, and tells the person. */
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
  // First the form, then the key: a second tap in between would pay again.
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
  // What was sent before the page was opened again is asked about before anything else is sent.
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
  // An account of the list may be at another bank.
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

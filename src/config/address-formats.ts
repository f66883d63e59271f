import { z } from 'zod';
import { AddressError } from '../payments/stores/postgres/address.ts';
import { parseStoreUrl, shownStoreUrl } from '../payments/stores/store-address.ts';
import { parseCounterUrl } from '../server/rate-limit/counter-address.ts';
import { isLoopback } from '../server/request.ts';
import type { Format } from './formats.ts';

/** How addresses are written. None is shown with the credentials that may be in it. */
type AddressFormat = Pick<Format<string>, 'schema' | 'show'>;

const withoutUserinfo = (address: string) => address.replace(/\/\/.*@/s, '//…@');

/** The bank's address. */
export const bankAddress: AddressFormat = {
  show: withoutUserinfo,
  schema: z.string().superRefine((address, context) => {
    const refuse = (remedy: string) => context.addIssue(remedy);
    const url = URL.parse(address);
    if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
      return refuse('give an address such as https://bank.example.');
    if (url.username !== '' || url.password !== '') return refuse('leave credentials out of it.');
    if (url.search !== '' || url.hash !== '') return refuse('leave out what follows ? or #.');
  }),
};

/** The address of a collector of traces. */
export const collectorAddress: AddressFormat = {
  show: withoutUserinfo,
  schema: z.string().refine((address) => {
    const url = URL.parse(address);
    return (
      (url?.protocol === 'http:' || url?.protocol === 'https:') && url.username === '' && url.password === ''
    );
  }, 'give an address without credentials, such as http://127.0.0.1:4318.'),
};

/** The address of a proxy, of which a password is not shown. */
export const proxyAddress: AddressFormat = {
  show: withoutUserinfo,
  schema: z.string().refine((address) => {
    const url = URL.parse(address);
    return (
      (url?.protocol === 'http:' || url?.protocol === 'https:') && url.pathname === '/' && url.search === ''
    );
  }, 'give an address such as http://proxy.example:3128.'),
};

/** Where payments are recorded, of which nothing is shown that may be a password. */
export const storeAddress: AddressFormat = {
  // A readable one has no password but in front of its hosts.
  show: (address) =>
    storeFaultOf(address) === null ? withoutUserinfo(address) : shownStoreUrl(address, '…'),
  schema: z.string().superRefine((address, context) => {
    const fault = storeFaultOf(address);
    if (fault !== null) context.addIssue(`${fault}.`);
  }),
};

function storeFaultOf(address: string): string | null {
  try {
    parseStoreUrl(address);
    return null;
  } catch (error) {
    if (error instanceof AddressError) return error.message;
    throw error;
  }
}

/** Where REST calls are counted; a password is not shown. */
export const counterAddress: Format<string> = {
  fallback: 'memory:',
  shownFallback: '`memory:`',
  show: (address) =>
    counterFaultOf(address) === null ? withoutUserinfo(address) : shownStoreUrl(address, '…'),
  schema: z.string().superRefine((address, context) => {
    const fault = counterFaultOf(address);
    if (fault !== null) context.addIssue(`${fault}.`);
  }),
};

function counterFaultOf(address: string): string | null {
  try {
    if (parseCounterUrl(address) !== null) return null;
    return 'give memory:, redis[s]://[[user]:password@]host[:port][/database] or postgres://user[:password]@host[:port]/database (one host), with user and password percent-encoded';
  } catch (error) {
    if (error instanceof AddressError) return error.message;
    throw error;
  }
}

/** An address of public keys: https, or loopback. */
export const keysAddress: AddressFormat = {
  show: withoutUserinfo,
  schema: z.string().refine((address) => {
    const url = URL.parse(address);
    const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
    return isSafe && url.username === '' && url.password === '';
  }, 'give an https address without credentials, such as https://login.example/.well-known/jwks.json.'),
};

import { describe, expect, test } from 'vitest';
import { checkBank } from '../../src/commands/doctor.ts';
import {
  credentialOptions,
  doctorUsage,
  idOptions,
  readDoctorOptions,
} from '../../src/doctor/doctor-options.ts';
import { runCommand } from '../support/run-command.ts';

const nobody = { subscriptionKey: null, authProviderName: null, authId: null };
const defaults = {
  ids: { 'bank-id': 'BANK', view: 'owner' },
  credentials: { ...nobody, subscriptionKey: 'k' },
};

test('takes ids and credentials from the command line, and the rest from the defaults', () => {
  const given = { account: 'a-1', view: 'auditor', iban: 'GR16 0110', 'auth-provider': 'p', 'auth-id': 'me' };
  expect(readDoctorOptions(given, {}, defaults)).toEqual({
    ids: { 'bank-id': 'BANK', view: 'auditor', account: 'a-1', iban: 'GR16 0110' },
    credentials: { subscriptionKey: 'k', authProviderName: 'p', authId: 'me' },
  });
});

test('a line end is no part of a credential from the environment; white space is refused by the name', () => {
  const read = (DOCTOR_AUTH_ID: string) => readDoctorOptions({}, { DOCTOR_AUTH_ID }, defaults).credentials;
  for (const given of ['me\n', 'me\r\n', '\uFEFFme']) expect(read(given).authId).toBe('me');
  expect(read('\r\n').authId).toBeNull();
  expect(() => read('me ')).toThrow(/^DOCTOR_AUTH_ID cannot be used: The header Auth-ID /);
});

test('takes credentials from the environment; the command line counts where both say something', () => {
  const environment = {
    DOCTOR_SUBSCRIPTION_KEY: 'key-1',
    DOCTOR_AUTH_PROVIDER_NAME: 'provider-1',
    DOCTOR_AUTH_ID: '',
  };
  expect(readDoctorOptions({ key: 'key-2' }, environment, defaults).credentials).toEqual({
    subscriptionKey: 'key-2',
    authProviderName: 'provider-1',
    authId: null,
  });
});

test('help names every option and every variable', () => {
  for (const name of [...Object.keys(idOptions), ...Object.keys(credentialOptions)]) {
    expect(doctorUsage).toMatch(new RegExp(`^  --${name} +\\S`, 'm'));
  }
  for (const { variable } of Object.values(credentialOptions)) expect(doctorUsage).toContain(variable);
});

describe('what it cannot use', () => {
  test.each<[string, readonly string[], string]>([
    ['an unknown option', ['--acount=secret'], "Unknown option '--acount'"],
    ['a short option', ['-k', 'secret'], "Unknown option '-k'"],
    [
      'no option',
      ['--account', 'a', 'secret'],
      'Give options only, such as --account alice-current; --help lists them.',
    ],
    ['an empty value', ['--key='], '--key needs a value.'],
    [
      'a value left out before another option',
      ['--account', '--key', 'secret'],
      "Option '--account' argument is ambiguous",
    ],
    ['an id for no path', ['--account=..'], '--account cannot be used as an id: it is a dot segment.'],
    [
      'a credential that no header takes',
      ['--key=secrét'],
      'The header Ocp-Apim-Subscription-Key is empty, or holds',
    ],
  ])('%s: the message names it, and repeats no value', async (_what, args, message) => {
    const { output, errors } = await runCommand(checkBank, args);
    expect(output).toBe('');
    expect(errors).toContain(message);
    expect(errors).not.toMatch(/secr/);
  });

  test('no subscription key at all: it says where one is taken from', () => {
    expect(() => readDoctorOptions({}, {}, { ...defaults, credentials: nobody })).toThrow(
      'No operation can be called without a subscription key: set DOCTOR_SUBSCRIPTION_KEY, or give --key.',
    );
  });
});

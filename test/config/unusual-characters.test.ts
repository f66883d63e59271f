import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { ConfigError, resolveEnvironment, settingsIn } from '../../src/config/environment.ts';
import { variableNames } from '../../src/config/variables.ts';
import { type Given, real, tokens } from '../support/environments.ts';
import { fileWriter, testFolder } from '../support/test-folder.ts';

/** Texts as they come from editors, shells, Kubernetes Secrets and other platforms. */

const byTokens = { ...real, ...tokens };
const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

/** The problem that readConfig reports for the last variable; null if the environment is valid. */
function refusal(environment: Given): string | null {
  try {
    readConfig(environment);
    return null;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message;
  }
}

const ends = ['\n', '\r\n', '\r', '\n\n', '\uFEFF', '\u200B', '\u200B\n'];
const blanks = [' ', '\t', '\u00A0', ' \r\n', '\u3000'];

describe('the ends of a value', () => {
  const lines = ends.map((end) => ['', end] as const);
  const starts = ends.map((end) => [end, ''] as const);
  const around = blanks.map((blank) => [blank, blank] as const);

  test.each([...lines, ...starts, ...around])('%j and %j are no part of it', (before, after) => {
    const wrapped = Object.entries({
      PORT: '4705',
      BANK_ID: 'BANK',
      BANK_PROXY: 'http://proxy.example:3128',
      BANK_TLS_CA: 'ca.pem',
      EXPLORE: 'on',
      NODE_ENV: 'production',
      METRICS_PORT: '9464',
      VIEWER_CUSTOMER_ID: '{auth-id}',
      ...byTokens,
      HOST: 'localhost',
    });
    const plain = Object.fromEntries(wrapped);
    const given = Object.fromEntries(wrapped.map(([name, value]) => [name, before + value + after]));
    expect(readConfig(given)).toEqual(readConfig(plain));
    // The output shows the value that is used.
    expect(settingsIn(given, new Map())).toEqual(settingsIn(plain, new Map()));
  });

  test('a value of nothing else counts as unset', () => {
    for (const nothing of ['', ' \r\n', '\r\n\uFEFF'])
      expect(readConfig(Object.fromEntries(variableNames.map((name) => [name, nothing])))).toEqual(
        readConfig({}),
      );
  });
});

test.each<[Given, string]>([
  [{ PORT: '47\r05' }, 'PORT=47\\r05 cannot be used: '],
  [{ ...byTokens, IDENTITY_ISSUER: 'a\nb' }, 'IDENTITY_ISSUER=a\\nb cannot be used: give it in one line.'],
  [{ HOST: '127.0.0.1\u0007' }, 'HOST=127.0.0.1\\u{7} '],
  [{ ...real, STATE_URL: 'sqlite:a\nb.db' }, 'STATE_URL=sqlite:a\\nb.db '],
  [{ BANK_BASE_URL: 'https://bank.exam\nple' }, 'BANK_BASE_URL=https://bank.exam\\nple '],
  [{ BANK_BASE_URL: 'https://bank.exam\u200Bple' }, 'it contains \\u{200b}'],
  [{ ...byTokens, IDENTITY_CLAIMS: 'a\u001B[31m b' }, 'IDENTITY_CLAIMS=a\\u{1b}[31m b '],
  [{ LOG_LEVEL: 'lo\u00A0ud' }, 'LOG_LEVEL=lo\\u{a0}ud '],
  [{ CORS_ORIGINS: 'https://a.example b\u2028c' }, '\\u{2028}'],
])('%j is refused in one line, which shows what cannot be seen', (environment, part) => {
  const message = refusal(environment);
  expect(message).toContain(part);
  expect(message).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u00A0]/u);
  // The list of settings contains no unusual characters either.
  expect(settingsIn(environment, new Map()).join('')).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u00A0]/u);
});

test('lists may have several lines', () => {
  const { server } = readConfig({ CORS_ORIGINS: 'https://a.example,\r\nhttps://b.example\n' });
  expect([...server.http.corsOrigins]).toEqual(['https://a.example', 'https://b.example']);
});

test.each(['"', "'", '`', '“'])('quotes around a value are refused: %s', (quote) => {
  const end = quote === '“' ? '”' : quote;
  for (const [name, value] of Object.entries({
    ...byTokens,
    PORT: '1',
    HOST: 'localhost',
    STATE_URL: 'sqlite:a',
  }))
    expect(refusal({ ...byTokens, [name]: quote + value + end })).toMatch(
      new RegExp(`^${name}=.* cannot be used: leave out the quotes`),
    );
});

describe('HOST is a name or an address', () => {
  test.each(['127.0.0.1', '0.0.0.0', '::', '::1', 'fe80::1%eth0', 'localhost', 'web-1.internal', 'a_b.c.'])(
    '%s can be used',
    (HOST) => {
      expect(readConfig({ HOST }).server.host).toBe(HOST);
    },
  );
  test.each(['[::1]', 'localhost:4000', 'http://localhost', '127.1', '*', 'a b', '-a', '1.2.3.4/8'])(
    '%s cannot',
    (HOST) => {
      expect(refusal({ HOST })).toContain(`HOST=${HOST} cannot be used: give a host name or an address`);
    },
  );
});

describe('a setting is checked with the function that decodes it later', () => {
  test.each([
    `http://:${'token'}@proxy.example`,
    `http://user:${'p%25ss'}@proxy.example:3128`,
    'http://user@proxy.example/',
  ])('the proxy %s can be used', (proxy) => {
    expect(readConfig({ ...real, BANK_PROXY: proxy }).bankLimits.network?.proxyUrl).toBe(proxy);
  });
  test.each([
    `http://user:${'p%ss'}@proxy.example`,
    'http://us%er@proxy.example',
    `http://u:${'%E4'}@proxy.example`,
    `http://a b:${'c'}@proxy`,
  ])('the proxy %s cannot', (proxy) => {
    const message = refusal({ ...real, BANK_PROXY: proxy });
    expect(message).toMatch(/^BANK_PROXY=http:\/\/…@proxy.* cannot be used: /);
    expect(message?.split('\n')).toHaveLength(1);
  });
  test.each<Given>([
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/?a=b' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/#a' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1 :4318' },
    { IDENTITY_JWKS_URL: 'https://login.example/a b' },
  ])('%j cannot be used', (environment) => {
    const [name] = Object.keys(environment);
    expect(refusal({ ...byTokens, ...traced, ...environment })).toMatch(new RegExp(`^${name}=`));
  });
});

describe('what OpenTelemetry reads', () => {
  const tracingOf = (environment: Given) => readConfig({ ...traced, ...environment }).tracing;

  test.each(['false', 'FALSE', '0', 'no', 'off', ''])(
    'OTEL_SDK_DISABLED=%s leaves traces on',
    (OTEL_SDK_DISABLED) => {
      expect(tracingOf({ OTEL_SDK_DISABLED })).toMatchObject({ endpoint: 'http://127.0.0.1:4318' });
    },
  );
  test.each(['true', 'TRUE', 'True\n'])('OTEL_SDK_DISABLED=%s turns them off', (OTEL_SDK_DISABLED) => {
    expect(tracingOf({ OTEL_SDK_DISABLED })).toBeNull();
  });
  test.each(['none', 'NONE\n'])('OTEL_TRACES_EXPORTER=%s turns them off', (OTEL_TRACES_EXPORTER) => {
    expect(tracingOf({ OTEL_TRACES_EXPORTER })).toBeNull();
    expect(tracingOf({ OTEL_TRACES_EXPORTER: 'otlp' })).not.toBeNull();
  });
  test('its other variables stop nothing, whatever they say, and OpenTelemetry gets them', () => {
    const others = {
      OTEL_TRACES_SAMPLER: 'xray',
      OTEL_TRACES_SAMPLER_ARG: 'a',
      OTEL_RESOURCE_ATTRIBUTES: 'a',
      OTEL_PROPAGATORS: 'x',
      OTEL_SDK_DISABLED: 'false',
    };
    expect(readConfig(others)).toEqual(readConfig({}));
    expect(tracingOf(others)?.openTelemetry).toEqual({ ...traced, ...others });
  });
});

describe('variables of the platform', () => {
  const linksOf = (service: string) => ({
    [`${service}_SERVICE_HOST`]: '10.0.0.1',
    [`${service}_SERVICE_PORT`]: '80',
    [`${service}_SERVICE_PORT_HTTP`]: '80',
    [`${service}_PORT`]: 'tcp://10.0.0.1:80',
    [`${service}_PORT_4000_TCP`]: 'tcp://10.0.0.1:4000',
    [`${service}_PORT_4000_TCP_PROTO`]: 'tcp',
    [`${service}_PORT_4000_TCP_PORT`]: '4000',
    [`${service}_PORT_4000_TCP_ADDR`]: '10.0.0.1',
    [`${service}_PORT_53_UDP`]: 'udp://10.0.0.1:53',
  });
  const services = [
    'BANK',
    'SANDBOX',
    'METRICS',
    'METRIC',
    'STATE',
    'LOG',
    'IDENTITY',
    'OTEL',
    'RATE',
    'VIEWER',
    'BANK_PROXY',
  ];

  test.each(services)('links of a service %s change nothing', (service) => {
    expect(readConfig(linksOf(service))).toEqual(readConfig({}));
    expect(readConfig({ ...real, ...linksOf(service) })).toEqual(readConfig(real));
  });

  test('only such a link is left out: of another name, or with another value, it is refused', () => {
    expect(refusal({ BANK_PROXY: 'tcp://10.0.0.1:80' })).toContain('BANK_PROXY=tcp://10.0.0.1:80 ');
    expect(refusal({ SANDBOX_PORT: 'http://10.0.0.1:80' })).toContain('SANDBOX_PORT=');
  });
});

test.each([
  '\uFEFFBANK_ID',
  ' BANK_ID',
  'BANK_ID ',
  'BANK\u200B_ID',
  '\uFEFFSTATE_URL_FILE',
  '\uFEFFBNAK_BASE_URL',
])('a variable %j is refused: its name is not what it seems', (name) => {
  const message = refusal({ [name]: 'app' });
  expect(message).toMatch(/cannot be used: (take away what cannot be seen|no variable has this name)/);
  expect(message).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

describe('origins', () => {
  test.each([
    ['capacitor://localhost', 'capacitor://localhost'],
    ['app://bank.example:8', 'app://bank.example:8'],
    ['safari-web-extension://E0E2C3D1-AA', 'safari-web-extension://e0e2c3d1-aa'],
    ['http://[::1]:3000', 'http://[::1]:3000'],
    ['https://App.Example/', 'https://app.example'],
    ['HTTPS://app.example:443', 'https://app.example'],
    ['http://app.example:80', 'http://app.example'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['capacitor://localhost/', 'capacitor://localhost'],
  ])('%s is the origin that a browser sends as %s', (text, origin) => {
    expect([...readConfig({ CORS_ORIGINS: text }).server.http.corsOrigins]).toEqual([origin]);
  });

  test.each([
    '*',
    'https://*.example',
    'null',
    'file:///',
    'app.example',
    'localhost:3000',
    'https://app.example/path',
    'https://app.example?x',
    'https://user@app.example',
    'capacitor://',
    'wss://app.example',
    'data:text/html,x',
    'https://app.example:70000',
    'https://app.example;https://b.example',
  ])('%s is refused', (text) => {
    expect(refusal({ CORS_ORIGINS: `https://first.example,${text}` })).toMatch(
      /^CORS_ORIGINS=.* cannot be used: name each origin with scheme, host and port/,
    );
  });
});

const folder = testFolder();

const fileWith = fileWriter(folder);
const utf16 = (text: string) => Buffer.from(text, 'utf16le');
const fromFile = (content: string | Buffer, own: Given = {}) =>
  resolveEnvironment(own, [fileWith('some.env', content)]).environment;

describe('a file of variables', () => {
  test.each<[string, string, Given]>([
    ['a byte order mark', '\uFEFFBANK_ID=app\nPORT=1\n', { BANK_ID: 'app', PORT: '1' }],
    ['a mark before a remark', '\uFEFF# remark\nPORT=1\n', { PORT: '1' }],
    ['CRLF', 'A=1\r\nB="x y"\r\n\r\n#c\r\nC=\r\n', { A: '1', B: 'x y', C: '' }],
    ['export', 'export A=1\n  export B=2', { A: '1', B: '2' }],
    [
      'quotes',
      `A='x'\nB="y # z"\nC=\`w\`\nD="a'b"\nE=a"b"c`,
      { A: 'x', B: 'y # z', C: 'w', D: "a'b", E: 'a"b"c' },
    ],
    ['several lines', 'A="x\ny"\nB=1', { A: 'x\ny', B: '1' }],
    ['remarks', 'A=1 # c\nB= # c\n# C=1\n  #D\nE="x" # c\n', { A: '1', B: '', E: 'x' }],
    ['a name twice: the last one counts', 'A=1\nA=2\n', { A: '2' }],
    ['equals signs', 'A=x=y==\nB = c\n', { A: 'x=y==', B: 'c' }],
    ['no line end', 'A=1', { A: '1' }],
    ['nothing', '', {}],
    ['only a mark', '\uFEFF', {}],
    ['another letter', 'A=ä\n', { A: 'ä' }],
  ])('with %s', (_what, text, expected) => {
    expect(fromFile(text)).toEqual(expected);
  });

  test.each<[string, Buffer]>([
    ['UTF-16, little-endian', utf16('PORT=1\n')],
    ['the same with a mark', utf16('\uFEFFPORT=1\n')],
    ['UTF-16, big-endian', utf16('PORT=1\n').swap16()],
    ['the same with a mark', utf16('\uFEFFPORT=1\n').swap16()],
    ['an empty one with a mark', utf16('\uFEFF')],
    ['UTF-32', Buffer.from([0x50, 0, 0, 0, 0x3d, 0, 0, 0])],
    ['Latin-1', Buffer.from('A=ä\n', 'latin1')],
  ])('in %s is refused in one line', (_what, bytes) => {
    expect(() => fromFile(bytes)).toThrow(/^--env-file .*some\.env cannot be used: .* save it in UTF-8\.$/);
    const file = fileWith('secret', bytes);
    expect(() => resolveEnvironment({ BANK_SUBSCRIPTION_KEY_FILE: file }, [])).toThrow(
      /^BANK_SUBSCRIPTION_KEY_FILE=.* cannot be used: .* save it in UTF-8\.$/,
    );
  });

  test.each<[string, number]>([
    ['A=1\nB=top#secret', 2],
    ['A=#secret', 1],
    ['A="secret\nB=1\n', 1],
    ["A='secret", 1],
    ['A="top" secret', 1],
    ['A="top"secret"', 1],
    ['declare -x A=secret', 1],
    ['A=1\n"B"=secret', 2],
    ['A: secret', 1],
    ['=secret', 1],
    ['A=1\n\u200BB=secret', 2],
    ['A=1\nsecret\n', 2],
    ['$env:A="secret"', 1],
  ])('%j has a line that would not be read as it seems, and is not repeated', (text, line) => {
    expect(() => fromFile(text)).toThrow(new RegExp(`some.env, line ${line}: give NAME=value`));
    expect(() => fromFile(text)).not.toThrow(/secret/);
  });

  test("the mark that Node's own --env-file leaves in a name is no matter if bankql reads the file too", () => {
    const own = { '\uFEFFBANK_ID': 'app', PORT: '1' };
    expect(fromFile('\uFEFFBANK_ID=app\nPORT=1\n', own)).toEqual({ BANK_ID: 'app', PORT: '1' });
  });
});

test.each(['k-1\n', 'k-1\r\n', '\uFEFFk-1', 'k-1\n\n', 'k-1'])(
  'the secret in a file with %j is k-1',
  (text) => {
    const file = fileWith('key', text);
    const STATE_URL_FILE = fileWith('url', 'sqlite:state.db\n');
    // The name of the file may have been copied too, and may then also end with a carriage return.
    const own = { BANK_SUBSCRIPTION_KEY_FILE: `${file}\r`, STATE_URL_FILE };
    const { environment, sources } = resolveEnvironment(own, []);
    expect(sources.get('BANK_SUBSCRIPTION_KEY')).toBe(file);
    expect(readConfig(environment)).toMatchObject({
      subscriptionKey: 'k-1',
      state: { url: 'sqlite:state.db' },
    });
  },
);

test('a variable of only a line end is not set: that of a file counts', () => {
  const key = fileWith('key', 'k-1');
  const file = fileWith('some.env', `PORT=4705\nBANK_SUBSCRIPTION_KEY_FILE=${key}`);
  const { environment } = resolveEnvironment({ PORT: '\r', BANK_SUBSCRIPTION_KEY: '\n' }, [file]);
  expect(readConfig(environment)).toMatchObject({ server: { port: 4705 }, subscriptionKey: 'k-1' });
});

test.each(['\n', '\uFEFF', '\r\n \n'])('a file of %j holds no secret', (text) => {
  const file = fileWith('nothing', text);
  expect(() => resolveEnvironment({ STATE_URL_FILE: file }, [])).toThrow('the file is empty.');
});

/**
 * How many callers there are: so many more than connections that none asks again while its last request is under way, and
 * nobody shares an answer with anybody.
 */
const callers = 2048;

export const credentialsOf = (caller: number) => ({
  'Ocp-Apim-Subscription-Key': `bench-key-${caller}`,
  'Auth-Provider-Name': 'bench',
  'Auth-ID': `caller-${caller}`,
});

/** The requests of a query, one for each caller, as the bytes that go over the wire. */
export function requestsOf(query: string, port: number): readonly Buffer[] {
  const body = JSON.stringify({ query });
  return Array.from({ length: callers }, (_, caller) => {
    const headers = {
      Host: `127.0.0.1:${port}`,
      'Content-Type': 'application/json',
      Accept: 'application/json',
      'Content-Length': Buffer.byteLength(body),
      ...credentialsOf(caller),
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return Buffer.from(`POST /graphql HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  });
}

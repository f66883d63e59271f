import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { constants, getPriority, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { type Behaviour, behaviours, type Group } from './hostile-callers.ts';

/**
 * A process of callers within the limits, which continue until their parent sends a message. It sends a message when each of
 * their connections has had an answer, or is open. It has a low priority on the core that it shares with the good caller and the
 * bank, so that its own work does not delay them.
 */
setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + 10));

const [url = '', groups]: readonly [string, readonly Group[]] = JSON.parse(process.argv[2] ?? '[]');
const target = new URL(url);
const agent = new Agent({ keepAlive: true });
const sockets = new Set<Socket>();
/** The number of answers with each status. Connections on which no answer is read count under status 0. */
let statuses: Record<number, number> = {};
let isOver = false;
process.once('message', () => {
  isOver = true;
});

const headersOf = (behaviour: Behaviour, login: number): Record<string, string> => ({
  'Content-Type': 'application/json',
  // The bank refuses this key, so that the caller is not verified.
  'Ocp-Apim-Subscription-Key': behaviour.startsWith('updates') ? 'made-up' : 'key',
  'Auth-Provider-Name': 'provider',
  'Auth-ID': `attacker-${login}`,
});

const bodyOf = (behaviour: Behaviour) =>
  JSON.stringify({ query: behaviours[behaviour].replaceAll('RANDOM', crypto.randomUUID()) });

const payment = () =>
  JSON.stringify({
    query: `mutation{makeTransaction(input:{accountId:"a",to:{accountId:"b"},value:{amount:1,currency:"EUR"},idempotencyKey:"${crypto.randomUUID()}"}){replayed}}`,
  });

/** Sends a request and reads its answer to the end. */
const ask = (behaviour: Behaviour, login: number, body = bodyOf(behaviour)) =>
  new Promise<void>((resolve) => {
    const sent = request(
      target,
      { agent, method: 'POST', headers: headersOf(behaviour, login) },
      (answer) => {
        const { statusCode = 0 } = answer;
        statuses[statusCode] = (statuses[statusCode] ?? 0) + 1;
        answer.on('close', resolve).on('error', () => resolve());
        answer.resume();
      },
    );
    sent.on('error', () => resolve());
    sent.end(body);
  });

/** Holds a connection open as long as the server permits: with an incomplete body, or with answers that nobody reads. */
const hold = (behaviour: Behaviour, login: number) =>
  new Promise<void>((resolve) => {
    const socket = connect(Number(target.port), target.hostname);
    sockets.add(socket);
    statuses[0] = (statuses[0] ?? 0) + 1;
    const end = () => {
      sockets.delete(socket);
      socket.destroy();
      resolve();
    };
    socket.on('error', end).on('close', end);
    const body = bodyOf(behaviour);
    const head = Object.entries(headersOf(behaviour, login)).map(([name, value]) => `${name}: ${value}\r\n`);
    const whole = `POST ${target.pathname} HTTP/1.1\r\nHost: ${target.host}\r\n${head.join('')}Content-Length: ${body.length}\r\n\r\n${body}`;
    if (behaviour === 'bodies that stop') socket.write(whole.slice(0, 1 - body.length));
    // The answers are not read, so that they stay with the server.
    else socket.pause().write(whole.repeat(20));
  });

/** Makes the payments for the callers that list payments: a thousand, and at most 120 for each login. */
const payAll = ({ behaviour, logins }: Group) =>
  Promise.all(
    Array.from({ length: behaviour === 'lists of payments' ? logins : 0 }, async (_, login) => {
      for (let left = Math.min(120, 1000 / logins); left > 0; left--) await ask(behaviour, login, payment());
    }),
  );

for (const group of groups) await payAll(group);
statuses = {};

let idle = groups.reduce((sum, { logins, connections }) => sum + logins * connections, 0);
const began = () => --idle === 0 && process.send?.('begun');

async function keepOn({ behaviour }: Group, login: number): Promise<void> {
  const holds = behaviour === 'bodies that stop' || behaviour === 'answers that nobody reads';
  if (holds) began();
  let isFirst = true;
  while (!isOver) {
    await (holds ? hold : ask)(behaviour, login);
    if (!holds && isFirst) began();
    isFirst = false;
    // If the server has stopped, the request is sent again a little later.
    await delay(1);
  }
}

for (const group of groups)
  for (let login = 0; login < group.logins; login++)
    for (let n = 0; n < group.connections; n++) void keepOn(group, login);
while (!isOver) await delay(50);
for (const socket of sockets) socket.destroy();
agent.destroy();
process.send?.(statuses, () => process.exit());

import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { type Behaviour, behaviours, type Group } from './hostile-callers.ts';

/** A thread of callers within the limits, who go on until it is told to end. */

interface Attack {
  readonly url: string;
  readonly groups: readonly Group[];
}

const { url, groups }: Attack = workerData;
const target = new URL(url);
const agent = new Agent({ keepAlive: true });
const sockets = new Set<Socket>();
let isOver = false;
parentPort?.once('message', () => {
  isOver = true;
});

const headersOf = (behaviour: Behaviour, login: number): Record<string, string> => ({
  'Content-Type': 'application/json',
  // The bank refuses this key: nothing that it is shown proves who asks.
  'Ocp-Apim-Subscription-Key': behaviour.startsWith('updates') ? 'made-up' : 'key',
  'Auth-Provider-Name': 'provider',
  'Auth-ID': `attacker-${login}`,
});

const bodyOf = (behaviour: Behaviour) =>
  JSON.stringify({ query: behaviours[behaviour].replaceAll('RANDOM', crypto.randomUUID()) });

/** Sends a request and reads its answer to the end. */
const ask = (behaviour: Behaviour, login: number) =>
  new Promise<void>((resolve) => {
    const sent = request(
      target,
      { agent, method: 'POST', headers: headersOf(behaviour, login) },
      (answer) => {
        answer.on('close', resolve).on('error', () => resolve());
        answer.resume();
      },
    );
    sent.on('error', () => resolve());
    sent.end(bodyOf(behaviour));
  });

/** Holds a connection as long as the server lets it: with a body that stops, or with answers that nobody reads. */
const hold = (behaviour: Behaviour, login: number) =>
  new Promise<void>((resolve) => {
    const socket = connect(Number(target.port), target.hostname);
    sockets.add(socket);
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
    // Unread, so that the answers stay with the server.
    else socket.pause().write(whole.repeat(20));
  });

async function keepOn({ behaviour }: Group, login: number): Promise<void> {
  const holds = behaviour === 'bodies that stop' || behaviour === 'answers that nobody reads';
  while (!isOver) {
    await (holds ? hold : ask)(behaviour, login);
    // A server that has gone is asked again a little later.
    await delay(1);
  }
}

for (const group of groups)
  for (let login = 0; login < group.logins; login++)
    for (let n = 0; n < group.connections; n++) void keepOn(group, login);
while (!isOver) await delay(50);
for (const socket of sockets) socket.destroy();
agent.destroy();
process.exit();

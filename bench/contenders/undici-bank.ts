import { Pool } from 'undici';

/** Calls to the bank as a careful user of undici makes them. */
const pool = new Pool(process.env.BANK_URL ?? '', { connections: 64, allowH2: false });

async function read(path: string, headers: Record<string, string>): Promise<unknown> {
  const { statusCode, body } = await pool.request({ method: 'GET', path, headers });
  if (statusCode !== 200) throw new Error(`the bank answered ${statusCode}`);
  return body.json();
}

/** One request's calls: each path is asked for once. */
export function readOnce(headers: Record<string, string>): (path: string) => Promise<unknown> {
  const asked = new Map<string, Promise<unknown>>();
  return (path) => {
    const answer = asked.get(path) ?? read(path, headers);
    asked.set(path, answer);
    return answer;
  };
}

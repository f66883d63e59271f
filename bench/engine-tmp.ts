import { createTelemetry } from '../src/server/telemetry.ts'; import { pino } from 'pino'; const telemetry = createTelemetry(pino({ level: 'warn' }), pino({ level: 'warn' }));
import { createEngine } from '../src/engine/engine.ts';
import { q1, q2, q4 } from './shapes.ts';
import { setFlagsFromString } from 'node:v8';
setFlagsFromString('--no-allocation-site-pretenuring');
const stubPort = process.argv[3]!;
import { createBankClient } from '../src/bank/client.ts';
import { readConfig } from '../src/config.ts';
const config = readConfig({ BANK_BASE_URL: `http://127.0.0.1:${stubPort}`, BANK_ALLOW_HTTP: '1', PUBLIC_CACHE_TTL_MS: '0', BANK_CONNECTION_WAIT_MS: '5000' });
const client = createBankClient({ ...config.bankLimits, ...(process.argv[6]?.includes('tel') ? { onCall: telemetry.onCall } : {}), baseUrl: `http://127.0.0.1:${stubPort}` });
const { bankId } = await import('./bank/records.ts') as any;
const kept = new Map<string, Promise<any>>();
await fetch(`http://127.0.0.1:${stubPort}/__set?bodies=${process.argv[7] ?? 'unchanged'}&latency=0`, { method: 'POST' });
const bank: any = { ...client, read: (op: any, input: any) => { const k = op.id + JSON.stringify(input.ids); let r = kept.get(k); if (!r) { r = client.read(op, input); kept.set(k, r); } return r.then((x) => x); } };
const engine = createEngine({ bank: process.argv[4] === 'real' ? client : bank, payments: {} as any, defaults: { bankId, viewId: 'owner' }, limits: { timeoutMs: 20000, restCalls: 50 }, documentLimits: config.documentLimits, introspection: false, unexpected: console.error });
const shape = ({ q1: q1(), q2: q2(), q4 } as any)[process.argv[2]!];
const CONC = Number(process.argv[5] ?? 16); const mode = process.argv[6] ?? '';
import { duringRequest } from '../src/server/current-request.ts';
const ask2 = () => mode.includes('als') ? duringRequest('x', ask) : ask();
let c = 0; const ask = () => { c++; return engine.answer({ query: shape.query }, { credentials: { subscriptionKey: 'k' + (c & 511), authProviderName: 'b', authId: 'caller' + (c & 511) } }); };
const first: any = await ask(); if (first.errors) console.log(JSON.stringify(first.errors).slice(0, 300)); console.log(JSON.stringify(first).length);
const batch = async (n: number) => { for (let i = 0; i < n; i++) await Promise.all(Array.from({ length: CONC }, ask2)); };
await batch(100); for (let r = 0; r < 4; r++) { const u = process.cpuUsage(); await batch(60); const d = process.cpuUsage(u); console.log(((d.user + d.system) / (60 * CONC)).toFixed(1), 'us per op'); }
if (mode.includes('alloc')) { await (globalThis as any).startAlloc(); await batch(20); await (globalThis as any).stopAlloc(20 * CONC); }
process.exit();

/**
 * The memory that a process of Node uses after a garbage collection, in megabytes. The process must run with
 * `--inspect=127.0.0.1:PORT`.
 */
export async function liveHeap(inspectPort: number): Promise<number> {
  const targets: unknown = await (await fetch(`http://127.0.0.1:${inspectPort}/json`)).json();
  const [target] = Array.isArray(targets) ? targets : [];
  const socket = new WebSocket(String(Reflect.get(Object(target), 'webSocketDebuggerUrl')));
  await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }));
  const ask = (id: number, method: string) =>
    new Promise<unknown>((resolve) => {
      socket.addEventListener('message', function answered({ data }) {
        const answer: unknown = JSON.parse(String(data));
        if (Reflect.get(Object(answer), 'id') !== id) return;
        socket.removeEventListener('message', answered);
        resolve(Reflect.get(Object(answer), 'result'));
      });
      socket.send(JSON.stringify({ id, method }));
    });
  await ask(1, 'HeapProfiler.collectGarbage');
  const usage = await ask(2, 'Runtime.getHeapUsage');
  socket.close();
  return Number(Reflect.get(Object(usage), 'usedSize')) / 1024 ** 2;
}

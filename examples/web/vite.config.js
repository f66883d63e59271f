import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/**
 * The page and the endpoint have one origin, as behind a bank's own proxy. So the browser needs no CORS, and the proxy adds the
 * operator's credentials, which no browser sees.
 */
const proxy = {
  '/graphql': {
    target: process.env.BANKQL_URL ?? 'http://127.0.0.1:4000',
    headers: { 'Ocp-Apim-Subscription-Key': 'sandbox-key', 'Auth-Provider-Name': 'sandbox' },
  },
};

export default defineConfig({
  plugins: [react()],
  resolve: {
    alias: { 'bankql/client': fileURLToPath(new URL('../../src/client/index.ts', import.meta.url)) },
  },
  server: { proxy, fs: { allow: ['../..'] } },
  preview: { proxy },
});

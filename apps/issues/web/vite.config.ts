import react from '@vitejs/plugin-react';
import { defaultClientConditions, defineConfig } from 'vite';

// The environment of `npx pnpm@12 dev`.
const { ISSUES_PORT: port = '3002' } = process.env;

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  resolve: { conditions: ['@tessera/source', ...defaultClientConditions] },
  server: {
    port: 5173,
    proxy: Object.fromEntries(['/app', '/api'].map((path) => [path, `http://localhost:${port}`])),
  },
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: 'es2023',
    // A data: URL would need a wider Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The first load is one file: split by who else imports what, it would be compressed worse.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } } },
    // Served with the app: its licences require their notices.
    license: { fileName: 'assets/licences.md' },
  },
});

import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const engineRoom = (room: string): string => fileURLToPath(new URL(`../functions/src/${room}`, import.meta.url));

export default defineConfig({
  plugins: [react()],
  resolve: {
    alias: { '@model': engineRoom('model'), '@engine': engineRoom('engine') },
    // The schemas live in functions/, which has a zod of its own: one copy is enough.
    dedupe: ['zod'],
  },
  build: {
    target: 'es2023',
    // No inline scripts or data-URL fonts: the content security policy forbids the first and the second would count into the style sheet.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    rolldownOptions: {
      output: {
        // zod tries at import whether it may compile code, which the content security policy reports as a violation. The
        // setting must be there before zod is, so it stands at the head of every chunk.
        banner: 'globalThis.__zod_globalConfig??={jitless:true};',
      },
    },
    chunkSizeWarningLimit: 600,
  },
});

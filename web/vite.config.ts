import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const engineRoom = (room: string): string => fileURLToPath(new URL(`../functions/src/${room}`, import.meta.url));

/** `virtual:step-schemas` is what step-schemas.ts prints. */
function stepSchemas(): Plugin {
  const id = 'virtual:step-schemas';
  return {
    name: 'step-schemas',
    resolveId: (wanted) => (wanted === id ? `\0${id}` : null),
    load(wanted) {
      if (wanted !== `\0${id}`) return null;
      const script = fileURLToPath(new URL('step-schemas.ts', import.meta.url));
      const json = execFileSync(process.execPath, [script], { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 });
      return `export default JSON.parse(${JSON.stringify(json)});`;
    },
  };
}

export default defineConfig({
  plugins: [react(), stepSchemas()],
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

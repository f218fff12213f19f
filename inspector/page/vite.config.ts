import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const source = (path: string) => new URL(`src/${path}`, import.meta.url).pathname;

export default defineConfig({
  // Relative, so that the page works under any path.
  base: './',
  plugins: [react({ jsxImportSource: '#jsx' })],
  resolve: {
    alias: {
      // The form library names both; neither is to be in the page. The one compiles schemas to code, the other makes HTML.
      '@rjsf/validator-ajv8': source('forms/validator.ts'),
      'markdown-to-jsx/react': source('forms/PlainText.tsx'),
    },
  },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    rollupOptions: {
      output: {
        // Fixed names: a build that changes nothing changes no file.
        entryFileNames: 'assets/[name].js',
        chunkFileNames: 'assets/[name].js',
        assetFileNames: 'assets/[name][extname]',
      },
    },
  },
});

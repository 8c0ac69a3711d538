import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { compress } from './compress.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
/** The running service to which the development server forwards requests. */
const SERVICE = process.env.PARLEY_URL ?? 'http://127.0.0.1:3000'

/**
 * Two pages: the console, which the service serves below `/console/`, and the phone, which the sandbox serves at its
 * root. Addresses in index.html are therefore absolute, because it answers every path, and all others are relative.
 */
export default defineConfig(({ command }) => ({
  root: folder,
  base: command === 'serve' ? '/console/' : './',
  plugins: [react(), compress()],
  experimental: {
    renderBuiltUrl: (filename, { hostId }) =>
      hostId.endsWith('index.html') ? `/console/${filename}` : { relative: true },
  },
  build: {
    target: 'es2024',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    manifest: true,
    reportCompressedSize: false,
    rolldownOptions: {
      checks: { pluginTimings: false },
      input: ['index.html', 'phone.html'].map((page) => `${folder}${page}`),
    },
  },
  server: {
    proxy: {
      '/console/api': {
        target: SERVICE,
        changeOrigin: true,
        // The service accepts changes from its own origin only.
        configure: (proxy) => {
          proxy.on('proxyReq', (request) => {
            if (request.hasHeader('origin')) request.setHeader('origin', SERVICE)
          })
        },
      },
    },
  },
}))

import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { compress } from './compress.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
/** The running service to which the development server forwards requests. */
const SERVICE = process.env.PARLEY_URL ?? 'http://127.0.0.1:3000'

/** Whether the path of a module matches, which for the console's own begins below `console/`. */
const at = (path: RegExp) => (id: string) => path.test(id.replace(folder, ''))
const INITIAL = ['$initial' as const]

/**
 * The files of the build: without groups each module that two screens share is a file of its own. A module belongs to the
 * first group that names it, and so do the modules that it imports.
 */
const GROUPS = [
  // Both pages start with these; the phone alone starts with lists.
  {
    name: 'base',
    test: at(/node_modules\/(?!.*virtual)|^(texts|styles|parts\/(?!lists\/list|json\/json-view))/),
    tags: INITIAL,
  },
  { name: 'index', test: at(/^(?!phone|parts)\w/), tags: INITIAL },
  {
    name: 'screens',
    test: at(
      /^(parts\/(?!popups)|inbox\/(composer\/(draft|files\/attached)|list\/summary|content\/json-content)|contacts\/(contact-(fields|queries)|field-value)|fields\/field-queries)|use(Mutation|InfiniteQuery)/,
    ),
  },
  // Loaded after the first rows, like the pane of a conversation.
  { name: 'popups', test: at(/^parts\/popups/) },
  {
    name: 'thread',
    test: at(
      /^(inbox\/(list\/conversation-(row|skeleton)|thread\/message-list|composer\/composer)|notifications\/view)/,
    ),
  },
]

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
    // All styles together are 10 kB: a file for each screen would cost more.
    cssCodeSplit: false,
    rolldownOptions: {
      checks: { pluginTimings: false },
      input: ['index.html', 'phone.html'].map((page) => `${folder}${page}`),
      output: { codeSplitting: { groups: GROUPS } },
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

import { parentPort, workerData } from 'node:worker_threads'
import scalar from '@scalar/fastify-api-reference'
import Fastify from 'fastify'
import { type StaticFile, toStaticFile, versionOf } from '../server/answers/static-file.ts'

export type ReferencePage = { page: StaticFile; script: StaticFile }

const SCRIPT = 'js/scalar.js'
const { demoToken }: { demoToken: string | undefined } = workerData

/** Must run in its own thread: the package takes 34 MB and 0.3 s to load, and compression as long again. */
async function buildPage(): Promise<ReferencePage> {
  const script = await toStaticFile('text/javascript; charset=utf-8', await readFromScalar(`/docs/${SCRIPT}`))
  // Browsers may cache the script forever.
  const page = await readFromScalar('/docs/', { cdn: `${SCRIPT}?v=${versionOf(script)}` })
  return { script, page: await toStaticFile('text/html; charset=utf-8', page) }
}

async function readFromScalar(url: string, own: { cdn?: string } = {}): Promise<Buffer> {
  const app = Fastify()
  await app.register(scalar, {
    routePrefix: '/docs',
    configuration: {
      url: '/openapi.json',
      pageTitle: 'Parley API reference',
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
      showDeveloperTools: 'never',
      agent: { disabled: true },
      mcp: { disabled: true },
      authentication: {
        preferredSecurityScheme: 'apiKey',
        ...(demoToken !== undefined && { securitySchemes: { apiKey: { token: demoToken } } }),
      },
      ...own,
    },
  })
  const { rawPayload } = await app.inject(url)
  await app.close()
  return rawPayload
}

parentPort?.postMessage(await buildPage())

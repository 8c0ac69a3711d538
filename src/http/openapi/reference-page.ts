import { parentPort, workerData } from 'node:worker_threads'
import scalar from '@scalar/fastify-api-reference'
import Fastify from 'fastify'
import { type StaticFile, toStaticFile, versionOf } from '../server/answers/static-file.ts'

export type ReferencePage = { page: StaticFile; script: StaticFile }

const SCRIPT = 'js/scalar.js'
/** The API key that the page fills in. */
const { demoToken }: { demoToken: string | undefined } = workerData

/**
 * Runs in a thread of its own: the package takes 34 MB and 0.3 s to load, and the compression as long again. The thread
 * posts the files and ends.
 */
async function buildPage(): Promise<ReferencePage> {
  const script = await toStaticFile('text/javascript; charset=utf-8', await readFromScalar(`/docs/${SCRIPT}`))
  // The name changes with the content, so that browsers may keep the script for ever.
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

import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { temporaryFolder } from '../temporary-folder.ts'
import { bundledMain } from './bundled-programs.ts'
import { openRunFolder } from './run-folder.ts'
import { MIRRORED, startTemplate, unpackCluster } from './template.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the test server's database `parley`: migrated, never written, cloned by each test file. */
    databaseUrl: string
    /** A folder with a stopped cluster, `postgres`, whose database is migrated. Empty in the project `database`. */
    clusterFolder: string
    /** The path of the program that processes of tests run (bundled-programs.ts). Empty in the project `database`. */
    mainProgram: string
    /** The database that test files clone for mirrors: in the project `process` it is `parley`, otherwise the copy with them. */
    template: string
  }
}

/** One real PostgreSQL for the run of a project, without fsync, in a folder that goes with it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await openRunFolder()
  const folder = await mkdtemp(join(temporaryFolder(), 'parley-test-'))
  const cluster = join(folder, 'cluster')
  await mkdir(cluster)
  const mirrors = project.name !== 'process'
  const startsProcesses = project.name !== 'database'
  if (startsProcesses) {
    await unpackBrowser()
    await unpackCluster(cluster)
  }
  project.provide('mainProgram', startsProcesses ? await bundledMain() : '')
  const server = await startTemplate(folder, mirrors)
  project.provide('databaseUrl', server.url)
  project.provide('clusterFolder', cluster)
  project.provide('template', mirrors ? MIRRORED : 'parley')
  return async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The driver of browsers takes 0.3 s of processor time to load. */
async function unpackBrowser(): Promise<void> {
  const { browserPath } = await import('../console/world/browser.ts')
  await browserPath()
}

// Builds dist when its sources changed since the last build: what `npm start` runs, and what `npm pack` packs with bin and deploy.
// It has a bundle of each program (bundle.mjs) and the files that these read. Runs on whatever Node the machine has.
import { cpSync, rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { carriedNode, readIfThere, root, writeIfDifferent } from '../files.mjs'
import { runChild } from '../run-child.mjs'
import { runStep } from '../step.mjs'
import { digestOf, SOURCES } from './sources.mjs'

const dist = join(root, 'dist')
/** bin/parley runs the sources when one of them is newer than this file. */
const stampFile = join(dist, '.stamp')
const consoleStamp = join('console', 'dist', '.stamp')

/** A stamp of these sources gets the time of now, since a checkout of another commit and back makes the sources newer. */
export function serviceIsBuilt() {
  if (readIfThere(stampFile) !== stampOfSources()) return false
  utimesSync(stampFile, new Date(), new Date())
  return true
}

/** Builds it and returns the exit code. */
export async function buildService() {
  const stamp = stampOfSources()
  rmSync(dist, { recursive: true, force: true })
  const status = await runStep('Building the service', bundle)
  if (status === 0) writeIfDifferent(stampFile, stamp)
  return status
}

async function bundle() {
  for (const folder of ['migrations', join('console', 'dist')]) {
    cpSync(join(root, folder), join(dist, folder), { recursive: true })
  }
  return await runChild(carriedNode(), [join('scripts', 'build', 'bundle.mjs'), dist], {
    cwd: root,
    shell: process.platform === 'win32',
  })
}

const stampOfSources = () => digestOf([...SOURCES, consoleStamp])

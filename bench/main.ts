/** `npm run bench -- [NAME] [--quick] [--json FILE]`: see bench/README.md. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus, loadavg, release, totalmem, type } from 'node:os'
import { Command } from 'commander'
import type { Bench } from './bench.ts'
import { contactsBench } from './benchmarks/contacts.ts'
import { emailBench } from './benchmarks/email.ts'
import { fairnessBench } from './benchmarks/fairness.ts'
import { forwardBench } from './benchmarks/forward.ts'
import { inboundBench } from './benchmarks/inbound.ts'
import { liveBench } from './benchmarks/live.ts'
import { readBench, scaleBench } from './benchmarks/read.ts'
import { receiversBench } from './benchmarks/receivers.ts'
import { sendBench } from './benchmarks/send.ts'
import { turnsBench } from './benchmarks/turns.ts'
import { type Figure, figureOf, type NewFigure, summaryOf, tableOf } from './figure.ts'

/** Every benchmark, one line each. */
const BENCHES: Record<string, Bench> = {
  send: sendBench,
  inbound: inboundBench,
  forward: forwardBench,
  receivers: receiversBench,
  live: liveBench,
  read: readBench,
  contacts: contactsBench,
  email: emailBench,
  fairness: fairnessBench,
  turns: turnsBench,
  scale: scaleBench,
}

/** Those that a run of all leaves out: one takes half an hour and 45 GB, one needs another checkout. */
const LEFT_OUT = ['scale', 'turns']

type Options = { quick?: boolean; only?: string; root?: string; json?: string }

const program = new Command('bench')
  .argument('[name]', `one of ${Object.keys(BENCHES).join(', ')}; by default all but ${LEFT_OUT.join(' and ')}`)
  .option('--only <text>', 'the parts whose name contains the text, for instance peers')
  .option('--quick', 'shorter loads')
  .option('--root <folder>', 'another checkout, which `turns` compares with this one')
  .option('--json <file>', 'write the figures there')
  .parse()
const [name] = program.args
const { quick = false, only = '', root, json } = program.opts<Options>()
if (name !== undefined && !(name in BENCHES)) program.error(`There is no benchmark "${name}"`)

const commit = execFileSync('git', ['describe', '--always', '--dirty', '--abbrev=40'], { encoding: 'utf8' }).trim()
const figures: Figure[] = []
const failed: string[] = []
const startedAt = performance.now()
for (const [key, bench] of Object.entries(BENCHES)) {
  if (name === undefined ? !LEFT_OUT.includes(key) : key === name) await run(key, bench)
}
const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1)
console.log(`\n${commit}, ${new Date().toISOString().slice(0, 16)}, ${minutes} minutes`)
console.log(`\n${summaryOf(figures) ?? 'No goal was measured.'}`)
for (const text of failed) console.log(`\nNot measured to its end: ${text}`)
if (json !== undefined) writeFileSync(json, `${JSON.stringify({ commit, machine: machine(), figures }, null, 2)}\n`)
process.exitCode = failed.length > 0 ? 1 : figures.some(({ met }) => met === false) ? 2 : 0

/** The others go on when one fails. */
async function run(key: string, bench: Bench): Promise<void> {
  console.log(`\n${key} (load average at the start: ${loadOfMachine()})`)
  const own: Figure[] = []
  const say = (text: string) => console.log(`  ${new Date().toISOString().slice(11, 19)} ${text}`)
  const report = (figure: NewFigure) => own.push(figureOf({ ...figure, name: `${key}: ${figure.name}` }))
  await bench({ quick, only, root, report, say }).catch((error) => {
    console.error(error)
    failed.push(`${key}: ${error}`)
  })
  figures.push(...own)
  const others = own.filter(({ goal }) => goal === null)
  if (others.length > 0) console.log(`\n${tableOf(others)}\n`)
  console.log(`(load average at the end: ${loadOfMachine()})`)
}

function loadOfMachine(): string {
  return String(loadavg().map((load) => Number(load.toFixed(2))))
}

function machine() {
  const processors = { processors: cpus().length, model: cpus()[0]?.model, memoryBytes: totalmem() }
  const system = { system: `${type()} ${release()}`, node: process.version, loadAverage: loadavg() }
  return { ...system, ...processors, date: new Date().toISOString() }
}

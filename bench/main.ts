/** `npm run bench -- [NAME] [--quick] [--json FILE]`: see bench/README.md. */
import { execFileSync } from 'node:child_process'
import { cpus, loadavg, release, totalmem, type } from 'node:os'
import { Command } from 'commander'
import type { Bench } from './bench.ts'
import { contactsBench } from './benchmarks/contacts.ts'
import { emailBench } from './benchmarks/email.ts'
import { fairnessBench } from './benchmarks/fairness.ts'
import { forwardBench } from './benchmarks/forward.ts'
import { inboundBench } from './benchmarks/inbound.ts'
import { liveBench } from './benchmarks/live.ts'
import { readBench } from './benchmarks/read.ts'
import { receiversBench } from './benchmarks/receivers.ts'
import { scaleBench } from './benchmarks/scale.ts'
import { scheduleBench } from './benchmarks/schedule.ts'
import { sendBench } from './benchmarks/send.ts'
import { turnsBench } from './benchmarks/turns.ts'
import { type Figure, summaryOf, tableOf, writeReport } from './figure.ts'

/** Every benchmark, one line each. */
const BENCHES: Record<string, Bench> = {
  send: sendBench,
  inbound: inboundBench,
  forward: forwardBench,
  receivers: receiversBench,
  schedule: scheduleBench,
  live: liveBench,
  read: readBench,
  contacts: contactsBench,
  email: emailBench,
  fairness: fairnessBench,
  turns: turnsBench,
  scale: scaleBench,
}

type Options = { quick?: boolean; only?: string; root?: string; json?: string }

const program = new Command('bench')
  .argument('[name]', `one of ${Object.keys(BENCHES).join(', ')}; by default all`)
  .option('--only <text>', 'the parts whose name contains the text, for instance peers')
  .option('--quick', 'shorter loads')
  .option('--root <folder>', 'another checkout, which `turns` compares with this one')
  .option('--json <file>', 'write the figures there')
  .parse()
const [name] = program.args
const { quick = false, only = '', root, json } = program.opts<Options>()
if (name !== undefined && !(name in BENCHES)) program.error(`There is no benchmark "${name}"`)

const figures: Figure[] = []
for (const chosen of name === undefined ? Object.keys(BENCHES) : [name]) await run(chosen)
const summary = summaryOf(figures)
if (summary !== undefined)
  console.log(`\nSummary of ${commit()}, ${new Date().toISOString().slice(0, 16)}\n\n${summary}`)
if (json !== undefined) await writeReport(json, { commit: commit(), machine: machine(), figures })
process.exitCode = figures.some(({ met }) => met === false) ? 2 : 0

async function run(chosen: string): Promise<void> {
  const bench = BENCHES[chosen]
  if (bench === undefined) return
  console.log(`\n${chosen} (load average at the start: ${loadOfMachine()})`)
  const own: Figure[] = []
  await bench({
    quick,
    only,
    root,
    report: (figure) => own.push({ ...figure, name: `${chosen}: ${figure.name}` }),
    say: (text) => console.log(`  ${new Date().toISOString().slice(11, 19)} ${text}`),
  })
  figures.push(...own)
  console.log(`\n${tableOf(own)}\n(load average at the end: ${loadOfMachine()})`)
}

function loadOfMachine(): string {
  return loadavg()
    .map((load) => load.toFixed(2))
    .join(' ')
}

function machine() {
  const [first, ...others] = cpus()
  const processors = { processors: others.length + 1, model: first?.model ?? 'unknown', memoryBytes: totalmem() }
  const system = { system: `${type()} ${release()}`, node: process.version }
  return { ...system, ...processors, loadAverage: loadavg(), date: new Date().toISOString() }
}

function commit(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty', '--abbrev=40'], { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}

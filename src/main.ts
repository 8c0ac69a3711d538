import cluster from 'node:cluster'
import { Command } from 'commander'
import { buildApp, buildHealthApp } from './app.ts'
import { explainRefusal } from './db/server/start-refusal.ts'
import { adviceOnHttps } from './http/server/request-head.ts'
import type { OpenOperator } from './operator/commands/command.ts'
import { operatorCommands } from './operator/commands/command-line.ts'
import { greetingOf, letCustomerWrite, openConsoleLinks, openDemo } from './operator/first-run.ts'
import { type Config, ConfigError, readConfig } from './platform/settings/config.ts'
import { messageOf, StartError } from './platform/start-error.ts'
import { createLog } from './platform/telemetry/log.ts'
import { showSourcesInStacks } from './platform/telemetry/stack-trace.ts'
import { startTracing } from './platform/telemetry/tracing.ts'
import { VERSION } from './platform/version.ts'
import { databaseCommand } from './process/database-command.ts'
import { doctorCommand } from './process/doctor/doctor-command.ts'
import { examine } from './process/doctor/examine.ts'
import { runUntilStopped } from './process/lifecycle.ts'
import { migrateCommand } from './process/migrate-command.ts'
import type { Build } from './process/serve.ts'
import { type Running, start } from './process/start.ts'
import { createStepDisplay, type StepDisplay } from './process/step-display.ts'
import { startSupervised } from './process/supervisor/supervised.ts'
import { startSupervisor } from './process/supervisor/supervisor.ts'
import { createMailer, createProviders } from './wiring/adapters.ts'
import { createDeps, type Deps } from './wiring/deps.ts'
import { createOperatorDeps, openOperator } from './wiring/operator-deps.ts'
import { startWorkers } from './wiring/workers.ts'

// Only builds have source maps; Node's type stripping keeps positions.
if (import.meta.url.endsWith('.js')) showSourcesInStacks()

const program = new Command('parley').description('Self-hosted messaging and contacts service').version(VERSION)

program
  .command('start')
  .description('start the service; it runs until SIGTERM or Ctrl-C')
  .action(async () => {
    const config = readConfig(process.env)
    const isTerminal = process.stdout.isTTY
    const { log, release } = createLog(config.logLevel, { isTerminal, isHeld: true })
    const { build, openOwnOperator } = createBuild(config)
    const steps = createStepDisplay({ isTTY: isTerminal, write: (text) => process.stdout.write(text) })
    process.exitCode = await runUntilStopped(async () => {
      if (cluster.isWorker) return await startSupervised(config, { log, release }, build).finally(returnMemory)
      const isSupervisor = config.processes > 1
      const running = await (isSupervisor
        ? startSupervisor(config, log, steps.step)
        : start(config, log, build, steps.step)
      ).finally(steps.end)
      console.log(greeting(running, config))
      // The service works without the lines to paste.
      await greetNewcomer(config, running, isSupervisor ? () => openOperator(config) : openOwnOperator, steps).catch(
        (error) => log.warn({ error: messageOf(error) }, 'demo.failed'),
      )
      steps.end()
      release()
      running.greeted?.()
      returnMemory()
      return running
    }, log)
  })

/**
 * Returns start-up memory to the system: 101 MB stay resident instead of 117. V8 doesn't collect it on its own, since polling in an
 * idle process counts as work. Takes about 60 ms, once per process. Needs `--expose-gc`, which bin/parley sets and the processes
 * of `PROCESSES` inherit.
 */
function returnMemory(): void {
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

function createBuild(config: Config): { build: Build; openOwnOperator: OpenOperator } {
  const built = Promise.withResolvers<Deps>()
  const build: Build = async (dependencies, components) => {
    const deps = createDeps({
      ...dependencies,
      ...(config.otlpEndpoint !== undefined && { tracing: await startTracing() }),
      providers: createProviders(config),
      mailer: createMailer(config),
    })
    built.resolve(deps)
    const workers = config.role === 'api' ? undefined : await components.add('workers', () => startWorkers(deps))
    const app = config.role === 'worker' ? await buildHealthApp(deps) : await buildApp(deps, workers)
    return { app, registry: deps.metrics.registry }
  }
  return { build, openOwnOperator: async () => ({ ...createOperatorDeps(await built.promise), close: async () => {} }) }
}

migrateCommand(program, () => readConfig(process.env))
databaseCommand(program, () => readConfig(process.env))
doctorCommand(program, () => readConfig(process.env), examine)
operatorCommands(program, () => openOperator(readConfig(process.env)))

function greeting({ address, adminTokenFile }: Running, config: Config): string {
  const lines = [`Parley listens on ${address}; stop it with Ctrl-C.`]
  if (adminTokenFile !== undefined) lines.push(`The admin token is in ${adminTokenFile}`)
  const advice = adviceOnHttps(config)
  if (advice !== undefined) lines.push(advice)
  return lines.join('\n')
}

async function greetNewcomer(
  config: Config,
  { address, sandboxUrl }: Running,
  open: OpenOperator,
  steps: StepDisplay,
): Promise<void> {
  if (config.databaseUrl !== undefined || sandboxUrl === undefined || config.role === 'worker') return
  steps.step('Preparing the demo')
  const operator = await open()
  try {
    const demo = await openDemo(operator, { dataDir: config.dataDir, sandboxUrl })
    if (demo === undefined) return
    await letCustomerWrite(operator, demo.companyId, sandboxUrl)
    const links = await openConsoleLinks(operator, demo.companyId)
    steps.end()
    console.log(`\n${greetingOf(address, sandboxUrl, { token: demo.token, links })}`)
  } finally {
    await operator.close()
  }
}

// Output errors must not stop the service: the reader may be gone.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
try {
  await program.parseAsync()
} catch (error) {
  const reported = explainRefusal(error) ?? error
  const expected = reported instanceof StartError || reported instanceof ConfigError
  console.error(expected ? reported.message : reported)
  process.exitCode = 1
}
process.exit()

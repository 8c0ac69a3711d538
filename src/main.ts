import { Command } from 'commander'
import { pino } from 'pino'
import { type Config, ConfigError, readConfig } from './config.ts'
import { runUntilStopped } from './lifecycle.ts'
import { buildApp } from './placeholder-app.ts' // PLUG app: ./app.ts
import { start } from './start.ts'
import { StartError } from './start-error.ts'

const program = new Command('parley').description('Self-hosted messaging and contacts service')

program
  .command('start')
  .description('start the service; it runs until SIGTERM or Ctrl-C')
  .action(async () => {
    const config = readConfig(process.env)
    const log = pino({ level: config.logLevel })
    process.exitCode = await runUntilStopped(async () => {
      const running = await start(config, log, buildApp)
      console.log(greeting(config, running))
      return running
    }, log)
  })

// PLUG operator commands: operatorCommands(program, () => openOperator(readConfig(process.env)))

function greeting(config: Config, running: { address: string; adminTokenFile: string | undefined }): string {
  const lines = [`Parley listens on ${config.port === 0 ? running.address : config.baseUrl}; stop it with Ctrl-C.`]
  if (running.adminTokenFile !== undefined) lines.push(`The admin token is in ${running.adminTokenFile}`)
  return lines.join('\n')
}

// Whoever read our output may have gone: that is no reason to stop serving.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
try {
  await program.parseAsync()
} catch (error) {
  const expected = error instanceof StartError || error instanceof ConfigError
  console.error(expected ? error.message : error)
  process.exitCode = 1
}
process.exit()

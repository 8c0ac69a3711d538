import type { Command } from 'commander'
import { type Config, ConfigError } from '../../platform/settings/config.ts'
import type { Finding } from './finding.ts'

/** Defines `parley doctor`. Exit code 1 when a check fails, 0 with only warnings. */
export function doctorCommand(
  program: Command,
  readSettings: () => Config,
  examine: (config: Config) => Promise<Finding[]>,
): void {
  program
    .command('doctor')
    .description('check settings, database, disk, mail server, bucket, Redis, providers and webhook')
    .option('--json', 'print the findings as JSON, for machines')
    .action(async ({ json }: { json?: true }) => {
      const findings = await findingsOf(readSettings, examine)
      const lines = findings.map(({ status, name, message }) => `${status.padEnd(4)}  ${name}: ${message}`)
      console.log(json ? JSON.stringify(findings, null, 2) : lines.join('\n'))
      if (findings.some(({ status }) => status === 'fail')) process.exitCode = 1
    })
}

async function findingsOf(
  readSettings: () => Config,
  examine: (config: Config) => Promise<Finding[]>,
): Promise<Finding[]> {
  try {
    return await examine(readSettings())
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.faults.map((message) => ({ name: 'settings', status: 'fail', message }))
  }
}

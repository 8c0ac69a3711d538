// Builds dist for `npm pack`, on whatever Node the machine has. Output goes to standard error: npm prints the name of the package.
import { buildService, serviceIsBuilt } from './build/build-service.mjs'
import { runChild } from './run-child.mjs'

const status = await runChild('node', ['scripts/setup.mjs'], { stdio: ['ignore', 2, 2] })
// The set-up builds nothing below a service that runs.
process.exitCode = status || (serviceIsBuilt() ? 0 : await buildService())

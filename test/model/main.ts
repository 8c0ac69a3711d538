// npm run model [-- --histories N --seed S --only MODEL --path P --replay R --no-shrink --planted]: random histories against models of
// the contract (CONTRIBUTING.md, "Models").
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { findPlanted } from './planted.ts'
import { MODELS, runAll } from './run-all.ts'
import { startDatabase } from './stage.ts'

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '2000' },
    seed: { type: 'string' },
    only: { type: 'string' },
    path: { type: 'string' },
    replay: { type: 'string' },
    planted: { type: 'boolean', default: false },
    'no-shrink': { type: 'boolean', default: false },
  },
})

const seed = Number(values.seed ?? Date.now() % 2 ** 31)
const models = MODELS.filter(({ name }) => values.only === undefined || name === values.only)
if (models.length === 0) throw new Error(`--only takes ${MODELS.map(({ name }) => name).join(', ')}`)
if (values.planted) {
  const missed = await findPlanted(join(import.meta.dirname, '../..'), {
    seed,
    only: values.only,
    say: (line) => console.log(line),
  })
  process.exitCode = missed.length > 0 ? 1 : 0
} else {
  await compareWithModels()
}

async function compareWithModels(): Promise<void> {
  console.log(`seed ${seed}, ${values.histories} histories of ${models.map(({ name }) => name).join(', ')}`)
  const database = await startDatabase()
  try {
    const failures = await runAll(models, {
      histories: Number(values.histories),
      seed,
      templateUrl: database.templateUrl,
      shrinks: !values['no-shrink'],
      ...(values.path !== undefined && { path: values.path }),
      ...(values.replay !== undefined && { replayPath: values.replay }),
      say: (line) => console.log(line),
    })
    process.exitCode = failures.length > 0 ? 1 : 0
  } finally {
    await database.close()
  }
}

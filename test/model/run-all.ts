import { consent } from './consent/consent.ts'
import { inbox } from './inbox/inbox.ts'
import { limits } from './limits.ts'
import { people } from './people/people.ts'
import { type Failure, type Runnable, runnable } from './run.ts'
import { type Stage, startStage } from './stage.ts'

export const MODELS: Runnable[] = [runnable(people), runnable(consent), runnable(limits), runnable(inbox)]

/** Histories that run at once on one service, and services with a clock of their own. */
const LANES = 4
const TIMED_LANES = 1

export type RunAllOptions = {
  histories: number
  seed: number
  path?: string
  replayPath?: string
  shrinks?: boolean
  /** Outside of a run of the tests. */
  templateUrl?: string
  say?: (line: string) => void
}

/** Shares the histories among the models, and those of a model among lanes, each with a seed of its own. */
export async function runAll(models: Runnable[], options: RunAllOptions): Promise<Failure[]> {
  const { histories, seed, path, replayPath, say = () => {}, templateUrl, shrinks = true } = options
  const database = templateUrl === undefined ? {} : { templateUrl }
  const each = Math.ceil(histories / models.length)
  let done = 0
  const start = performance.now()
  const onHistory = () => {
    done += 1
    if (done % 100 === 0) say(`${done} histories in ${Math.round((performance.now() - start) / 1000)} s`)
  }
  const failures: Failure[] = []
  const stages: Stage[] = []
  const shared = models.some(({ isTimed }) => !isTimed) ? await open(false) : undefined
  await Promise.all(
    models.map(async (model) => {
      const lanes = path === undefined ? Math.min(each, model.isTimed ? TIMED_LANES : LANES) : 1
      await Promise.all(
        Array.from({ length: lanes }, async (_, lane) => {
          const stage = model.isTimed ? await open(true) : shared
          if (stage === undefined) return
          const failure = await model.run(stage, {
            histories: Math.ceil(each / lanes),
            seed: seed + lane,
            shrinks,
            onHistory,
            isStopped: () => !shrinks && failures.length > 0,
            ...(path !== undefined && { path }),
            ...(replayPath !== undefined && { replayPath }),
          })
          if (failure === undefined) return
          failures.push(failure)
          say(describe(failure))
        }),
      )
    }),
  )
  for (const stage of stages) await stage.close()
  say(`${done} histories in ${Math.round((performance.now() - start) / 1000)} s, ${failures.length} failures`)
  return failures

  async function open(isTimed: boolean): Promise<Stage> {
    const stage = await startStage({ isTimed, ...database })
    stages.push(stage)
    return stage
  }
}

export const describe = ({ model, message, story, seed, path, replayPath }: Failure): string =>
  [
    '',
    `${model}: ${message}`,
    ...story.map((sentence, place) => `  ${place + 1}. ${sentence}`),
    `repeat with: npm run model -- --only ${model} --seed ${seed} --path "${path}" --replay "${replayPath}"`,
    '',
  ].join('\n')

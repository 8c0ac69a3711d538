import fc from 'fast-check'
import type { Shop } from './shop.ts'
import type { Stage } from './stage.ts'

/** A model of the contract: how a history starts, its commands, and how many may run at once. */
export type Model<State extends object> = {
  name: string
  /** The clock of its service is moved: a history has the service alone. */
  isTimed: boolean
  open(stage: Stage): Promise<{ model: State; real: Shop }>
  commands: fc.Arbitrary<fc.AsyncCommand<State, Shop>>[]
  /** Compares at the end what would take too long after each command. */
  end(state: State, shop: Shop): Promise<void>
}

export type RunOptions = {
  histories: number
  seed: number
  path?: string
  replayPath?: string
  shrinks?: boolean
  onHistory?: () => void
  /** Ends the run without a result, since another one has failed. */
  isStopped?: () => boolean
}

export type Failure = {
  model: string
  message: string
  story: string[]
  seed: number
  path: string
  replayPath: string
}

const MAX_COMMANDS = 25

/** A model whose histories can be run, whatever its state. */
export type Runnable = Pick<Model<object>, 'name' | 'isTimed'> & {
  run(stage: Stage, options: RunOptions): Promise<Failure | undefined>
}

export const runnable = <State extends object>(model: Model<State>): Runnable => ({
  name: model.name,
  isTimed: model.isTimed,
  run: (stage, options) => runHistories(model, stage, options),
})

/** Runs histories of one model on one service, one after the other; returns the smallest failing one. */
async function runHistories<State extends object>(
  model: Model<State>,
  stage: Stage,
  { histories, seed, path, replayPath, shrinks = true, onHistory = () => {}, isStopped = () => false }: RunOptions,
): Promise<Failure | undefined> {
  let story: string[] = []
  const options = { maxCommands: MAX_COMMANDS, size: 'max', ...(replayPath && { replayPath }) } as const
  const property = fc.asyncProperty(fc.commands(model.commands, options), async (commands) => {
    if (isStopped()) return
    const opened = await model.open(stage)
    try {
      await fc.asyncModelRun(() => opened, commands)
      await model.end(opened.model, opened.real)
    } catch (error) {
      story = opened.real.story
      throw error
    } finally {
      onHistory()
    }
  })
  const result = await fc.check(property, {
    numRuns: histories,
    seed,
    endOnFailure: !shrinks,
    ...(path !== undefined && { path }),
  })
  if (!result.failed) return undefined
  const error = result.errorInstance
  return {
    model: model.name,
    message: error instanceof Error ? (error.name === 'Error' ? error.message : String(error.stack)) : String(error),
    story,
    seed: result.seed,
    path: result.counterexamplePath ?? '',
    replayPath: /replayPath="([^"]*)"/.exec(String(result.counterexample?.[0]))?.[1] ?? '',
  }
}

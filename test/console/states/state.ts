import type { Page } from 'playwright-core'
import type { Refusal } from './changed-answers.ts'
import type { Stage } from './stage.ts'

/** Whose session shows it. */
export type Who = 'empty' | 'one' | 'full' | 'agent' | 'developer' | 'operator' | 'acting' | 'signed-out'

/** A state of a screen: how it is reached, and what it must show. */
export type State = {
  /** The name of the test and of its pictures. */
  name: string
  who: Who
  path: string | ((stage: Stage) => string)
  /** How the requests of the screen are answered instead. */
  answers?: Refusal | 'slow'
  /** Before the page is opened. */
  prepare?: (page: Page) => Promise<unknown>
  /** What a user does then. */
  open?: (page: Page, stage: Stage) => Promise<unknown>
  shows: string | RegExp
  /** It is reached in another way on a phone: a loaded page does not become it. */
  differsOnPhone?: true
}

import { ANSWERS } from './answer-states.ts'
import { DIALOGS } from './dialog-states.ts'
import { OPERATOR_STATES } from './operator-states.ts'
import type { Stage } from './stage.ts'
import type { State } from './state.ts'

type Screen = {
  name: string
  path: (ids: Stage['full'] | Stage['one']) => string
  /** Absent where the screen needs a record. */
  empty?: string
  one: string | RegExp
  full: string | RegExp
}

const FAILED = 'The service could not read this part.'
const NO_PERMISSION = 'Your session needs the permission WhatsApp.'

/** The screens of a company, each of which has the same six states. */
const SCREENS: readonly Screen[] = [
  {
    name: 'inbox',
    path: () => '/console/inbox',
    empty: 'No conversations yet',
    one: 'Marta Rossi',
    full: 'Dmitri Novak',
  },
  {
    name: 'conversation',
    path: ({ chatId }) => `/console/inbox/${chatId}`,
    one: /^Window open/,
    full: 'It arrives tomorrow',
  },
  {
    name: 'contacts',
    path: () => '/console/contacts',
    empty: 'No contacts yet',
    one: /\d contacts?$/,
    full: /\d\d contacts$/,
  },
  {
    name: 'contact',
    path: ({ contact }) => `/console/contacts/${contact}`,
    one: 'Nothing was said',
    full: 'Your order',
  },
  {
    name: 'custom-fields',
    path: () => '/console/custom-fields',
    empty: 'No custom fields yet',
    one: 'Loyalty tier',
    full: 'Old tier',
  },
  { name: 'imports', path: () => '/console/imports', empty: 'No import yet', one: 'Completed', full: 'Completed' },
  { name: 'receivers', path: () => '/console/receivers', empty: 'No receiver yet', one: 'Shop', full: 'Failing' },
  {
    name: 'receiver',
    path: ({ receiver }) => `/console/receivers/${receiver}`,
    one: 'Marta Rossi',
    full: 'Audio message',
  },
]

const statesOf = ({ name, path, empty, one, full }: Screen): State[] => [
  ...(empty === undefined
    ? []
    : [{ name: `${name}-empty`, who: 'empty', path: path({} as never), shows: empty } as const]),
  { name: `${name}-one`, who: 'one', path: (stage) => path(stage.one), shows: one },
  { name, who: 'full', path: (stage) => path(stage.full), shows: full },
  { name: `${name}-failed`, who: 'full', path: (stage) => path(stage.full), answers: 'failed', shows: FAILED },
  {
    name: `${name}-forbidden`,
    who: 'full',
    path: (stage) => path(stage.full),
    answers: 'forbidden',
    shows: NO_PERMISSION,
  },
  { name: `${name}-slow`, who: 'full', path: (stage) => path(stage.full), answers: 'slow', shows: full },
]

/** Every state of the console: of each screen, and of what opens in it. */
export const STATES: readonly State[] = [...SCREENS.flatMap(statesOf), ...DIALOGS, ...OPERATOR_STATES, ...ANSWERS]

import { hasCompany, may, type Part } from '../may.ts'
import type { IconName } from '../parts/icon.tsx'
import type { Session } from '../session.ts'

export type ScreenName = 'inbox' | 'contacts' | 'receivers' | 'phone' | 'companies' | 'events'
type Screen = {
  name: ScreenName
  to: '/inbox/{-$chatId}' | '/contacts/{-$id}' | '/receivers/{-$id}' | '/phone' | '/companies' | '/events'
  icon: IconName
  /** The part of the console that it shows. */
  part: Part
  /** The paths of screens that belong to it. */
  below?: readonly string[]
  /** The keys that lead to it. */
  key: string | null
}

const COMPANIES: Screen = { name: 'companies', to: '/companies', icon: 'companies', key: null, part: 'companies' }
/** Belongs to the whole installation, so hidden while acting for a company. */
const EVENTS: Screen = { name: 'events', to: '/events', icon: 'alert', key: null, part: 'events' }
const INBOX: Screen = { name: 'inbox', to: '/inbox/{-$chatId}', icon: 'inbox', key: 'g i', part: 'conversations' }
const SCREENS: readonly Screen[] = [
  COMPANIES,
  EVENTS,
  INBOX,
  {
    name: 'contacts',
    to: '/contacts/{-$id}',
    icon: 'person',
    key: 'g c',
    part: 'contacts',
    below: ['/imports', '/custom-fields'],
  },
  { name: 'receivers', to: '/receivers/{-$id}', icon: 'receivers', key: 'g w', part: 'receivers' },
  { name: 'phone', to: '/phone', icon: 'phone', key: 'g p', part: 'conversations' },
]

/** The parameters of a link to a whole screen: without them it keeps the record of the current path. */
export const NO_RECORD = { id: undefined, chatId: undefined }

/** The screens that the session may open, in the order of the navigation. */
export function screensOf(session: Session): Screen[] {
  const hasPhone = session.features.sandboxUrl !== null
  const isShown = ({ name }: Screen) => (name === 'phone' ? hasPhone : name !== 'events' || !hasCompany(session))
  return SCREENS.filter((screen) => may(session, screen.part) && isShown(screen))
}

/** The screen that opens first: one of a company, if there is one. A session without any learns there what it lacks. */
export function homeOf(session: Session): Screen['to'] {
  const screens = screensOf(session)
  return (screens.find((screen) => screen !== COMPANIES && screen !== EVENTS) ?? screens[0] ?? INBOX).to
}

import type { IconName } from '../parts/icon.tsx'
import { actingFor } from '../scope.ts'
import { hasRole, type Session } from '../session.ts'

export type ScreenName = 'inbox' | 'contacts' | 'receivers' | 'phone' | 'companies'
type Screen = {
  name: ScreenName
  to: '/inbox/{-$chatId}' | '/contacts/{-$id}' | '/receivers/{-$id}' | '/phone' | '/companies'
  icon: IconName
  /** The path of a screen that belongs to it. */
  below?: string
  /** The keys that lead to it. */
  key: string | null
}

const INBOX: Screen = { name: 'inbox', to: '/inbox/{-$chatId}', icon: 'inbox', key: 'g i' }
const CONTACTS: Screen = { name: 'contacts', to: '/contacts/{-$id}', icon: 'person', key: 'g c', below: '/imports' }
const RECEIVERS: Screen = { name: 'receivers', to: '/receivers/{-$id}', icon: 'receivers', key: 'g w' }
const PHONE: Screen = { name: 'phone', to: '/phone', icon: 'phone', key: 'g p' }
const COMPANIES: Screen = { name: 'companies', to: '/companies', icon: 'companies', key: null }

/** Whether the page shows the data of a company: the user's own, or the one that an operator acts for. */
export const hasCompany = ({ kind }: Session): boolean => kind === 'company' || actingFor !== undefined

/** The screens that the session may open, in the order of the navigation. */
export function screensOf(session: Session): Screen[] {
  const screens: Screen[] = []
  if (session.kind === 'operator') screens.push(COMPANIES)
  if (!hasCompany(session)) return screens
  const mayOpen = (permission: string) => session.kind === 'operator' || session.permissions.includes(permission)
  if (mayOpen('WhatsApp') && hasRole(session, 'agent')) screens.push(INBOX)
  if ((mayOpen('WhatsApp') || mayOpen('Transactional')) && hasRole(session, 'agent')) screens.push(CONTACTS)
  if (mayOpen('WhatsApp')) {
    if (hasRole(session, 'developer')) screens.push(RECEIVERS)
    if (hasRole(session, 'agent') && session.features.sandboxUrl !== null) screens.push(PHONE)
  }
  return screens
}

/** The screen that opens first. */
export function homeOf(session: Session): Screen['to'] {
  if (session.kind === 'operator' && !hasCompany(session)) return COMPANIES.to
  return hasRole(session, 'agent') ? INBOX.to : RECEIVERS.to
}

import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router'
import { Crash, Missing } from './shell/crash.tsx'
import { Root } from './shell/root.tsx'
import { homeOf } from './shell/screens.ts'
import { useSession } from './shell/session-context.ts'

/** The search parameters of every address: the company that an operator acts for. */
type Scope = { as?: number }
/** The filters of the inbox. */
export type InboxSearch = {
  status?: 'open' | 'closed' | 'snoozed' | 'all'
  channelId?: number
  unread?: true
  mine?: true
  search?: string
}
/** The filters of a receiver's deliveries, and the delivery that is open. */
export type ReceiverSearch = {
  status?: 'pending' | 'delivered' | 'dead'
  hours?: number
  delivery?: number
  view?: 'headers' | 'answer'
}

const rootRoute = createRootRoute({
  component: Root,
  notFoundComponent: Missing,
  errorComponent: Crash,
  validateSearch: (search): Scope => definedOnly({ as: idOf(search.as) }),
  search: { middlewares: [retainSearchParams(['as'])] },
})

const homeRoute = createRoute({ getParentRoute: () => rootRoute, path: '/', component: Home })
const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  beforeLoad: () => {
    throw redirect({ to: '/' })
  },
})

const inboxRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/inbox/{-$chatId}',
  validateSearch: (search): InboxSearch =>
    definedOnly({
      status: oneOf(search.status, ['open', 'closed', 'snoozed', 'all']),
      channelId: idOf(search.channelId),
      unread: search.unread === true ? true : undefined,
      mine: search.mine === true ? true : undefined,
      search: textOf(search.search),
    }),
  component: lazyRouteComponent(() => import('./inbox/inbox.tsx'), 'Inbox'),
})

const receiversRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/receivers/{-$id}',
  validateSearch: (search): ReceiverSearch =>
    definedOnly({
      status: oneOf(search.status, ['pending', 'delivered', 'dead']),
      hours: idOf(search.hours),
      delivery: idOf(search.delivery),
      view: oneOf(search.view, ['headers', 'answer']),
    }),
  component: lazyRouteComponent(() => import('./receivers/receivers.tsx'), 'Receivers'),
})

const phoneRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/phone',
  component: lazyRouteComponent(() => import('./phone/phone-screen.tsx'), 'PhoneScreen'),
})

const companiesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/companies',
  component: lazyRouteComponent(() => import('./operator/companies.tsx'), 'Companies'),
})

export const router = createRouter({
  routeTree: rootRoute.addChildren([homeRoute, signInRoute, inboxRoute, receiversRoute, phoneRoute, companiesRoute]),
  basepath: '/console',
  defaultPreload: 'intent',
  scrollRestoration: false,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

function Home() {
  const session = useSession()
  return <Navigate to={homeOf(session)} replace />
}

const idOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined

const textOf = (value: unknown): string | undefined => {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text !== '' ? text : undefined
}

function oneOf<Choice extends string>(value: unknown, choices: readonly Choice[]): Choice | undefined {
  return choices.find((choice) => choice === value)
}

/** Without the members that are undefined, so that they do not appear in the address. */
function definedOnly<Search extends object>(search: { [Key in keyof Search]: Search[Key] | undefined }): Search {
  return JSON.parse(JSON.stringify(search))
}

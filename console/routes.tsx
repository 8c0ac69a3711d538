import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router'
import { readContactSearch, readEventSearch, readInboxSearch, readReceiverSearch, readScope } from './search.ts'
import { Crash, Missing } from './shell/crash.tsx'
import { Root } from './shell/root.tsx'
import { homeOf } from './shell/screens.ts'
import { useSession } from './shell/session-context.ts'

const rootRoute = createRootRoute({
  component: Root,
  notFoundComponent: Missing,
  errorComponent: Crash,
  validateSearch: readScope,
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
  validateSearch: readInboxSearch,
  component: lazyRouteComponent(() => import('./inbox/inbox.tsx'), 'Inbox'),
})

const contactsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/contacts/{-$id}',
  validateSearch: readContactSearch,
  component: lazyRouteComponent(() => import('./contacts/contacts.tsx'), 'Contacts'),
})

const importsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/imports/{-$id}',
  component: lazyRouteComponent(() => import('./imports/imports.tsx'), 'Imports'),
})

const customFieldsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/custom-fields',
  component: lazyRouteComponent(() => import('./fields/fields.tsx'), 'Fields'),
})

const receiversRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/receivers/{-$id}',
  validateSearch: readReceiverSearch,
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

const eventsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/events',
  validateSearch: readEventSearch,
  component: lazyRouteComponent(() => import('./operator/events.tsx'), 'Events'),
})

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    homeRoute,
    signInRoute,
    inboxRoute,
    contactsRoute,
    importsRoute,
    customFieldsRoute,
    receiversRoute,
    phoneRoute,
    companiesRoute,
    eventsRoute,
  ]),
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

/**
 * The company that this page works for. An operator names it in the address (`?as=12`); choosing another company reloads
 * the page, so that a page never holds data of two companies.
 */
const named = new URLSearchParams(location.search).get('as')

export const actingFor: number | undefined = named !== null && /^[1-9]\d{0,15}$/.test(named) ? Number(named) : undefined

/** The address below which the company's API answers. */
export const API_PREFIX: string = actingFor === undefined ? '/console/api' : `/console/api/as/${actingFor}`

/** A name for what belongs to this company in the browser: stored drafts, the stream. */
export const SCOPE: string = actingFor === undefined ? 'own' : `as-${actingFor}`

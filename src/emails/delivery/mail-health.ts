import { Gauge, type Registry } from 'prom-client'
import { type MailOutcome, SERVER_FAULTS, type ServerFault } from '../../mailers/mailer.ts'
import { createCache } from '../../platform/cache.ts'
import type { Clock } from '../../platform/clock.ts'

const MAX_COMPANIES = 10_000

type Failing = { fault: ServerFault; since: Date }

export type MailHealth = {
  record(server: 'service' | 'company', companyId: number, outcome: MailOutcome): void
  /** Public in `/readyz`: must not contain addresses or server replies. */
  details(): MailHealthDetails
  failing(): ReadonlyMap<ServerFault, number>
}

type MailHealthDetails = {
  service: { status: 'ok' } | { status: 'failing'; fault: ServerFault; since: string }
  failingCompanies: number
}

/** Tracks servers that took no mail in the last attempt (decisions: Mail). Refusing one mail proves a server works. */
export function createMailHealth(clock: Clock): MailHealth {
  const companies = createCache<number, Failing>({ name: 'failing_mail_companies', max: MAX_COMPANIES })
  let service: Failing | undefined

  const next = (before: Failing | undefined, fault: ServerFault): Failing =>
    before?.fault === fault ? before : { fault, since: clock.now() }

  return {
    record: (server, companyId, outcome) => {
      if (outcome.kind === 'unknown') return
      const fault = outcome.kind === 'unavailable' ? outcome.fault : undefined
      if (server === 'service') service = fault && next(service, fault)
      else if (fault) companies.set(companyId, next(companies.find(companyId), fault))
      else companies.drop(companyId)
    },
    details: () => ({
      service: service
        ? { status: 'failing', fault: service.fault, since: service.since.toISOString() }
        : { status: 'ok' },
      failingCompanies: companies.entries().length,
    }),
    failing: () => {
      const counts = new Map<ServerFault, number>()
      for (const { fault } of [...companies.entries().map(([, failing]) => failing), ...(service ? [service] : [])]) {
        counts.set(fault, (counts.get(fault) ?? 0) + 1)
      }
      return counts
    },
  }
}

export function registerMailGauge(registry: Registry, health: Pick<MailHealth, 'failing'>): void {
  new Gauge({
    name: 'parley_mail_servers_failing',
    help: 'Mail servers that took no mail in the last attempt of this process, by fault',
    labelNames: ['fault'],
    registers: [registry],
    aggregator: 'max',
    collect() {
      for (const fault of SERVER_FAULTS) this.set({ fault }, 0)
      for (const [fault, count] of health.failing()) this.set({ fault }, count)
    },
  })
}

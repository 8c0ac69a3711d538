import { Gauge, type Registry } from 'prom-client'
import { SERVER_FAULTS } from '../../mailers/mailer.ts'
import type { MailHealth } from './mail-health.ts'

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

import type { Db } from '../db/connect.ts'
import type { Clock } from '../platform/clock.ts'
import type { Providers } from '../providers/provider.ts'
import { applyMarketingTerms, type MarketingTerms } from './account-event-store.ts'
import type { Sender, SenderCache } from './sender.ts'

type TermsDeps = { db: Db; clock: Clock; providers: Providers; senders: SenderCache }

/** Reads which accounts of a company have signed the marketing terms; unknown answers change nothing. */
export async function readMarketingTerms(deps: TermsDeps, companyId: number): Promise<void> {
  const senders = await deps.senders.listFor(companyId)
  const accounts = new Map(senders.map((sender) => [`${sender.provider} ${sender.wabaAccountId}`, sender]))
  // An event that arrives during the request is newer; events have whole seconds.
  const at = new Date(Math.floor(deps.clock.now().getTime() / 1000) * 1000)
  const reports = await Promise.all([...accounts.values()].map((sender) => ask(deps, companyId, sender, at)))
  await applyMarketingTerms(deps.db, reports.flat())
  deps.senders.drop(companyId)
}

async function ask(
  { providers }: TermsDeps,
  companyId: number,
  sender: Sender,
  at: Date,
): Promise<readonly MarketingTerms[]> {
  const answer = await providers[sender.provider]?.readMarketingTerms(sender)
  if (answer === undefined || answer.kind === 'failed' || answer.value === null) return []
  return [{ companyId, wabaAccountId: sender.wabaAccountId, isSigned: answer.value, at }]
}

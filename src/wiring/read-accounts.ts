import { readMarketingTerms } from '../senders/marketing-terms.ts'
import { syncTemplates } from '../templates/template-sync.ts'
import type { Deps } from './deps.ts'

/** Syncs a company's account terms and templates from its providers. Returns the number of templates. */
export async function readAccounts(deps: Deps, companyId: number): Promise<number> {
  const [templates] = await Promise.all([syncTemplates(deps, companyId), readMarketingTerms(deps, companyId)])
  return templates
}

import { readMarketingTerms } from '../senders/marketing-terms.ts'
import { syncTemplates } from '../templates/template-sync.ts'
import type { Deps } from './deps.ts'

/** Reads what the providers say of a company's accounts: their terms, and the templates. Answers how many templates there are. */
export async function readAccounts(deps: Deps, companyId: number): Promise<number> {
  const [templates] = await Promise.all([syncTemplates(deps, companyId), readMarketingTerms(deps, companyId)])
  return templates
}

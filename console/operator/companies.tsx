import { Empty } from '../parts/empty.tsx'
import { text } from '../texts/text.ts'

export function Companies() {
  return <Empty icon="companies" title={text.companies.title} />
}

import { Empty } from '../parts/empty.tsx'
import { text } from '../texts/text.ts'

export function Inbox() {
  return <Empty icon="inbox" title={text.inbox.title} />
}

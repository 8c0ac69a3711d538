import { Empty } from '../parts/empty.tsx'
import { text } from '../texts/text.ts'

export function Receivers() {
  return <Empty icon="receivers" title={text.receivers.title} />
}

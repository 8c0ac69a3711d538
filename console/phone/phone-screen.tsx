import { Empty } from '../parts/empty.tsx'
import { text } from '../texts/text.ts'

export function PhoneScreen() {
  return <Empty icon="phone" title={text.phone.title} />
}

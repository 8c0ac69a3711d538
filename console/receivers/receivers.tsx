import { Empty } from '../parts/empty.tsx'
import { Screen } from '../shell/screen.tsx'
import { text } from '../texts/text.ts'

export function Receivers() {
  return (
    <Screen title={text.receivers.title} permission="WhatsApp">
      <Empty icon="receivers" title={text.receivers.title} text={text.receivers.intro} />
    </Screen>
  )
}

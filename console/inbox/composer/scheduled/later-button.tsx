import { lazy, Suspense, useState } from 'react'
import type { Conversation } from '../../../../client/src/generated/schemas.ts'
import { IconButton } from '../../../parts/button.tsx'
import { laterText } from '../../../texts/later.ts'

const SendLater = lazy(async () => ({ default: (await import('./send-later.tsx')).SendLater }))

type Props = {
  record: Conversation
  isTemplate?: boolean
  disabled?: boolean
  /** Whether there is something to send, asked at the press. */
  isReady?: () => boolean
  onChoose: (sendAt: string) => void
}

/** Opens the choice of a time. */
export function LaterButton({ record, isTemplate = false, disabled = false, isReady = () => true, onChoose }: Props) {
  const [isOpen, open] = useState(false)
  return (
    <>
      <IconButton icon="clock" label={laterText.open} disabled={disabled} onClick={() => open(isReady())} />
      <Suspense>
        {isOpen && (
          <SendLater
            record={record}
            isTemplate={isTemplate}
            onClose={() => open(false)}
            onChoose={(sendAt) => {
              open(false)
              onChoose(sendAt)
            }}
          />
        )}
      </Suspense>
    </>
  )
}

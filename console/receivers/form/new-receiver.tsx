import { useState } from 'react'
import type { Registration } from '../../../client/src/generated/schemas.ts'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/json/copy-button.tsx'
import { Dialog } from '../../parts/popups/dialog.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { useSession } from '../../shell/session-context.ts'
import { receiverText } from '../../texts/receivers.ts'
import { TestResult, useTest } from '../test-result.tsx'
import css from './new-receiver.module.css'
import { ReceiverForm } from './receiver-form.tsx'
import { type Language, verificationCode } from './verification-code.ts'

type Props = { onClose: () => void; onDone: (receiver: Registration) => void }

/** Adds a receiver; then shows its secret this once, sends a test, and shows how a server verifies the signature. */
export function NewReceiver({ onClose, onDone }: Props) {
  const [added, setAdded] = useState<{ receiver: Registration; secret: string | null }>()
  if (added === undefined) {
    return <ReceiverForm onClose={onClose} onDone={(receiver, secret) => setAdded({ receiver, secret })} />
  }
  return <Added {...added} onDone={() => onDone(added.receiver)} />
}

type AddedProps = { receiver: Registration; secret: string | null; onDone: () => void }

function Added({ receiver, secret, onDone }: AddedProps) {
  const test = useTest(receiver.id)
  return (
    <Dialog
      title={receiverText.addedTitle(receiver.name)}
      isOpen
      onClose={onDone}
      size="large"
      actions={
        <>
          <Button icon="test" isBusy={test.isRunning} onClick={test.run}>
            {receiverText.sendTest}
          </Button>
          <Button look="primary" onClick={onDone}>
            {receiverText.done}
          </Button>
        </>
      }
    >
      <div className={css.added}>
        {secret === null ? (
          <p className={css.warning}>{receiverText.unsignedWarning}</p>
        ) : (
          <>
            <section className={css.part}>
              <p>{receiverText.secretOnce}</p>
              <p className={css.secret}>
                <code dir="ltr">{secret}</code>
                <CopyButton value={secret} label={receiverText.copySecret} />
              </p>
            </section>
            <Code />
          </>
        )}
        <TestResult test={test} />
      </div>
    </Dialog>
  )
}

const LANGUAGES = Object.entries(receiverText.languages).map(([value, label]) => ({
  value: value as Language,
  label,
}))

function Code() {
  const [language, choose] = useState<Language>('node')
  const { serviceName } = useSession().features
  const code = verificationCode(language, `X-${serviceName}-Signature`)
  return (
    <section className={css.part}>
      <h3>{receiverText.codeTitle}</h3>
      <p className={css.hint}>{receiverText.codeHint}</p>
      <div className={css.bar}>
        <Tabs label={receiverText.codeLabel} value={language} choices={LANGUAGES} onChange={choose} />
        <CopyButton value={code} label={receiverText.copyCode} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the region scrolls, so the keyboard must reach it */}
      <pre className={css.code} dir="ltr" tabIndex={0}>
        {code}
      </pre>
    </section>
  )
}

import { lazy, Suspense, useState } from 'react'
import type { Conversation } from '../../../client/src/generated/schemas.ts'
import { useKeys } from '../../keys.ts'
import { Button } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useSession } from '../../shell/session-context.ts'
import { text } from '../../texts/text.ts'
import { useWindow, type WindowState } from '../thread/window.ts'
import css from './composer.module.css'
import { Writer } from './writer.tsx'

const TemplatePicker = lazy(() =>
  import('./templates/template-picker.tsx').then(({ TemplatePicker: component }) => ({ default: component })),
)

/** The answer. It says before sending what may be sent: text while the window is open, else a template. */
export function Composer({ record }: { record: Conversation }) {
  const window = useWindow(record, useSession().features.sessionWindow)
  const [isPicking, pick] = useState(false)
  useKeys({ t: () => pick(true) })
  return (
    <footer className={css.composer}>
      <WindowLine window={window} />
      {window.state === 'closed' ? (
        <div className={css.closed}>
          <p>{text.composer.closedText}</p>
          <Button look="primary" icon="template" onClick={() => pick(true)}>
            {text.composer.chooseTemplate}
          </Button>
        </div>
      ) : (
        <Writer record={record} onTemplate={() => pick(true)} />
      )}
      {isPicking && (
        <Suspense>
          <TemplatePicker record={record} onClose={() => pick(false)} />
        </Suspense>
      )}
    </footer>
  )
}

function WindowLine({ window }: { window: WindowState }) {
  if (window.state === 'ignored') return null
  if (window.state === 'closed') {
    return (
      <p className={css.window} data-state="closed">
        <Icon name="lock" size={14} />
        {window.isNever ? text.composer.windowNever : text.composer.windowClosed}
      </p>
    )
  }
  return (
    <p className={css.window} data-state={window.isShort ? 'short' : 'open'}>
      <Icon name="clock" size={14} />
      {text.composer.windowOpen(window.leftMs)}
    </p>
  )
}

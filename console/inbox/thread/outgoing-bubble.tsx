import { Button } from '../../parts/button.tsx'
import { classes } from '../../parts/classes.ts'
import { text } from '../../texts/text.ts'
import { restoreDraft } from '../composer/draft.ts'
import { tryAgain } from '../composer/files/send-files.ts'
import { discard, type Outgoing } from '../composer/outbox.ts'
import { RichText } from '../content/rich-text.tsx'
import css from './bubble.module.css'
import { Fault } from './bubble.tsx'
import { OutgoingFile } from './outgoing-file.tsx'
import { Ticks } from './ticks.tsx'

/** A message that the service has not confirmed. */
export function OutgoingBubble({ outgoing }: { outgoing: Outgoing }) {
  const { key, chatId, content, file, shownText, state, fault, canRetry } = outgoing
  const edit = () => {
    restoreDraft(chatId, content?.text ?? '')
    discard(key)
  }
  return (
    <div className={classes(css.row, css.out)} data-outgoing={state}>
      <div className={classes(css.bubble, state === 'failed' && css.failed, state === 'unknown' && css.unknown)}>
        {file !== undefined && <OutgoingFile outgoing={outgoing} />}
        {shownText !== '' && (
          <span className={css.text} dir="auto">
            <RichText text={shownText} />
          </span>
        )}
        <span className={css.meta}>
          <Ticks status={state === 'failed' || state === 'unknown' ? state : 'pending'} />
        </span>
      </div>
      {state === 'checking' && <Fault isUnknown>{text.ticks.checking}</Fault>}
      {state === 'unknown' && <Fault isUnknown>{text.ticks.unknown}</Fault>}
      {state === 'failed' && (
        <Fault>
          {text.composer.failed}: {fault}
        </Fault>
      )}
      {(state === 'failed' || state === 'unknown') && (
        <div className={css.actions}>
          {state === 'failed' && content?.type === 'text' && (
            <Button look="quiet" onClick={edit}>
              {text.composer.edit}
            </Button>
          )}
          {canRetry && (
            <Button look="quiet" icon="refresh" onClick={() => tryAgain(outgoing)}>
              {text.tryAgain}
            </Button>
          )}
          <Button look="quiet" onClick={() => discard(key)}>
            {text.composer.discard}
          </Button>
        </div>
      )}
    </div>
  )
}

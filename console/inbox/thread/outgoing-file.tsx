import { IconButton } from '../../parts/button.tsx'
import { classes } from '../../parts/classes.ts'
import { fileText } from '../../texts/files.ts'
import { useAttached } from '../composer/files/attached.ts'
import { kindOf } from '../composer/files/file-limits.ts'
import { FilePreview } from '../composer/files/file-preview.tsx'
import { cancelUpload } from '../composer/files/send-files.ts'
import type { Outgoing } from '../composer/outbox.ts'
import css from './outgoing-file.module.css'

/** The file of a message that is on its way: its picture or name, and how much has gone out. */
export function OutgoingFile({ outgoing: { key, file, state, progress = 0 } }: { outgoing: Outgoing }) {
  const attached = useAttached().find((one) => one.key === key)
  const name = file?.name ?? ''
  const kind = attached && kindOf(attached.file)
  const isPicture = kind === 'image' || kind === 'sticker'
  return (
    <div className={css.file}>
      <div className={classes(!isPicture && css.card)}>
        {attached && <FilePreview file={attached.file} size="large" alt={name} />}
        {!isPicture && <bdi className={css.name}>{name}</bdi>}
      </div>
      {state === 'uploading' && (
        <div className={css.progress}>
          <progress className={css.bar} max={1} value={progress} aria-label={fileText.uploading(name)} />
          <IconButton icon="close" label={fileText.cancel} onClick={() => cancelUpload(key)} />
        </div>
      )}
    </div>
  )
}

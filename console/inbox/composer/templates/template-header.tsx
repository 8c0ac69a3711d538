import { useEffect, useRef, useState } from 'react'
import { ApiError } from '../../../client.ts'
import { Button, IconButton } from '../../../parts/button.tsx'
import { faultText } from '../../../parts/feedback/failure-text.ts'
import { TextField } from '../../../parts/forms/field.tsx'
import { fileText } from '../../../texts/files.ts'
import { text } from '../../../texts/text.ts'
import { Media } from '../../content/media.tsx'
import { newKey } from '../draft.ts'
import { faultOf, kindOf, MAX_BYTES } from '../files/file-limits.ts'
import { FilePreview } from '../files/file-preview.tsx'
import { uploadFile } from '../files/upload.ts'
import { type Slot, slotMedia } from './template-form.ts'
import css from './template-header.module.css'

type Kind = NonNullable<Slot['media']>
type Props = {
  kind: Kind
  /** An address, or the id of the uploaded file. */
  value: string
  file: File | undefined
  fault: string | undefined
  onChange: (value: string, file?: File) => void
}

/** The file of a template's header: uploaded, or at an address. */
export function TemplateHeader({ kind, value, file, fault, onChange }: Props) {
  const { choose, progress, refusal, cancel } = useUpload(kind, onChange)
  const input = useRef<HTMLInputElement>(null)
  const name = text.conversation.media[kind]
  if (file !== undefined) {
    return (
      <div className={css.file}>
        <FilePreview file={file} size="small" />
        <div className={css.words}>
          <bdi className={css.name}>{file.name}</bdi>
          {progress !== undefined && (
            <progress className={css.bar} max={1} value={progress} aria-label={fileText.uploading(file.name)} />
          )}
          {fault && <p className={css.fault}>{fileText.wait}</p>}
        </div>
        <IconButton
          icon="close"
          label={progress === undefined ? fileText.remove(file.name) : fileText.cancel}
          onClick={cancel}
        />
      </div>
    )
  }
  return (
    <div className={css.field}>
      <TextField
        label={text.templates.mediaLink(name)}
        hint={fileText.headerHint(kind, MAX_BYTES[kind])}
        value={value}
        dir="auto"
        maxLength={2_048}
        fault={refusal ?? fault}
        onChange={({ target }) => onChange(target.value)}
      />
      <Button icon="attach" onClick={() => input.current?.click()}>
        {fileText.upload(name)}
      </Button>
      <input
        ref={input}
        type="file"
        hidden
        onChange={({ target }) => {
          const [chosen] = target.files ?? []
          if (chosen !== undefined) choose(chosen)
          target.value = ''
        }}
      />
    </div>
  )
}

/** Uploads a file when it is chosen: a template is sent with its id. */
function useUpload(kind: Kind, onChange: Props['onChange']) {
  const [progress, setProgress] = useState<number>()
  const [refusal, refuse] = useState<string>()
  const upload = useRef<AbortController>(undefined)
  useEffect(() => () => upload.current?.abort(), [])
  const choose = async (file: File) => {
    const found = localFault(file, kind)
    refuse(found)
    if (found !== undefined) return
    const controller = new AbortController()
    upload.current = controller
    const { signal } = controller
    setProgress(0)
    onChange('', file)
    try {
      const uploaded = await uploadFile(file, { key: newKey(), signal, onProgress: setProgress })
      if (signal.aborted) return
      if (!fits(uploaded.kind, kind)) throw new ApiError(fileText.otherKind(kind), { status: 422 })
      onChange(uploaded.mediaId, file)
    } catch (error) {
      if (signal.aborted) return
      refuse(`${fileText.uploadFailed}. ${faultText(error)}`)
      onChange('')
    }
    setProgress(undefined)
  }
  const cancel = () => {
    upload.current?.abort()
    setProgress(undefined)
    onChange('')
  }
  return { choose: (file: File) => void choose(file), progress, refusal, cancel }
}

/** Every file can be sent as a document. */
const fits = (found: string | undefined, kind: Kind): boolean => kind === 'document' || found === kind

function localFault(file: File, kind: Kind): string | undefined {
  const found = kindOf(file)
  const fault = faultOf(file)
  if (fault !== undefined && found !== undefined) return fileText.faults[fault](found, MAX_BYTES[found])
  return fault === 'type' || !fits(found, kind) ? fileText.otherKind(kind) : undefined
}

/** The file in the preview: one of this browser or of the service shows, one at another host after a click. */
export function HeaderPreview({ kind, value, file }: { kind: Kind; value: string; file: File | undefined }) {
  const { link } = { link: undefined, ...slotMedia(value) }
  const url = URL.parse(link ?? '')?.href ?? null
  return (
    <div className={css.preview}>
      {file === undefined ? (
        <Media key={url} message={{ type: kind, kind, media: { url, type: null, filename: null, voice: false } }} />
      ) : (
        <FilePreview file={file} size="large" alt={file.name} />
      )}
    </div>
  )
}

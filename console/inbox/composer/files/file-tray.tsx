import { IconButton } from '../../../parts/button.tsx'
import { fileText } from '../../../texts/files.ts'
import { detach } from './attached.ts'
import { faultOf, kindOf, MAX_BYTES, MAX_FILES, MAX_STILL_STICKER } from './file-limits.ts'
import { FilePreview } from './file-preview.tsx'
import type { Attached } from './file-store.ts'
import css from './file-tray.module.css'

/** The files that go with the answer, each with its limit. */
export function FileTray({ files }: { files: readonly Attached[] }) {
  return (
    <>
      <ul className={css.tray} aria-label={fileText.list}>
        {files.map(({ key, file }) => (
          <Row key={key} id={key} file={file} />
        ))}
      </ul>
      {files.length >= MAX_FILES && <p className={css.most}>{fileText.atMost(MAX_FILES)}</p>}
    </>
  )
}

function Row({ id, file }: { id: string; file: File }) {
  const fault = faultOf(file)
  return (
    <li className={css.row} data-faulty={fault !== undefined || undefined}>
      <FilePreview file={file} size="small" />
      <div className={css.words}>
        <p className={css.name}>
          <bdi>{file.name}</bdi>
        </p>
        <p className={css.about} role={fault && 'alert'}>
          {fault === undefined ? aboutOf(file) : faultText(file, fault)}
        </p>
      </div>
      <IconButton icon="close" label={fileText.remove(file.name)} onClick={() => detach(id)} />
    </li>
  )
}

function aboutOf(file: File): string {
  const kind = kindOf(file) ?? 'document'
  return kind === 'sticker'
    ? fileText.aboutSticker(file.size, MAX_STILL_STICKER, MAX_BYTES.sticker)
    : fileText.about(kind, file.size, MAX_BYTES[kind])
}

function faultText(file: File, fault: keyof typeof fileText.faults): string {
  const kind = kindOf(file) ?? 'document'
  return fileText.faults[fault](kind, MAX_BYTES[kind])
}

import { Dialog as Base } from '@base-ui/react/dialog'
import { IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { text } from '../../texts/text.ts'
import css from './picture-viewer.module.css'

type Props = { source: string; label: string; onClose: () => void }

/** A picture as large as the window, and its file to save. */
export function PictureViewer({ source, label, onClose }: Props) {
  return (
    <Base.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={css.scrim ?? ''} />
        <Base.Popup className={css.viewer ?? ''}>
          <header className={css.header}>
            <Base.Title className={css.title ?? ''}>
              <bdi>{label}</bdi>
            </Base.Title>
            <a className={css.download} href={source} download={label}>
              <Icon name="download" />
              {text.conversation.download}
            </a>
            <Base.Close render={<IconButton icon="close" label={text.close} />} />
          </header>
          <img className={css.image} src={source} alt={label} />
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

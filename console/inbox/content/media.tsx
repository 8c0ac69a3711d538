import { lazy, Suspense, useState } from 'react'
import type { Message } from '../../../client/src/generated/schemas.ts'
import { Button } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { text } from '../../texts/text.ts'
import css from './media.module.css'

const PictureViewer = lazy(async () => ({ default: (await import('./picture-viewer.tsx')).PictureViewer }))

/**
 * The file of a message. Parley's own copy shows at once; a link to another host only after a click, and in another
 * window, so that no other host learns what is read.
 */
export function Media({ message: { type, kind, media } }: { message: Pick<Message, 'type' | 'kind' | 'media'> }) {
  const [isBroken, setBroken] = useState(false)
  const url = media?.url == null ? null : URL.parse(media.url)
  const label = media?.filename ?? labelOf({ type, kind, media })
  const isOwn = url?.pathname.startsWith('/media/') && url.host === location.host
  if (url === null || isBroken) return <Card label={label} icon={type === 'image' ? 'image' : 'file'} />
  if (!isOwn) {
    return (
      <Card label={text.conversation.from(url.host)} icon="external">
        <Button look="quiet" onClick={() => window.open(url.href, '_blank', 'noopener,noreferrer')}>
          {text.conversation.openFile}
        </Button>
      </Card>
    )
  }
  const source = url.pathname + url.search
  const fail = () => setBroken(true)
  if (kind === 'sticker') return <img className={css.sticker} src={source} alt={label} loading="lazy" onError={fail} />
  if (type === 'image') return <Picture source={source} label={label} onError={fail} />
  if (type === 'video') {
    // biome-ignore lint/a11y/useMediaCaption: customers send no captions
    return <video className={css.video} src={source} controls preload="none" onError={fail} />
  }
  if (type === 'audio')
    // biome-ignore lint/a11y/useMediaCaption: customers send no captions
    return <audio className={css.audio} aria-label={label} src={source} controls preload="none" onError={fail} />
  return (
    <a className={css.card} href={source} target="_blank" rel="noreferrer">
      <Icon name="file" />
      <bdi className={css.label}>{label}</bdi>
    </a>
  )
}

function labelOf({ type, kind, media }: Pick<Message, 'type' | 'kind' | 'media'>): string {
  if (media?.voice) return text.conversation.voiceNote
  return kind === 'sticker' ? text.kinds.sticker : text.conversation.media[type]
}

/** A picture with its own proportions; a press shows it as large as the window. */
function Picture({ source, label, onError }: { source: string; label: string; onError: () => void }) {
  const [isOpen, open] = useState(false)
  return (
    <>
      <button
        type="button"
        className={css.picture}
        aria-label={text.conversation.openPicture(label)}
        onClick={() => open(true)}
      >
        <img className={css.image} src={source} alt="" loading="lazy" onError={onError} />
      </button>
      {isOpen && (
        <Suspense>
          <PictureViewer source={source} label={label} onClose={() => open(false)} />
        </Suspense>
      )}
    </>
  )
}

function Card({
  label,
  icon,
  children,
}: {
  label: string
  icon: 'image' | 'file' | 'external'
  children?: React.ReactNode
}) {
  return (
    <span className={css.card}>
      <Icon name={icon} />
      <bdi className={css.label}>{label}</bdi>
      {children}
    </span>
  )
}

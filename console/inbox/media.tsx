import { useState } from 'react'
import type { Message } from '../../client/src/generated/schemas.ts'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { text } from '../texts/text.ts'
import css from './media.module.css'

/**
 * The file of a message. Parley's own copy shows at once; a link to another host only after a click, and in another
 * window, so that no other host learns what is read.
 */
export function Media({ message: { type, media } }: { message: Message }) {
  const [isBroken, setBroken] = useState(false)
  const url = media?.url == null ? null : URL.parse(media.url)
  const label = media?.filename ?? text.conversation.media[type]
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
  if (type === 'image') return <img className={css.image} src={source} alt={label} loading="lazy" onError={fail} />
  if (type === 'video') {
    // biome-ignore lint/a11y/useMediaCaption: customers send no captions
    return <video className={css.image} src={source} controls preload="none" onError={fail} />
  }
  // biome-ignore lint/a11y/useMediaCaption: customers send no captions
  if (type === 'audio') return <audio className={css.audio} src={source} controls preload="none" onError={fail} />
  return (
    <a className={css.card} href={source} target="_blank" rel="noreferrer">
      <Icon name="file" />
      <bdi className={css.label}>{label}</bdi>
    </a>
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

import type { Message } from '../../../client/src/generated/schemas.ts'
import { Icon } from '../../parts/icon.tsx'
import { text } from '../../texts/text.ts'
import { numberAt, textAt } from './json-content.ts'
import css from './structured-content.module.css'

/** A place: name, address and coordinates. Its map is another host's, so it opens on a click only. */
export function LocationCard({ location }: { location: Message['location'] }) {
  const latitude = numberAt(location, 'latitude')
  const longitude = numberAt(location, 'longitude')
  const coordinates = latitude === undefined || longitude === undefined ? undefined : `${latitude}, ${longitude}`
  const about = [textAt(location, 'address'), coordinates].filter((part) => part !== undefined).join(' · ')
  return (
    <div className={css.card} dir="auto">
      <p className={css.title}>{textAt(location, 'name') ?? text.kinds.location}</p>
      {about !== '' && <p>{about}</p>}
      {coordinates !== undefined && (
        <a
          className={css.link}
          href={`https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=16/${latitude}/${longitude}`}
          target="_blank"
          rel="noreferrer"
        >
          <Icon name="external" size={14} />
          {text.conversation.openMap}
        </a>
      )}
    </div>
  )
}

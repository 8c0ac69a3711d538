import { useQuery } from '@tanstack/react-query'
import type { ConsentEntry, Contact } from '../../../client/src/generated/schemas.ts'
import { Badge } from '../../parts/feedback/badge.tsx'
import { Failure } from '../../parts/feedback/failure.tsx'
import { Skeleton } from '../../parts/lists/skeleton.tsx'
import { contactText } from '../../texts/contacts.ts'
import { moment, utc } from '../../texts/format.ts'
import { consentQuery } from '../contact-queries.ts'
import { ConsentChoice } from './consent-choice.tsx'
import css from './section.module.css'

const texts = contactText.consentSection
const CHANNELS = ['whatsapp', 'email'] as const

/** The consent that counts on each channel, and all statements about it. */
export function ConsentSection({ contact }: { contact: Contact }) {
  const { data, error, refetch } = useQuery(consentQuery(contact.id))
  return (
    <section className={css.section} aria-label={texts.title}>
      <h3 className={css.title}>{texts.title}</h3>
      <dl className={css.facts}>
        {CHANNELS.map((channel) => (
          <ConsentChoice key={channel} contact={contact} channel={channel} />
        ))}
      </dl>
      {contact.email_suppression && <Badge tone="bad">{texts.suppressed[contact.email_suppression.reason]}</Badge>}
      <h4 className={css.group}>{texts.history}</h4>
      {data === undefined ? (
        error ? (
          <Failure error={error} retry={refetch} />
        ) : (
          <Skeleton rows={2} />
        )
      ) : data.length === 0 ? (
        <p className={css.soft}>{texts.none}</p>
      ) : (
        <ol className={css.list} aria-label={texts.history}>
          {data.map((entry) => (
            <Entry key={entry.id} entry={entry} />
          ))}
        </ol>
      )}
    </section>
  )
}

function Entry({ entry: { channel, value, at, firstAt, source, ip, keyName } }: { entry: ConsentEntry }) {
  const details = [
    texts.sources.get(source) ?? texts.source(source),
    ...(ip === null ? [] : [texts.from(ip)]),
    ...(keyName === null ? [] : [texts.by(keyName)]),
    ...(firstAt === null ? [] : [texts.first(moment(firstAt))]),
  ]
  return (
    <li className={css.item}>
      <span className={css.line}>
        <span>{texts.value(contactText.channels[channel], value)}</span>
        <time dateTime={at} title={utc(at)} className={css.when}>
          {moment(at)}
        </time>
      </span>
      <span className={css.words}>{details.join(', ')}</span>
    </li>
  )
}

import type { Message } from '../../../client/src/generated/schemas.ts'
import { text } from '../../texts/text.ts'
import { at, distinct, listOf, textAt } from './json-content.ts'
import css from './structured-content.module.css'

const SHOWN_CARDS = 20

/** The contact cards of a message: of each its name, company, numbers and addresses. */
export function ContactCards({ contacts }: { contacts: NonNullable<Message['contacts']> }) {
  return (
    <>
      {contacts.slice(0, SHOWN_CARDS).map((card, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the cards of a message do not change
        <div className={css.card} dir="auto" key={place}>
          <p className={css.title}>{textAt(card.name, 'formatted_name') ?? text.conversation.unnamed}</p>
          {linesOf(card).map((line) => (
            <p key={line}>{line}</p>
          ))}
        </div>
      ))}
      {contacts.length > SHOWN_CARDS && (
        <p className={css.note}>{text.conversation.more(contacts.length - SHOWN_CARDS)}</p>
      )}
    </>
  )
}

function linesOf(card: Record<string, unknown>): string[] {
  const company = [textAt(card.org, 'company'), textAt(card.org, 'title')].filter((part) => part !== undefined)
  return distinct([
    company.length > 0 ? company.join(', ') : undefined,
    ...listOf(at(card, 'phones')).map((one) => textAt(one, 'phone')),
    ...listOf(at(card, 'emails')).map((one) => textAt(one, 'email')),
  ])
}
